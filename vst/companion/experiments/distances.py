"""How well two distances from the mean separate rows from outside, without any model.

For a locally linear function with independent weights of equal variance, the epistemic variance grows
with the Euclidean distance. If the weights act on whitened features, it grows with the Mahalanobis
distance, which accounts for correlations between features.

``python -m vst.companion.experiments.distances`` stores them for readers without the outside rows.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from vst.companion.experiments import datasets
from vst.companion.experiments.detection import auroc
from vst.companion.experiments.fitting import prepared
from vst.companion.protocol import ood_set
from vst.datasets.places import bundled_directory
from vst.errors import MissingDataError
from vst.preprocessing import Axes

#: Distances by the axes in which they are Euclidean.
DISTANCES: dict[str, Axes] = {"plain": "features", "Mahalanobis": "whitened"}


def place() -> Path:
    """The file of the stored distances."""
    return bundled_directory() / "results" / "distances.csv"


def distances(dataset: str) -> dict[str, float] | None:
    """AUROC of each distance: computed if both kinds of rows are here, otherwise as it was stored."""
    return computed(dataset) or stored().get(dataset)


def computed(dataset: str) -> dict[str, float] | None:
    """AUROC of each distance, or None if some of the rows are not on this machine."""
    if not datasets.is_here(dataset):
        return None
    found = {}
    for name, axes in DISTANCES.items():
        try:
            rows = ood_set(prepared(dataset, axes))
        except MissingDataError:
            return None
        found[name] = auroc(
            *(np.square(x.astype(float)).sum(axis=1) for x in (rows.x_in, rows.x_out))
        )
    return found


def stored() -> dict[str, dict[str, float]]:
    """The stored AUROCs by data set."""
    if not place().exists():
        return {}
    frame = pd.read_csv(place(), index_col="dataset")
    return {str(name): dict(row) for name, row in frame.iterrows()}


def store() -> None:
    """Compute all that can be computed here, and keep the rest."""
    found = {name: distances(name) for name in datasets.papers()}
    rows = [{"dataset": name, **each} for name, each in found.items() if each]
    beside = place().with_suffix(".new")  # a file that is cut off would lose what others computed
    pd.DataFrame(rows, columns=["dataset", *DISTANCES]).to_csv(
        beside, index=False, float_format="%.5f"
    )
    beside.replace(place())


if __name__ == "__main__":
    store()
