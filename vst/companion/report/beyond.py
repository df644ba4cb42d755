"""The chapter on options beyond the paper: the effect of each, by data set, and its cost."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vst.companion.experiments.beyond import VARIANTS, condition_number
from vst.companion.experiments.datasets import is_here
from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.report.style import BLUE, GREEN, ORANGE, VERMILLION, styled
from vst.companion.report.tables import Markdown, MarkdownTable, counted, number

#: Names of the options on the page.
NAMES = {
    "whiten": "whitening",
    "kl_weight": "KL weight 0.1",
    "members": "several posteriors",
    "all": "all three",
}

COLOURS = {"whiten": BLUE, "kl_weight": ORANGE, "members": GREEN, "all": VERMILLION}

#: Names of the scores on the page.
SCORES = {"log_likelihood": "log-likelihood", "auroc": "AUROC"}


def gains(results: pd.DataFrame, score: str) -> pd.DataFrame:
    """The change from each option, fold by fold, against the paper's model.

    Returns
    -------
    pandas.DataFrame
        One row per data set and option: dataset, variant, mean and error (the standard deviation over
        folds) of the change.
    """
    wide = results.pivot_table(index=["dataset", "fold"], columns="variant", values=score)
    present = [name for name in NAMES if name in wide]
    if "paper" not in wide or not present:
        return pd.DataFrame(columns=["dataset", "variant", "mean", "error"])
    changes = wide[present].sub(wide["paper"], axis=0).reset_index()
    long = changes.melt(["dataset", "fold"], value_name="change").dropna(subset=["change"])
    groups = long.groupby(["dataset", "variant"], sort=False)["change"]
    return groups.agg(mean="mean", error="std").reset_index()


def gain_table(results: pd.DataFrame, score: str, datasets: Sequence[str]) -> MarkdownTable:
    """The changes of one score: one row per data set, the paper's model first, then each option."""
    found = gains(results, score)
    changes = {
        (dataset, variant): (mean, error)
        for dataset, variant, mean, error in found.itertuples(index=False, name=None)
    }
    paper = results[results["variant"] == "paper"].groupby("dataset")[score].mean()
    rows = []
    for dataset in (name for name in datasets if name in paper.index):
        row = {"data set": dataset_label(dataset), "paper's form": number(paper[dataset])}
        for variant, name in NAMES.items():
            row[name] = _change(*changes[dataset, variant]) if (dataset, variant) in changes else ""
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows), choose="option")


def _change(mean: float, error: float) -> str:
    text = f"{'+' if mean > 0 else ''}{number(mean)} ± {number(error)}"
    return f"**{text}**" if abs(mean) > error else text


@styled
def gain_dots(results: pd.DataFrame, score: str, datasets: Sequence[str]) -> Figure:
    """Draw the changes of one score: one row per data set, one dot per option."""
    found = gains(results, score)
    shown = [name for name in datasets if name in set(found["dataset"])]
    figure, axis = plt.subplots(figsize=(7.2, 0.8 + 0.42 * len(shown)))
    for i, (variant, name) in enumerate(NAMES.items()):
        part = found[found["variant"] == variant].set_index("dataset").reindex(shown)
        at = -np.arange(len(shown)) + 0.27 - 0.18 * i
        axis.errorbar(
            part["mean"], at, xerr=part["error"], fmt="o", ms=4, color=COLOURS[variant], label=name
        )
    axis.axvline(0, color="#888888", lw=0.8, zorder=0)
    # Most changes are small and a few are huge: linear below a tenth, logarithmic above.
    axis.set_xscale("symlog", linthresh=0.1, linscale=0.6)
    axis.set_yticks(-np.arange(len(shown)), [dataset_label(name) for name in shown])
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#eeeeee")
    axis.set_xlabel(f"change of the {SCORES[score]} against the paper's model")
    figure.legend(loc="outside upper right", ncols=4, fontsize=8)
    return figure


def hurts(results: pd.DataFrame, score: str) -> Markdown:
    """Say where an option made a score worse by more than its spread over folds."""
    found = gains(results, score)
    lines = []
    for variant, name in NAMES.items():
        part = found[found["variant"] == variant]
        up, down = part[part["mean"] > part["error"]], part[part["mean"] < -part["error"]]
        named = ", ".join(dataset_label(d) for d in down["dataset"])
        worse = f"{len(down)}: {named}" if named else "none"
        lines.append(
            f"- **{name[0].upper()}{name[1:]}**: clearly better on {len(up)} of "
            f"{counted(len(part), 'data set')}, and clearly worse on {worse}."
        )
    return Markdown("\n".join(lines))


def collinearity(results: pd.DataFrame, datasets: Sequence[str]) -> MarkdownTable:
    """The condition number of the features and the gain from whitening, for data on this machine."""
    found = (
        gains(results, "log_likelihood").query("variant == 'whiten'").set_index("dataset")["mean"]
    )
    rows = [
        (condition_number(name), dataset_label(name), float(found[name]))
        for name in datasets
        if name in found.index and is_here(name)
    ]
    return MarkdownTable(
        pd.DataFrame(
            [
                {
                    "data set": name,
                    "condition number": f"{condition:,.0f}",
                    "log-likelihood gained by whitening": number(gain),
                }
                for condition, name, gain in sorted(rows, reverse=True)
            ]
        )
    )


def costs(results: pd.DataFrame) -> MarkdownTable:
    """Seconds per fold of each variant, as multiples of the paper's model on the same data.

    The first fit of a data set, the paper's, waits for the compiled program that the others share: a
    multiple below one says no more than that the option is not slower.
    """
    seconds = results.pivot_table(index="dataset", columns="variant", values="seconds")
    seconds = seconds.reindex(columns=list(VARIANTS))
    ratio = seconds.div(seconds["paper"], axis=0).median().dropna()
    rows = [
        {"option": NAMES[name], "time, as a multiple of the paper's model": _multiple(ratio[name])}
        for name in VARIANTS
        if name in NAMES and name in ratio.index
    ]
    return MarkdownTable(pd.DataFrame(rows))


def _multiple(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio > 1 else "at most 1"
