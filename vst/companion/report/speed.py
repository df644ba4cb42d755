"""The measurements of ``make bench``: targets, how costs grow, and a comparison of models."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import MODEL_BY_ID, label
from vst.companion.report.style import BLUE, ORANGE, label_logarithmic, styled
from vst.companion.report.tables import MarkdownTable, number
from vst.datasets.places import bundled_directory

#: Benchmarks that vary one size: the word after the size in their rows, and the axis label.
SIZES = {
    "rows": ("rows", "rows"),
    "features": ("features", "features"),
    "depth": ("levels", "depth"),
    "rank": ("columns", "rank"),
    "replicas": ("replicas", "replicas"),
    "trees": ("trees", "trees of a VSGBM"),
}

OURS, CHOOSING = "vst-linear", "vst-cv"

#: Symbols for targets on a page.
SIGNS = {"<=": "≤", ">=": "≥"}


def directory() -> Path:
    """Directory of the benchmarks' tables."""
    return bundled_directory() / "benchmarks"


def latest(name: str = "results.csv") -> pd.DataFrame:
    """The last run of each benchmark and model on the most recent machine."""
    path = directory() / name
    table = (
        pd.read_csv(path, keep_default_na=name != "results.csv")
        if path.exists()
        else pd.DataFrame()
    )
    if table.empty:  # nothing has been measured yet
        return pd.DataFrame()
    table = table[table["machine"] == table["machine"].iloc[-1]]
    if "benchmark" in table:
        return table[table["date"] == table.groupby("benchmark")["date"].transform("max")]
    return table.drop_duplicates(["dataset", "model", "part"], keep="last")


def targets_table(results: pd.DataFrame) -> MarkdownTable:
    """Every measure with a target, and whether it is reached."""
    columns = ["benchmark", "measure", "value", "unit", "target", "holds"]
    rows = [
        {
            "benchmark": benchmark,
            "measure": measure,
            "value": f"{_beside(value, target)} {unit}".strip(),
            "target": f"{SIGNS[target[:2]]} {target[2:]}",
            "holds": holds.lower(),
        }
        for benchmark, measure, value, unit, target, holds in results[columns].to_numpy()
        if target
    ]
    return MarkdownTable(pd.DataFrame(rows))


def _beside(value: float, target: str) -> str:
    """A value in three digits, or in as many as tell it from its target.

    Examples
    --------
    >>> _beside(3.5678, "<=3"), _beside(17.98, ">=18")
    ('3.57', '17.98')
    """
    texts = (f"{value:.{digits}g}" for digits in range(3, 9))
    return next((text for text in texts if float(text) != float(target[2:])), f"{value:.3g}")


def by_size(results: pd.DataFrame, benchmark: str) -> pd.DataFrame:
    """Cost of a step and seconds of compilation for each size of one benchmark."""
    word = SIZES[benchmark][0]
    rows = results[results["benchmark"] == benchmark]
    found = rows["measure"].str.extract(rf"^(\d+) {word}(, compilation)?$")
    rows = rows.assign(size=pd.to_numeric(found[0]), compiling=found[1].notna())
    rows = rows.dropna(subset="size")
    wide = rows.pivot_table(index="size", columns="compiling", values="value")
    wide = wide.rename(columns={False: "cost", True: "compilation"})
    return wide.reindex(columns=["cost", "compilation"])


@styled
def scaling(results: pd.DataFrame) -> Figure:
    """Draw the cost of a training step against each size, and the seconds of compilation."""
    shown = [name for name in SIZES if (results["benchmark"] == name).any()]
    columns = min(3, max(1, len(shown)))
    lines = -(-max(1, len(shown)) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(1 + 2.8 * columns, 0.6 + 2.3 * lines), squeeze=False
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    short = EngFormatter(sep="")
    for axis, name in zip(axes.flat, shown, strict=False):
        found = by_size(results, name)
        axis.plot(found.index, found["cost"], "o-", color=BLUE, ms=4, label="a step, µs")
        axis.plot(
            found.index, found["compilation"], "s:", color=ORANGE, ms=4, label="compilation, s"
        )
        axis.set_xscale("symlog" if 0 in found.index else "log")
        axis.set_yscale("log")
        axis.set_xticks(found.index, [short(size) for size in found.index])
        axis.minorticks_off()
        label_logarithmic(axis.yaxis)
        axis.set_xlabel(SIZES[name][1])
    handles, names = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2)
    return figure


def models_table(models: pd.DataFrame, datasets: Sequence[str]) -> MarkdownTable:
    """Time for ten folds: the reference in seconds, the others as multiples of it."""
    if models.empty:
        return MarkdownTable(pd.DataFrame())
    whole = models[models["part"] == 1]
    seconds = whole.pivot_table(index="dataset", columns="model", values="fit_seconds")
    stopped = whole.pivot_table(index="dataset", columns="model", values="stopped")
    tuned = whole.pivot_table(index="dataset", columns="model", values="tuned")
    names = [name for name in whole["model"].unique() if name != OURS]
    rows = []
    for dataset in (name for name in datasets if name in seconds.index):
        mine = float(seconds[OURS][dataset])
        row = {"data set": dataset_label(dataset), label(OURS): f"{mine:.0f} s"}
        for name in names:
            ratio = float(seconds[name][dataset]) / mine
            bound = "> " if stopped[name][dataset] else ""
            text = "" if pd.isna(ratio) else f"{bound}{ratio:.2g} x"
            row[label(name)] = text if tuned[name][dataset] or not text else f"({text})"
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows), choose="model")


def memory_table(models: pd.DataFrame) -> MarkdownTable:
    """Peak memory and prediction time of each model, over the data sets that all have finished."""
    if models.empty:
        return MarkdownTable(pd.DataFrame())
    whole = models[models["part"] == 1]
    finished = whole.groupby("dataset")["stopped"].max() == 0
    groups = whole[whole["dataset"].map(finished)].groupby("model", sort=False)
    found = groups.agg(
        memory=("peak_mb", "max"),
        predict=("predict_seconds", "median"),
        compile=("compile_seconds", "max"),
    )
    return MarkdownTable(
        pd.DataFrame(
            {
                "model": [label(name) for name in found.index],
                "peak memory of a process, MB": [f"{v:.0f}" for v in found["memory"]],
                "predictions for ten folds, median, s": [f"{v:.2g}" for v in found["predict"]],
                "compilation, s": [f"{v:.0f}" if v > 0 else "" for v in found["compile"]],
            }
        )
    )


def reaching_table(models: pd.DataFrame, datasets: Sequence[str]) -> MarkdownTable:
    """How long our models take to become as good as the best peer that finished its folds."""
    if models.empty:
        return MarkdownTable(pd.DataFrame())
    rows = []
    for dataset in datasets:
        found = models[models["dataset"] == dataset].dropna(subset="log_likelihood")
        is_peer = np.array([not MODEL_BY_ID[name].is_ours for name in found["model"]], bool)
        peers = found[is_peer & (found["tuned"] == 1)]
        if peers.empty:
            continue
        best = peers.sort_values("log_likelihood").iloc[-1]
        row = {
            "data set": dataset_label(dataset),
            "best peer": label(best["model"]),
            "its log-likelihood": number(best["log_likelihood"], 2),
            "its time": f"{best['fit_seconds']:.0f} s",
        }
        for name in (OURS, CHOOSING):
            trained = found[found["model"] == name].sort_values("fit_seconds")
            if trained.empty:
                continue
            there = trained[trained["log_likelihood"] >= best["log_likelihood"]]
            row[f"{label(name)} gets there in"] = (
                f"{there['fit_seconds'].iloc[0]:.0f} s"
                if len(there)
                else f"not ({number(trained['log_likelihood'].max(), 2)})"
            )
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows).fillna(""))


def history_table() -> MarkdownTable:
    """The ratios with targets on the most recent machine, with the latest run on the right."""
    table = pd.read_csv(directory() / "results.csv", keep_default_na=False)
    table = table[table["machine"] == table["machine"].iloc[-1]]
    chosen = table[(table["target"] != "") & (table["unit"] == "x")]
    wide = chosen.pivot_table(
        index=["benchmark", "measure"], columns="date", values="value", sort=False
    )
    shown = wide.map(lambda value: "" if pd.isna(value) else f"{value:.3g}")
    return MarkdownTable(shown.reset_index())
