"""Our models and peers beside what other publications print for the same data."""

from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.experiments.literature import MODELS as OWN
from vst.companion.experiments.literature import target_scale
from vst.companion.models import FAMILIES, MODELS, Model, label
from vst.companion.paper.scores import scores_of
from vst.companion.report.tables import Html, Markdown, MarkdownTable, counted, listed, number
from vst.companion.report.wide import Row, wide, with_error

#: Our single tree as it is fitted here: with four members, on whitened inputs.
MIXTURE = "VST (mixture)"

NOTHING = Markdown("There are no runs yet: `vst run literature --profile paper` computes them.")


def printed_elsewhere() -> pd.DataFrame:
    """Mean log-likelihoods in the target's own units: method, family, dataset, log_likelihood, source.

    ``family`` is the family of our models that have the same method, if any. The splits are not ours, so
    small differences mean nothing. *Naval* is left out: it has two targets, of different scale, and some
    publications predict the other one.
    """
    text = files("vst.companion.report").joinpath("literature.csv").read_text(encoding="utf-8")
    lines = [line.split(",") for line in text.splitlines()]
    frame = pd.DataFrame(lines[1:], columns=lines[0])
    return frame.astype({"log_likelihood": float})


@cache
def _printed() -> dict[tuple[str, str], float]:
    frame = printed_elsewhere()
    return dict(zip(zip(frame["method"], frame["dataset"], strict=True), frame["log_likelihood"],
                    strict=True))  # fmt: skip


def methods() -> list[str]:
    """Methods with printed numbers."""
    return list(dict.fromkeys(method for method, _ in _printed()))


def standardised(method: str, dataset: str) -> float:
    """A printed number in units of the standardised target."""
    return _printed()[method, dataset] + float(np.log(target_scale(dataset)))


# Peers in the chapter on regression: the same method there and elsewhere.


def peers() -> dict[str, list[Model]]:
    """Our rows of each method with printed numbers."""
    families = dict(printed_elsewhere()[["method", "family"]].itertuples(index=False, name=None))
    rows = {
        method: [m for m in MODELS if FAMILIES[m.family].label == family and not m.is_ours]
        for method, family in families.items()
    }
    return {method: found for method, found in rows.items() if found}


def compared(results: pd.DataFrame) -> pd.DataFrame:
    """Each printed number beside ours: method, dataset, model, printed and ours."""
    scores = scores_of(results, "log_likelihood").set_index(["model", "dataset"])["mean"]
    return pd.DataFrame(
        [
            {
                "method": method, "dataset": dataset, "model": model.id,
                "printed": standardised(method, dataset), "ours": scores[model.id, dataset],
            }
            for method, dataset in _printed()
            for model in peers().get(method, [])
            if (model.id, dataset) in scores.index
        ],
        columns=["method", "dataset", "model", "printed", "ours"],
    )  # fmt: skip


def peers_table(results: pd.DataFrame) -> MarkdownTable:
    """The printed numbers beside ours, one row for each data set."""
    rows: dict[str, dict[str, str]] = {}
    for entry in compared(results).to_dict("records"):
        row = rows.setdefault(entry["dataset"], {"data set": dataset_label(entry["dataset"])})
        row[f"{entry['method']}, printed"] = number(entry["printed"], 2)
        row[f"{label(entry['model'])}, here"] = number(entry["ours"], 2)
    families = printed_elsewhere()[["method", "family"]].drop_duplicates()
    wanted = ["data set"]
    for _, methods_of in families[families["family"] != ""].groupby("family", sort=False)["method"]:
        wanted += [f"{method}, printed" for method in methods_of]
        wanted += [f"{model.label}, here" for model in peers()[methods_of.iloc[0]]]
    frame = pd.DataFrame(rows.values(), columns=wanted).dropna(axis="columns", how="all")
    return MarkdownTable(frame.fillna("\N{EN DASH}"))


def peers_summary(results: pd.DataFrame) -> Markdown:
    """On how many data sets each of our rows reaches the best printed number, and where it does not."""
    best = compared(results).groupby(["model", "dataset"], sort=False).max(numeric_only=True)
    said = []
    for model, rows in best.reset_index().groupby("model", sort=False):
        below = rows[rows["ours"].round(2) < rows["printed"].round(2)]
        text = (
            f"**{label(str(model))}** reaches the best number printed for its method on "
            f"{len(rows) - len(below)} of {counted(len(rows), 'data set')}"
        )
        missed = [
            f"{dataset_label(name)} by {number(gap, 2)}"
            for name, gap in zip(below["dataset"], below["printed"] - below["ours"], strict=True)
        ]
        said.append(f"{text}, and is below on {listed(missed)}" if missed else text)
    return Markdown("; ".join(said) + "." if said else "")


# Our own models in the protocol of the literature.


def own_label(model: str) -> str:
    """The name of one of our estimators in this protocol, where the single tree has four members."""
    return MIXTURE if model == "vst-linear" else label(model)


def own_table(results: pd.DataFrame) -> Html | Markdown:
    """Log-likelihoods of our estimators and the printed ones; the best of each data set is bold."""
    if results.empty:
        return NOTHING
    scores = scores_of(results, "log_likelihood").set_index(["model", "dataset"])
    names = list(dict.fromkeys(name for _, name in scores.index))
    best = {
        name: max([*scores.xs(name, level="dataset")["mean"], *_of(name).values()])
        for name in names
    }
    rows = []
    for model in (m for m in OWN if m in scores.index.get_level_values("model")):
        cells = [
            _cell(scores.loc[(model, name)] if (model, name) in scores.index else None, best[name])
            for name in names
        ]
        rows.append(Row([own_label(model)], cells))
    for place, method in enumerate(methods()):
        shown = [_number(_of(name).get(method), best[name]) for name in names]
        rows.append(Row([f"{method} (printed)"], shown, rule=place == 0))
    return wide(["Model"], [dataset_label(name) for name in names], rows)


def _of(dataset: str) -> dict[str, float]:
    return {method: value for (method, name), value in _printed().items() if name == dataset}


def _cell(score: "pd.Series[float] | None", best: float) -> str:
    if score is None:
        return "<td>\N{EN DASH}</td>"
    error = "" if np.isnan(score["error"]) else number(score["error"], 2)
    return f"<td>{with_error(number(score['mean'], 2), error, bold=score['mean'] == best)}</td>"


def _number(value: float | None, best: float) -> str:
    if value is None:
        return "<td>\N{EN DASH}</td>"
    return f"<td>{with_error(number(value, 2), '', bold=value == best)}</td>"


def own_answer(results: pd.DataFrame) -> Markdown:
    """On how many data sets each of our estimators is at least as good as every printed number."""
    if results.empty:
        return NOTHING
    scores = scores_of(results, "log_likelihood")
    said = []
    for model in OWN:
        rows = scores[(scores["model"] == model) & scores["dataset"].map(_of).astype(bool)]
        good = [
            round(mean, 2) >= max(_of(name).values())
            for name, mean in zip(rows["dataset"], rows["mean"], strict=True)
        ]
        if good:
            sets = counted(len(good), "data set")
            said.append(f"{own_label(model)} on **{sum(good)}** of {sets}")
    splits = results.groupby(["model", "dataset"]).size()
    number_of = f"{splits.min()} to {splits.max()}" if splits.min() < splits.max() else splits.max()
    return Markdown(
        "At least as good as the best printed log-likelihood: "
        f"{listed(said)} (means over {number_of} splits of our own)."
    )


def own_errors(results: pd.DataFrame) -> MarkdownTable:
    """Error in the target's own units, and coverage of 90 % intervals."""
    rows: dict[str, dict[str, str]] = {}
    groups = results.groupby(["dataset", "model"], sort=False)[["rmse", "coverage"]].mean()
    for found in groups.reset_index().to_dict("records"):
        name = own_label(found["model"])
        row = rows.setdefault(found["dataset"], {"data set": dataset_label(found["dataset"])})
        row[f"{name}, RMSE"] = f"{found['rmse']:.3g}"
        row[f"{name}, coverage"] = f"{found['coverage']:.1%}"
    return MarkdownTable(pd.DataFrame(rows.values()))
