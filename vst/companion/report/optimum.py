"""The method chapter's evidence on the optimum: who reaches it, and what it is worth."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.experiments.optimisers import VARIANTS
from vst.companion.experiments.optimum import LEVEL
from vst.companion.report.style import BLUE, GREEN, GREY, ORANGE, styled
from vst.companion.report.tables import Markdown, MarkdownTable, number
from vst.soft_trees import SoftTrees
from vst.tree import SMALLEST_SCALE

#: One colour per weight of the KL term, and its mark.
WEIGHTS = {1.0: (BLUE, "o"), 0.3: (ORANGE, "s"), 0.1: (GREEN, "^")}

#: What is drawn along the way, and the titles.
MEASURES = {
    "elbo": "bound, below its best",
    "log_likelihood": "test log-likelihood, below its best",
    "coverage": f"coverage of {LEVEL:.0%} intervals",
    "auroc": "OOD AUROC",
}


def optimiser_table(results: pd.DataFrame) -> MarkdownTable:
    """The bound that each optimiser reaches, by data set: a default fit, and four times the steps."""
    short, long = results["steps"].min(), results["steps"].max()
    means = results.groupby(["model", "steps", "dataset"])["elbo"].mean()
    datasets = list(dict.fromkeys(results["dataset"]))
    rows = []
    for name in (name for name in VARIANTS if name in set(results["model"])):
        row = {"optimiser": name}
        for dataset in datasets:
            first, last = (number(means[name, steps, dataset], 2) for steps in (short, long))
            row[dataset_label(dataset)] = f"{first} → {last}"
        gain = (means[name, long] - means[name, short]).mean()
        row["gain"] = number(gain)
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows), choose="data set")


def without_rounded(results: pd.DataFrame) -> pd.DataFrame:
    """The path of data sets whose targets are not rounded."""
    rounded = set(results.loc[results["smallest_scale"] > SMALLEST_SCALE, "dataset"])
    return results[(results["part"] == "path") & ~results["dataset"].isin(rounded)]


@styled
def path(results: pd.DataFrame) -> Figure:
    """Four measures against the number of steps, medians over data sets, by weight of the KL term."""
    used = without_rounded(results)
    figure, axes = plt.subplots(1, len(MEASURES), figsize=(10.4, 2.9))
    for axis, (measure, title) in zip(axes, MEASURES.items(), strict=True):
        by = used.pivot_table(index="dataset", columns=["kl_weight", "steps"], values=measure)
        if measure == "elbo":  # each weight has its own bound
            for weight in by.columns.get_level_values(0).unique():
                by[weight] = by[weight].sub(by[weight].max(axis=1), axis=0)
        elif measure == "log_likelihood":
            by = by.sub(by.max(axis=1), axis=0)
        middle = by.median()
        for weight, (colour, mark) in WEIGHTS.items():
            if weight in middle.index.get_level_values(0):
                curve = middle[weight]
                axis.plot(
                    curve.index, curve, color=colour, marker=mark, ms=4, lw=1.4, label=f"{weight:g}"
                )
        if measure == "coverage":
            axis.axhline(LEVEL, color=GREY, lw=0.8, ls=":")
        axis.set_xscale("log")
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("steps")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.set_xticks([300, 1000, 3000, 10_000, 30_000], ["300", "1k", "3k", "10k", "30k"])
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside upper right",
        ncols=3,
        title="KL weight",
        fontsize=8,
        title_fontsize=8,
    )
    return figure


def path_table(
    results: pd.DataFrame, steps: Sequence[int] = (1000, 10_000, 40_000)
) -> MarkdownTable:
    """Test log-likelihood and coverage of each data set at some lengths of training, KL weight 1."""
    used = results[
        (results["part"] == "path")
        & (results["kl_weight"] == 1)
        & (results["smallest_scale"] == SMALLEST_SCALE)
    ]
    means = used.groupby(["dataset", "steps"])[
        ["elbo", "log_likelihood", "coverage", "auroc"]
    ].mean()
    lengths = [length for length in steps if length in set(used["steps"])]
    rows = []
    for dataset in dict.fromkeys(used["dataset"]):
        row = {"data set": dataset_label(dataset)}
        for measure, name, decimals in (
            ("elbo", "bound", 2), ("log_likelihood", "log-likelihood", 2), ("coverage", "coverage", 2),
            ("auroc", "AUROC", 2),
        ):  # fmt: skip
            values = [number(means.loc[(dataset, length), measure], decimals) for length in lengths]
            row[name] = " → ".join(values)
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows), choose="measure")


def chosen(results: pd.DataFrame) -> pd.DataFrame:
    """The settings that two rules choose among the tuner's trials, with their scores.

    Returns
    -------
    pandas.DataFrame
        One row per data set and rule (``validation_log_likelihood`` or ``validation_elbo``).
    """
    used = results[(results["part"] == "trials") & results["validation_elbo"].notna()]
    scores = ["validation_log_likelihood", "validation_elbo", "log_likelihood", "auroc", "coverage"]
    means = used.groupby(["dataset", "parameters"], sort=False)[scores].mean().reset_index()
    rows = []
    for rule in scores[:2]:
        best = means.loc[means.groupby("dataset", sort=False)[rule].idxmax()]
        rows.append(best.assign(rule=rule))
    return pd.concat(rows, ignore_index=True)


def chosen_table(results: pd.DataFrame) -> MarkdownTable:
    """Test scores of what the two rules choose."""
    found = chosen(results).set_index(["rule", "dataset"])
    rows = []
    for dataset in dict.fromkeys(found.index.get_level_values("dataset")):
        row = {"data set": dataset_label(dataset)}
        for score, name, decimals in (
            ("log_likelihood", "log-likelihood", 3), ("coverage", "coverage", 2), ("auroc", "AUROC", 3),
        ):  # fmt: skip
            for rule, by in (
                ("validation_log_likelihood", "by log-likelihood"),
                ("validation_elbo", "by bound"),
            ):
                row[f"{name}, {by}"] = number(found.loc[(rule, dataset), score], decimals)
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows), choose="score")


def rounded_table(results: pd.DataFrame) -> MarkdownTable:
    """Bound and log-likelihood where targets are rounded, with and without a floor at the rounding."""
    floors = results[(results["part"] == "path") & (results["kl_weight"] == 1)]
    rounded = floors[
        floors["dataset"].isin(floors.loc[floors["smallest_scale"] > SMALLEST_SCALE, "dataset"])
    ]
    means = rounded.groupby(["dataset", "smallest_scale", "steps"])[
        ["elbo", "log_likelihood", "coverage"]
    ].mean()
    return MarkdownTable(
        pd.DataFrame(
            {
                "data set": dataset_label(row["dataset"]),
                "smallest scale": f"{row['smallest_scale']:.2g}",
                "steps": int(row["steps"]),
                "bound": number(row["elbo"], 2),
                "test log-likelihood": number(row["log_likelihood"], 2),
                f"{LEVEL:.0%} coverage": number(row["coverage"], 2),
            }
            for row in means.reset_index().to_dict("records")
            if row["steps"] >= 2000
        )
    )


def advice(results: pd.DataFrame) -> Markdown:
    """What the path says, in words taken from its numbers."""
    used = without_rounded(results)
    scores = used.pivot_table(
        index="dataset", columns=["kl_weight", "steps"], values="log_likelihood"
    )
    coverage = used.groupby(["kl_weight", "steps"])["coverage"].mean()
    own = scores[1.0]
    first, last = (own.columns[i] for i in (len(own.columns) // 4, -1))
    gains = own[last] - own[first]
    return Markdown(
        f"At KL weight 1, training for {last:,} instead of {first:,} steps raises the test "
        f"log-likelihood on {int((gains > 0).sum())} of {len(gains)} data sets, by "
        f"{number(float(gains.median()))} nats per row in the median. The {LEVEL:.0%} intervals hold "
        f"{coverage[1.0, first]:.1%} of the targets after {first:,} steps and "
        f"{coverage[1.0, last]:.1%} after {last:,}."
    )


def gains_of_longer(results: pd.DataFrame) -> pd.Series:
    """What four times the steps of a default fit add to the bound, by data set."""
    used = results[
        (results["part"] == "path")
        & (results["kl_weight"] == 1)
        & (results["smallest_scale"] == SMALLEST_SCALE)
    ]
    means = used.pivot_table(index="dataset", columns="steps", values="elbo", sort=False)
    return means[4 * SoftTrees().steps] - means[SoftTrees().steps]


def converged_summary(results: pd.DataFrame, most: float = 0.03) -> Markdown:
    """On how many data sets a default fit has converged, by four times the steps."""
    gains = gains_of_longer(results)
    above = gains[gains > most]
    named = ", ".join(
        f"*{dataset_label(str(name))}* ({number(value)})" for name, value in above.items()
    )
    others = f" Exceptions: {named}." if len(above) else ""
    return Markdown(
        f"Four times the steps of a default fit gain at most {most} nats per row of the bound on "
        f"{len(gains) - len(above)} of {len(gains)} data sets.{others}"
    )


def temperature(results: pd.DataFrame) -> MarkdownTable:
    """Three posteriors on average over data sets: stopped early, a light KL term, the optimum."""
    used = without_rounded(results)
    lengths = sorted(used["steps"].unique())
    early, last = lengths[len(lengths) // 4], lengths[-1]
    columns = ["log_likelihood", "coverage", "width", "auroc"]
    found = used.groupby(["kl_weight", "steps"])[columns].mean().to_dict("index")
    kinds = {
        f"stopped after {early:,} steps, KL weight 1": (1.0, early),
        f"{last:,} steps, KL weight 0.1": (0.1, last),
        f"{last:,} steps, KL weight 0.3": (0.3, last),
        f"{last:,} steps, KL weight 1": (1.0, last),
    }
    return MarkdownTable(
        pd.DataFrame(
            {
                "posterior": kind,
                "test log-likelihood": number(row["log_likelihood"]),
                f"{LEVEL:.0%} coverage": f"{row['coverage']:.1%}",
                "width of intervals": number(row["width"], 2),
                "AUROC": number(row["auroc"]),
            }
            for kind, row in ((kind, found[place]) for kind, place in kinds.items())
        )
    )


def temperature_summary(results: pd.DataFrame) -> Markdown:
    """Whether stopping early acts like a lighter KL term, by the coverage of intervals."""
    used = without_rounded(results)
    lengths = sorted(used["steps"].unique())
    early, last = lengths[len(lengths) // 4], lengths[-1]
    coverage = used.groupby(["kl_weight", "steps"])["coverage"].mean()
    stopped, light, whole = coverage[1.0, early], coverage[0.1, last], coverage[1.0, last]
    opposite = stopped > LEVEL > light
    numbers = (
        f"Stopped early, {LEVEL:.0%} intervals hold {stopped:.1%} of the targets; at the optimum "
        f"{whole:.1%}; at the optimum of a KL term of weight 0.1, {light:.1%}."
    )
    verdict = (
        "Stopping early makes intervals too wide and a lighter KL term too narrow, so early stopping "
        "is not the same as a lighter KL term."
        if opposite
        else "That does not tell early stopping from a lighter KL term."
    )
    return Markdown(f"{numbers} {verdict}")


def chosen_summary(results: pd.DataFrame) -> Markdown:
    """Which of the two rules chooses better, in numbers."""
    found = chosen(results)
    wide = found.pivot_table(index="dataset", columns="rule", values="log_likelihood", sort=False)
    change = wide["validation_log_likelihood"] - wide["validation_elbo"]
    better, worse = int((change > 0).sum()), int((change < 0).sum())
    return Markdown(
        f"Of {len(change)} data sets, the held-out log-likelihood chooses settings with a higher test "
        f"log-likelihood than the held-out bound does on {better}, with a lower one on {worse}, and the "
        f"same settings on {len(change) - better - worse}. The median difference is "
        f"{number(float(change.median()))} nats per row."
    )
