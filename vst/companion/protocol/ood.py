"""Out-of-distribution sets as in the paper: a data set's test rows against rows of another."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from vst.companion.protocol.prepared import Prepared, require_finite
from vst.companion.protocol.splits import PARTNER_STREAM, generator
from vst.datasets.catalogue import CATALOGUE, describe
from vst.datasets.dataset import Dataset
from vst.datasets.loading import load_dataset
from vst.datasets.places import find
from vst.encoding import TableEncoder
from vst.errors import DataError, MissingDataError
from vst.preprocessing import Standardiser

#: Default sources of OOD rows, best first; those for song come from the CT slices.
PARTNERS = ("song", "song_8k")
PARTNERS_OF_SONG = ("ct_slices", "ctslice_757")


@dataclass(frozen=True, eq=False)
class OODSet:
    """In-distribution and out-of-distribution rows, both as model inputs.

    Attributes
    ----------
    name, partner
        The data set that the model is fitted on, and the one that the OOD rows come from.
    x_in
        The data set's test rows.
    x_out
        Rows of the partner.
    caption
        A sentence that says which rows were used; every table of scores shows it.
    """

    name: str
    partner: str
    x_in: Float[np.ndarray, "n d"]
    x_out: Float[np.ndarray, "m d"]
    caption: str


def ood_set(data: Prepared, *, partner: str | Dataset | None = None, seed: int = 0) -> OODSet:
    """Make the OOD set of a prepared data set.

    The in-distribution rows are the test rows. The OOD rows are as many rows of the partner, drawn
    without replacement, with its first ``d`` features, each standardised separately to zero mean and
    unit variance. A partner with fewer rows contributes all of them, and the caption says so.

    Parameters
    ----------
    partner
        Data set that the OOD rows come from, or its name. By default *song* (*ct_slices* for *song*
        itself), or else the part of it on this machine. Any other must be named.
    seed
        Seed of the draw of the partner's rows.
    """
    if partner is None:
        partner = _default_partner(data)
    other = load_dataset(partner) if isinstance(partner, str) else partner
    if other.name == data.dataset.name:
        raise DataError(f"{other.name} cannot be its own OOD partner: name another data set")
    d, wanted = data.x_test.shape[1], len(data.x_test)
    encoder = TableEncoder.fit(other.X)
    if len(encoder.feature_names) < d:
        raise DataError(
            f"{other.name} has {len(encoder.feature_names)} features and {data.dataset.name} has "
            f"{d}: an OOD partner needs at least as many. {_suggestion(data)}"
        )
    count = min(wanted, other.n)
    rows = np.sort(generator(seed, PARTNER_STREAM).permutation(other.n)[:count])
    raw = encoder.encode(other.X.iloc[rows])[:, :d]
    require_finite(other.name, raw, encoder.feature_names[:d])
    x_out = Standardiser.fit(raw)(raw)
    if data.standardiser.rotation is not None:
        # The model turns its standardised inputs, whatever they are.
        x_out = (x_out @ data.standardiser.rotation).astype(np.float32)
    return OODSet(
        name=data.dataset.name,
        partner=other.name,
        x_in=data.x_test,
        x_out=x_out,
        caption=_caption(data, other, count, d),
    )


def _default_partner(data: Prepared) -> str:
    name = data.dataset.name
    info = CATALOGUE.get(name)
    family = {name, info.part_of if info else None}
    candidates = PARTNERS_OF_SONG if "song" in family else PARTNERS
    for candidate in candidates:
        if find(describe(candidate)) is not None:
            return candidate
    raise MissingDataError(
        f"the OOD rows of {name} come from {candidates[0]}, which is not on this machine: run "
        f"`vst data fetch {candidates[0]}`, or set VST_DATA to a directory that holds it. "
        + _suggestion(data)
    )


def _suggestion(data: Prepared) -> str:
    d = data.x_test.shape[1]
    fitting = [
        info.name
        for info in CATALOGUE.values()
        if info.bundled and info.task == "regression" and info.features >= d
        if info.name != data.dataset.name
    ]
    if not fitting:
        return f"No bundled data set has {d} features."
    return f"Bundled data sets that can be named as partner: {', '.join(fitting)}"


def _caption(data: Prepared, other: Dataset, count: int, d: int) -> str:
    whole = "all" if count == other.n else f"{count} of the {other.n}"
    caption = (
        f"In-distribution: the {len(data.x_test)} test rows of {data.dataset.label}. "
        f"Out-of-distribution: {whole} {'rows' if whole != 'all' else f'{other.n} rows'} of "
        f"{other.label}, first {d} features"
    )
    notes = []
    if count < len(data.x_test):
        notes.append(f"fewer than the test rows, since {other.label} has no more")
    if other.caveat:
        notes.append(f"{other.label} is {other.caveat}")
    if other.name not in PARTNERS[:1] + PARTNERS_OF_SONG[:1]:
        notes.append("not the paper's partner")
    return caption + (f" ({'; '.join(notes)})." if notes else ".")
