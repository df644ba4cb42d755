"""The regression chapter: everything but its score tables and their pictures."""

from collections.abc import Mapping, Sequence
from math import log, pi, sqrt
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.experiments.experiment import Experiment, Obtained
from vst.companion.experiments.trials import tuned_settings, tuned_table
from vst.companion.models import MODEL_BY_ID, MODELS, label
from vst.companion.paper import TABLES, printed
from vst.companion.paper.claims import MANY_TREES, ONE_TREE, VSGBM, VST, count
from vst.companion.peers import Choices, Interval, Range
from vst.companion.report.scores import WHOLE, best, compared, reached, scores_of
from vst.companion.report.style import label_logarithmic, styled
from vst.companion.report.tables import Html, Markdown, MarkdownTable, counted, listed, number
from vst.companion.report.wide import Row, wide
from vst.datasets import CATALOGUE


@styled
def times(results: pd.DataFrame) -> Figure:
    """Draw the seconds to fit and score one fold, one dot per data set."""
    present = [m for m in MODELS if m.id in set(results["model"])]
    seconds = results.groupby(["model", "dataset"])["seconds"].mean()
    figure, axis = plt.subplots(figsize=(7.2, 0.6 + 0.24 * len(present)))
    for i, model in enumerate(present):
        values = seconds[model.id].to_numpy()
        colour = model.colour
        axis.plot(values, np.full(len(values), -i), "o", ms=4, alpha=0.5, color=colour, mew=0)
        axis.plot(np.median(values), -i, "|", ms=13, mew=2.4, color=colour)
    axis.set_xscale("log")
    label_logarithmic(axis.xaxis)
    axis.set_yticks([-i for i in range(len(present))], [m.label for m in present])
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#eeeeee")
    axis.set_xlabel("seconds per fold on one core (bar: median over data sets)")
    return figure


def tuned_values(datasets: Sequence[str]) -> Html:
    """The paper's table of ranges, with the values that our tuner chose on each data set."""
    chosen = tuned_settings()
    rows: list[Row] = []
    for model in MODELS:
        for i, (name, range_) in enumerate(model.all_ranges().items()):
            origin = "" if model.ranges.get(name) == range_ else "<small> ours</small>"
            values = (
                _value(chosen.get((dataset, model.id), {}).get(name, "\N{EN DASH}"))
                for dataset in datasets
            )
            heads = [
                model.label if i == 0 else "", name.replace("_", " "), range_text(range_) + origin,
            ]  # fmt: skip
            cells = [f"<td class=words>{value}</td>" for value in values]
            rows.append(Row(heads, cells, rule=i == 0 and bool(rows)))
    labels = [dataset_label(name) for name in datasets]
    return wide(["Model", "Setting", "Range"], labels, rows)


def range_text(range_: Range) -> str:
    """A range as the paper writes it.

    Examples
    --------
    >>> range_text(Interval(0.01, 2.5)), range_text(Choices((1, 3)))
    ('[0.01, 2.5]', '{1, 3}')
    """
    if isinstance(range_, Choices):
        return "{" + ", ".join(map(_value, range_.values)) + "}"
    if isinstance(range_, Interval):
        return f"[{range_.low:g}, {range_.high:g}]"
    return f"{{{range_.low}, …, {range_.high}}}"


def time_table(results: pd.DataFrame) -> MarkdownTable:
    """Where the time of the whole protocol went: tuning and fitting, per model, in minutes."""
    spent = tuned_table().groupby("model").agg({"total_seconds": "sum", "trials": "sum"})
    fitted = results.groupby("model")["seconds"].sum()
    rows: list[dict[str, Any]] = []
    for name in [m.id for m in MODELS if m.id in fitted.index]:
        tune = float(spent["total_seconds"].get(name, 0.0)) / 60
        fit = float(fitted[name]) / 60
        rows.append(
            {
                "model": label(name),
                "trials": int(spent["trials"].get(name, 0)),
                "tuning, min": f"{tune:.1f}",
                "folds, min": f"{fit:.1f}",
                "together, min": f"{tune + fit:.1f}",
            }
        )
    frame = pd.DataFrame(rows)
    total = {"model": "**all**", "trials": int(frame["trials"].sum())}
    for column in frame.columns[2:]:
        total[column] = f"**{frame[column].astype(float).sum():.0f}**"
    return MarkdownTable(pd.concat([frame, pd.DataFrame([total])], ignore_index=True))


def reached_table(
    results: pd.DataFrame, table: str, names: Sequence[str] = (), *, column: str | None = None
) -> MarkdownTable:
    """On how many data sets our fits reach the printed scores; for all models if none are named."""
    ours = scores_of(results, column or table)
    places = reached(ours, table, names or list(MODEL_BY_ID))
    rows = []
    for name, group in places.groupby("model", sort=False):
        missed = group[~group["reached"].astype(bool)].to_dict("records")
        misses = (
            f"{dataset_label(m['dataset'])} ({m['ours']}; paper {m['paper']})" for m in missed
        )
        rows.append(
            {
                "model": label(str(name)),
                "reached": f"{int(group['reached'].sum())} of {len(group)}",
                "missed": "; ".join(misses) or "none",
            }
        )
    return MarkdownTable(pd.DataFrame(rows))


def ceiling_table(results: pd.DataFrame, names: Sequence[str]) -> MarkdownTable:
    """Where a model with constant noise misses the paper's score: the best score its error allows.

    The best Normal of constant width for the test rows' errors has a mean log density of
    ``-log(RMSE sqrt(2 pi e))``. If the score is as high, only the error is to blame.
    """
    likelihood, error = scores_of(results, "log_likelihood"), scores_of(results, "rmse")
    missed = reached(likelihood, "log_likelihood", names)
    missed = missed[~missed["reached"].astype(bool)]
    errors = error.set_index(["model", "dataset"])["mean"]
    paper = printed("rmse").set_index(["model", "dataset"])["mean"]
    rows = []
    for place in missed.to_dict("records"):
        model, dataset = str(place["model"]), str(place["dataset"])
        ours = float(errors[model, dataset])
        rows.append(
            {
                "model": label(model),
                "data set": dataset_label(dataset),
                "log-likelihood": place["ours"],
                "best constant-width Normal": number(-0.5 - log(ours * sqrt(2 * pi))),
                "paper": place["paper"],
                "error": number(ours),
                "paper's error": number(float(paper[model, WHOLE.get(dataset) or dataset])),
            }
        )
    return MarkdownTable(pd.DataFrame(rows))


def split_table(table: str, model: str, found: Mapping[str, Sequence[float]]) -> MarkdownTable:
    """How another choice of test rows changes one model's score, by data set."""
    paper = printed(table).set_index(["model", "dataset"])["mean"]
    rows = [
        {
            "model": label(model),
            "data set": dataset_label(dataset),
            "least": number(min(scores)),
            "median": number(float(np.median(scores))),
            "most": number(max(scores)),
            "paper": number(float(paper[model, dataset])),
        }
        for dataset, scores in found.items()
    ]
    return MarkdownTable(pd.DataFrame(rows))


def split_note(table: str, model: str, found: Mapping[str, Sequence[float]]) -> Markdown:
    """Where the paper's score lies among those of other test rows."""
    paper = printed(table).set_index(["model", "dataset"])["mean"]
    places: dict[str, list[str]] = {}
    for dataset, scores in found.items():
        score = float(paper[model, dataset])
        place = "below" if score < min(scores) else "above" if score > max(scores) else "among"
        places.setdefault(place, []).append(f"*{dataset_label(dataset)}*")
    words = {
        "among": "between the smallest and the largest",
        "below": "below all",
        "above": "above all",
    }
    parts = [f"{words[place]} on {listed(places[place])}" for place in words if place in places]
    return Markdown(f"The paper's score lies {', and '.join(parts)}.")


def conclusion(results: pd.DataFrame) -> Markdown:
    """Conclusions from the tables, in sentences with numbers counted from them."""
    scores = scores_of(results, "log_likelihood")
    lines = []
    for family, names in {
        "VST": ("vst-const", "vst-linear"),
        "VSGBM": ("vsgbm-const", "vsgbm-linear"),
    }.items():
        counts = [reached(scores, "log_likelihood", [name])["reached"] for name in names]
        words = " and ".join(
            f"{int(count.sum())} of {len(count)} data sets with {kind} leaves"
            for count, kind in zip(counts, ("constant", "linear"), strict=True)
            if len(count)
        )
        if words:
            lines.append(f"- **{family}** reaches the paper's log-likelihood on {words}.")
    peers = ["deep-ensemble", "xbart-1", "sglb-1", "xbart", "sglb"]
    theirs = compared(scores, "log_likelihood", peers)
    better, worse = (int((theirs == kind).sum()) for kind in ("better", "worse"))
    lines.append(
        f"- **The peers**, tuned: of their {len(theirs)} "
        f"log-likelihoods that can be compared, {better} {'is' if better == 1 else 'are'} better than "
        f"the paper's beyond the error bars, and {worse} {'is' if worse == 1 else 'are'} worse."
    )
    plus = {model.id for model in MODELS if model.origin == "beyond"}
    # Only data sets with a winner: those on which all models have run.
    wanted = {model.id for model in MODELS if model.in_paper and model.has_density} | plus
    there = scores.groupby("dataset")["model"].agg(lambda names: wanted <= set(names))
    winners = best(scores[scores["dataset"].map(there)], higher_is_better=True)
    for model in (m.id for m in MODELS if m.id in plus):
        first = int((winners["model"] == model).sum())
        level = sum(model in par for par in winners["on par"])
        more = f", and is on par with the best on {level} more" if level else ""
        lines.append(
            f"- **{label(model)}** has the best log-likelihood of all models on {first} of the "
            f"{len(winners)} data sets on which all of them have run{more}."
        )
    return Markdown("\n".join(lines))


def winners_table(results: pd.DataFrame, table: str) -> MarkdownTable:
    """The best model on each data set, among all in the table."""
    higher = bool(TABLES[table].higher_is_better)
    frame = best(scores_of(results, table), higher_is_better=higher)
    return MarkdownTable(
        pd.DataFrame(
            {
                "data set": frame["dataset"].map(dataset_label),
                "best": frame["model"].map(label),
                "score": frame["score"],
                "error bar overlaps": frame["on par"].map(
                    lambda names: ", ".join(map(label, names)) or "nobody's"
                ),
            }
        )
    )


#: The coverage of 90 % intervals that counts as right.
RIGHT = (0.86, 0.94)


def coverage_table(results: pd.DataFrame, datasets: Sequence[str]) -> MarkdownTable:
    """Share of test rows inside their 90 % interval, over all folds, for models that were asked."""
    known = results.dropna(subset=["coverage"])
    found = known.pivot_table(index="model", columns="dataset", values="coverage")
    low, high = RIGHT
    rows = []
    for name in [model.id for model in MODELS if model.id in found.index]:
        values: dict[Any, float] = found.loc[name].dropna().to_dict()
        inside = sum(low <= share <= high for share in values.values())
        shares = {dataset_label(d): _percent(values.get(d)) for d in datasets}
        counted = f"{inside} of {len(values)}"
        rows.append(
            {"model": label(name), **shares, f"{100 * low:.0f} to {100 * high:.0f} %": counted}
        )
    return MarkdownTable(pd.DataFrame(rows), choose="data set")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


#: The paper's comparisons: each of its models with the peers of its group.
RIVALS = {"VST": (VST, ONE_TREE), "VSGBM": (VSGBM, MANY_TREES)}


def duel_table(results: pd.DataFrame, table: str) -> MarkdownTable:
    """How often the paper's models beat its peers, by the bold rule: as printed, and here."""
    sources = {"as printed": printed(table), "here": scores_of(results, table)}
    rows = []
    for name, (ours, rivals) in RIVALS.items():
        for source, scores in sources.items():
            counts = count(scores, table, ours, rivals)
            if counts is not None:
                comparison = {"comparison": f"{name} against the paper's peers", "numbers": source}
                rows.append(comparison | counts._asdict())
    return MarkdownTable(pd.DataFrame(rows))


def completeness(obtained: Obtained, experiment: Experiment) -> Markdown:
    """Describe the results behind the tables, and how to compute the missing ones."""
    results = obtained.results
    models, places = results["model"].nunique(), results["dataset"].nunique()
    folds = results["fold"].nunique()
    fits = counted(len(results), "fit")
    # A model that has several forms or starts has more fits than this product.
    if len(results) <= models * places * folds:
        fits += f": {counted(models, 'model')}"
    text = f"{fits} on {counted(places, 'data set')}, {counted(folds, 'fold')} each."
    if obtained.missing:
        text += (
            f" **{_more(obtained.missing)} not there yet**, which leaves gaps, or scores over fewer "
            f"folds, below; `vst run {experiment.name} --profile paper` computes them."
        )
    return Markdown(text)


def _more(missing: int) -> str:
    return f"{missing:,} more {'is' if missing == 1 else 'are'}"


def song_note(datasets: Sequence[str]) -> Markdown:
    """Name the columns that hold only a part of a data set."""
    notes = [
        f"The column *{CATALOGUE[name].label}* is **not** *{WHOLE[name]}* but "
        f"{CATALOGUE[name].rows:,} rows of it. The paper's numbers below ours are for the whole "
        f"*{WHOLE[name]}*, so no sign compares them."
        for name in datasets
        if name in WHOLE
    ]
    return Markdown(" ".join(notes))


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
