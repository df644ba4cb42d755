"""The OOD chapter: the table of all data sets, and a closer look at one."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.figure import Figure
from sklearn.decomposition import PCA
from sklearn.metrics import roc_curve

from vst.companion.experiments import datasets
from vst.companion.experiments.detection import Detection, auroc
from vst.companion.models import MODEL_BY_ID, MODELS, label
from vst.companion.paper import printed
from vst.companion.paper.claims import MANY_TREES, ONE_TREE, VSGBM, VST, count
from vst.companion.protocol import OODSet
from vst.companion.report.scores import WHOLE, reached, scores_of
from vst.companion.report.style import (
    BLUE,
    ORANGE,
    PALE_TO_DARK,
    label_logarithmic,
    styled,
)
from vst.companion.report.tables import Markdown, MarkdownTable, listed, number
from vst.datasets import CATALOGUE


def distance_table(
    results: pd.DataFrame, by_dataset: Mapping[str, dict[str, float] | None]
) -> MarkdownTable:
    """AUROC of distances, where both kinds of rows are available, of soft trees, and the paper's."""
    ours = scores_of(results, "auroc").set_index(["model", "dataset"])["mean"]
    paper = printed("ood_auroc").set_index(["model", "dataset"])["mean"]
    rows = []
    for dataset, found in by_dataset.items():
        if found is None:
            continue
        row = {"data set": datasets.label(dataset)}
        row |= {f"{name} distance": number(value) for name, value in found.items()}
        for model in ("vst-linear", "vst-cv"):
            place = (model, dataset)
            row[label(model)] = number(float(ours[place])) if place in ours.index else ""
        place = ("vst-linear", WHOLE.get(dataset) or dataset)
        row["paper's VST (linear)"] = number(float(paper[place])) if place in paper.index else ""
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows))


def reached_by_dataset(results: pd.DataFrame, column: str = "auroc") -> MarkdownTable:
    """How many models reach the paper's AUROC on each data set.

    Where peers and soft trees both fall short, the outside rows are the likely cause.
    """
    everyone = [model.id for model in MODELS if model.in_paper]
    places = reached(scores_of(results, column), "ood_auroc", everyone)
    rows = []
    for dataset, part in places.groupby("dataset", sort=False):
        row = {"data set": datasets.label(str(dataset))}
        soft = part["model"].map(lambda name: MODEL_BY_ID[name].is_soft).astype(bool)
        for name, chosen in (("soft trees", part[soft]), ("peers", part[~soft])):
            row[name] = f"{int(chosen['reached'].sum())} of {len(chosen)}"
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows))


def partner_note(results: pd.DataFrame) -> Markdown:
    """Describe where the table's outside rows come from."""
    partners = results.dropna(subset=["ood"]).groupby("ood")["dataset"].unique()
    notes = []
    for partner, names in partners.items():
        info = CATALOGUE[str(partner)]
        whole = f", which has {info.rows:,} rows of *{info.part_of}*" if info.part_of else ""
        named = listed([f"*{datasets.label(name)}*" for name in names])
        notes.append(f"The outside rows of {named} come from *{info.label}*{whole}.")
    return Markdown(" ".join(notes))


def node_note(results: pd.DataFrame) -> Markdown:
    """How the comparisons of the claims come out by the paper's score."""
    scores = scores_of(results, "auroc_node")
    found = {
        "VST": count(scores, "ood_auroc", VST, ONE_TREE),
        "VSGBM": count(scores, "ood_auroc", VSGBM, MANY_TREES),
    }
    parts = [
        f"{name} is better than its peers on {each.better}, equal on {each.equal} and worse on "
        f"{each.worse} of {each.total} data sets"
        for name, each in found.items()
        if each is not None
    ]
    return Markdown(f"By this score {'; '.join(parts)}." if parts else "")


def caption(rows: OODSet) -> Markdown:
    """Which rows were used."""
    return Markdown(rows.caption)


@styled
def roc_curves(found: Sequence[Detection]) -> Figure:
    """Draw each model's ROC curve: rows of the partner flagged, against test rows flagged."""
    figure, axis = plt.subplots(figsize=(4.6, 4.2))
    for detection in found:
        scores = np.concatenate([detection.inside, detection.outside])
        truth = np.repeat([0, 1], [len(detection.inside), len(detection.outside)])
        false_alarms, hits, _ = roc_curve(truth, scores)
        area = auroc(detection.inside, detection.outside)
        colour = MODEL_BY_ID[detection.model].colour
        axis.plot(false_alarms, hits, color=colour, label=f"{label(detection.model)}: {area:.3f}")
    axis.plot([0, 1], [0, 1], color="#bbbbbb", lw=1, ls="--")
    axis.set_aspect("equal")
    axis.set_xlabel("share of test rows flagged")
    axis.set_ylabel("share of OOD rows flagged")
    axis.legend(title="AUROC", loc="lower right", alignment="left")
    return figure


@styled
def histograms(found: Sequence[Detection]) -> Figure:
    """Draw the epistemic standard deviation of test rows and OOD rows, one panel per model."""
    figure, axes = plt.subplots(
        1, len(found), figsize=(2.6 * len(found) + 0.6, 2.6), squeeze=False, sharey=True
    )
    for axis, detection in zip(axes.flat, found, strict=True):
        inside, outside = np.sqrt(detection.inside), np.sqrt(detection.outside)
        every = np.concatenate([inside, outside])
        positive = every[every > 0]
        bins = np.geomspace(positive.min(), positive.max(), 31) if len(positive) else 30
        smallest = positive.min() if len(positive) else 1.0
        for values, colour, name in ((inside, BLUE, "test rows"), (outside, ORANGE, "OOD rows")):
            shown = np.maximum(values, smallest)
            weights = np.full(len(values), 1 / len(values))
            axis.hist(shown, bins=bins, weights=weights, alpha=0.6, color=colour, label=name)
        axis.set_xscale("log")
        label_logarithmic(axis.xaxis)
        axis.set_title(label(detection.model))
        axis.set_xlabel("epistemic standard deviation")
    axes[0, 0].set_ylabel("share of rows")
    axes[0, 0].legend(fontsize=8)
    return figure


@styled
def projection(rows: OODSet, detection: Detection) -> Figure:
    """Draw both kinds of rows in the plane of the test rows' two main directions.

    The colour is the epistemic standard deviation, which the score uses.
    """
    plane = PCA(n_components=2, random_state=0).fit(rows.x_in)
    deviations = np.log10(np.sqrt(np.concatenate([detection.inside, detection.outside])) + 1e-12)
    low, high = np.quantile(deviations, [0.02, 0.98])
    pairs = (
        (rows.x_in, detection.inside, "test rows"),
        (rows.x_out, detection.outside, f"OOD rows ({rows.partner})"),
    )
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.5), sharex=True, sharey=True)
    for axis, (x, variance, name) in zip(axes, pairs, strict=True):
        at = plane.transform(x)
        colours = np.log10(np.sqrt(variance) + 1e-12)
        dots = axis.scatter(*at.T, c=colours, s=9, lw=0, cmap=PALE_TO_DARK, vmin=low, vmax=high)
        axis.set_title(name)
        axis.set_xlabel("first direction")
    axes[0].set_ylabel("second direction")
    _zoom(axes[0], plane.transform(np.vstack([rows.x_in, rows.x_out])))
    figure.colorbar(dots, ax=axes, label="log10 epistemic standard deviation")
    return figure


def _zoom(axis: plt.Axes, points: Float[np.ndarray, "n 2"]) -> None:
    """Leave out the outermost hundredth of the points, which would squeeze the others together."""
    low, high = np.quantile(points, [0.005, 0.995], axis=0)
    margin = 0.08 * (high - low)
    axis.set_xlim(low[0] - margin[0], high[0] + margin[0])
    axis.set_ylim(low[1] - margin[1], high[1] + margin[1])
