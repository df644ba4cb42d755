"""The provenance page: what the data are, where they come from, and which are on this machine."""

from collections.abc import Sequence
from math import ceil

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vst.companion.report.style import styled
from vst.companion.report.tables import MarkdownTable
from vst.datasets import CATALOGUE, Dataset, DatasetInfo, load_dataset
from vst.datasets.catalogue import PARTS, WHOLE_SETS
from vst.datasets.places import find


def paper_table() -> MarkdownTable:
    """Rebuild the paper's table of regression data sets, with the numbers of our files."""
    rows = []
    for info in WHOLE_SETS:
        if info.task != "regression" or info.paper is None or info.paper.rows is None:
            continue
        rows.append(
            {
                "data set": info.paper.name,
                "samples, paper": info.paper.rows,
                "samples, file": info.rows,
                "features, paper": info.paper.features,
                "features, file": info.features,
                "agree": "yes" if info.paper.rows == info.rows else f"no: {info.note}",
            }
        )
    return MarkdownTable(pd.DataFrame(rows))


def overview_table() -> MarkdownTable:
    """List every data set, and where it is on this machine."""
    return MarkdownTable(
        pd.DataFrame(
            {
                "name": f"`{info.name}`",
                "what": info.title,
                "task": info.task,
                "rows": info.rows,
                "features": info.features,
                "licence": info.licence,
                "here": _here(info),
            }
            for info in WHOLE_SETS + PARTS
        )
    )


def source_table(infos: Sequence[DatasetInfo] = WHOLE_SETS + PARTS) -> MarkdownTable:
    """Say where each data set comes from, whom to cite, and what was changed."""
    return MarkdownTable(
        pd.DataFrame(
            {
                "name": f"`{info.name}`",
                "source": f"[{info.source}]({info.url})",
                "citation": info.citation,
                "taken from": _origin(info),
                "changed": info.changes,
                "note": info.note,
            }
            for info in infos
        )
    )


def checksum_table() -> MarkdownTable:
    """List the sha256 of every file, if known."""
    return MarkdownTable(
        pd.DataFrame(
            {
                "name": f"`{info.name}`",
                "file": f"`{file.name}`",
                "sha256": f"`{file.sha256}`" if file.sha256 else "not published; shape is checked",
            }
            for info in WHOLE_SETS + PARTS
            for file in info.files
        )
    )


def regression_sets() -> list[Dataset]:
    """Load every regression data set that is on this machine, in the catalogue's order."""
    return [
        load_dataset(info.name)
        for info in CATALOGUE.values()
        if info.task == "regression" and find(info) is not None
    ]


@styled
def target_histograms(datasets: Sequence[Dataset], *, bins: int = 30) -> Figure:
    """Draw the distribution of each data set's target, as small multiples.

    A target with few values, like a score, gets one bar per value.
    """
    columns = min(4, len(datasets))
    rows = ceil(len(datasets) / columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.4 * columns, 1.9 * rows), squeeze=False)
    for axis in axes.flat[len(datasets) :]:
        axis.set_visible(False)
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        y = dataset.y.to_numpy(float)
        axis.hist(y, bins=_edges(y, bins), rwidth=0.9)
        axis.set_title(f"{dataset.label} ({dataset.n:,} rows)")
        axis.set_xlabel(_target_label(dataset))
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
    return figure


def _edges(y: np.ndarray, bins: int) -> np.ndarray:
    values = np.unique(y)
    # If some bars held one value of a grid and others two, the histogram would show a false pattern.
    if len(values) > 2 * bins:
        return np.histogram_bin_edges(y, bins=bins)
    step = np.diff(values).min() if len(values) > 1 else 1.0
    bars = round(np.ptp(values) / step) + 1
    return np.linspace(values[0] - step / 2, values[-1] + step / 2, bars + 1)


def _target_label(dataset: Dataset) -> str:
    info = CATALOGUE.get(dataset.name)
    return info.target_label if info else dataset.targets[0]


def _here(info: DatasetInfo) -> str:
    found = find(info)
    if found is None:
        return "no"
    return "bundled" if found.place == "bundled" else f"in {found.place}"


def _origin(info: DatasetInfo) -> str:
    if info.package is not None:
        return f"{info.package} ({info.package.licence}), `{info.package.member}`"
    return f"<{info.download.url}>" if info.download and info.download.url else "a public copy"
