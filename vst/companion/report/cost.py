"""The cost chapter: the quality of a model against its time."""

from collections.abc import Sequence
from math import ceil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.experiments.trials import tuned_table
from vst.companion.models import MODEL_BY_ID, MODELS, label
from vst.companion.report.style import GREY, label_logarithmic, styled
from vst.companion.report.tables import MarkdownTable, number
from vst.errors import UserError

#: The paper's VST with linear leaves, and what this package makes of such trees.
FORMS = ("vst-linear", "vsgbm-joint", "vst-cv")


def quality(results: pd.DataFrame) -> pd.DataFrame:
    """Score and seconds of each model on each data set, and whether another model beats it in both.

    Returns
    -------
    pandas.DataFrame
        Columns model, dataset, score (mean log-likelihood), seconds (per fold) and best (no other
        model is both better and faster).
    """
    scored = results.dropna(subset=["log_likelihood"])
    frame = (
        scored.groupby(["model", "dataset"], sort=False)
        .agg(score=("log_likelihood", "mean"), seconds=("seconds", "mean"))
        .reset_index()
    )
    frame["best"] = [
        not (
            (frame["dataset"] == row.dataset)
            & (frame["score"] >= row.score)
            & (frame["seconds"] <= row.seconds)
            & (frame["model"] != row.model)
        ).any()
        for row in frame.itertuples()
    ]
    return frame


@styled
def quality_against_time(results: pd.DataFrame, datasets: Sequence[str]) -> Figure:
    """Draw log-likelihood over seconds, one panel per data set and one point per model."""
    found = quality(results)
    shown = [name for name in datasets if name in set(found["dataset"])]
    columns = max(1, min(5, len(shown)))
    lines = max(1, ceil(len(shown) / columns))
    figure, axes = plt.subplots(
        lines, columns, figsize=(1.0 + 2.1 * columns, 0.9 + 2.0 * lines), squeeze=False
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for axis, dataset in zip(axes.flat, shown, strict=False):
        part = found[found["dataset"] == dataset].sort_values("seconds")
        floor = np.quantile(part["score"], 0.15)
        low = floor - 0.15 * (part["score"].max() - floor)
        for row in part.itertuples():
            model = MODEL_BY_ID[str(row.model)]
            axis.plot(
                row.seconds,
                max(row.score, low),
                model.mark if row.score >= low else "v",
                color=model.colour,
                ms=5,
                clip_on=False,
                mfc=model.colour if row.best else "none",
            )
        front = part[part["best"]]
        axis.plot(
            front["seconds"], front["score"].clip(lower=low), "-", color="#999999", lw=0.9, zorder=0
        )
        axis.set_xscale("log")
        label_logarithmic(axis.xaxis)
        axis.set_title(dataset_label(dataset))
        axis.tick_params(labelsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("seconds per fold")
    for axis in axes[:, 0]:
        axis.set_ylabel("log-likelihood")
    figure.legend(handles=_legend(found), loc="outside lower center", ncols=5, fontsize=8)
    return figure


def _legend(found: pd.DataFrame) -> list[Line2D]:
    """Each model's own mark, also where a panel shows it off the scale, and the mark for that."""
    marks = [
        Line2D([], [], ls="none", marker=m.mark, color=m.colour, ms=5, label=m.label)
        for m in MODELS
        if m.id in set(found["model"])
    ]
    below = Line2D(
        [], [], ls="none", marker="v", color=GREY, mfc="none", ms=5, label="far below the others"
    )
    return [*marks, below]


def front_table(results: pd.DataFrame, datasets: Sequence[str]) -> MarkdownTable:
    """The models of each data set that no other beats in both, from the fastest to the best."""
    found = quality(results)
    rows = []
    for dataset in datasets:
        part = found[(found["dataset"] == dataset) & found["best"]].sort_values("seconds")
        if len(part):
            steps = (
                f"{label(model)} ({number(score, 2)}, {seconds:.2g} s)"
                for model, score, seconds in zip(
                    part["model"], part["score"], part["seconds"], strict=True
                )
            )
            rows.append(
                {"data set": dataset_label(dataset), "from fast to good": " → ".join(steps)}
            )
    return MarkdownTable(pd.DataFrame(rows))


def ratio_table(results: pd.DataFrame, reference: str = "vst-linear") -> MarkdownTable:
    """Each model's time as a multiple of one model's on the same data, and how often it is better."""
    found = quality(results)
    if reference not in set(found["model"]):
        raise UserError(f"there are no scores of {reference}: choose another model as reference")
    wide = found.pivot_table(index="dataset", columns="model", values=["seconds", "score"])
    spent = tuned_table().groupby("model")["total_seconds"].sum() / 60
    rows = []
    for model in (m for m in MODELS if m.id in set(found["model"])):
        both = wide[[("score", model.id), ("score", reference)]].dropna().index
        ratio = (wide["seconds", model.id] / wide["seconds", reference]).loc[both]
        better = (wide["score", model.id] > wide["score", reference]).loc[both]
        rows.append(
            {
                "model": model.label,
                "time per fold, median multiple": f"{ratio.median():.2g}",
                "least": f"{ratio.min():.2g}",
                "most": f"{ratio.max():.2g}",
                "better log-likelihood on": f"{int(better.sum())} of {len(both)}"
                if model.id != reference
                else "",
                "tuning on all data sets, min": f"{spent.get(model.id, 0.0):.0f}",
            }
        )
    return MarkdownTable(pd.DataFrame(rows))


def forms_table(results: pd.DataFrame, datasets: Sequence[str]) -> MarkdownTable:
    """Log-likelihood and seconds per fold of a VST and of what goes beyond it, best in bold."""
    found = quality(results[results["model"].isin(FORMS)])
    rows = []
    for dataset in datasets:
        part = found[found["dataset"] == dataset].set_index("model")
        row = {"data set": dataset_label(dataset)}
        for form in (name for name in FORMS if name in part.index):
            score, seconds = part["score"][form], part["seconds"][form]
            best = "**" if score == part["score"].max() else ""
            row[label(form)] = f"{best}{number(score)}{best} ({seconds:.2g} s)"
        if len(row) > 1:
            rows.append(row)
    return MarkdownTable(pd.DataFrame(rows))


def estimate_table(
    results: pd.DataFrame, workers: Sequence[int] = (1, 2, 8, 32, 128)
) -> MarkdownTable:
    """Minimum hours for all fits on more workers as fast as this machine's cores.

    A job runs on one worker: all folds of a soft tree, or one fold of a peer. The total cannot be less
    than the longest job.
    """
    soft = results["model"].map(lambda name: MODEL_BY_ID[name].is_soft).astype(bool)
    stacks = results[soft].groupby(["model", "dataset"])["seconds"].sum()
    jobs = np.array([*stacks, *results.loc[~soft, "seconds"]])
    rows = [
        {"workers": count, "hours": f"{max(jobs.sum() / count, jobs.max()) / 3600:.2f}"}
        for count in workers
        if len(jobs)
    ]
    return MarkdownTable(pd.DataFrame(rows))
