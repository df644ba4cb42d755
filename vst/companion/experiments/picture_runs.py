"""What the pictures of uncertainty say, kept as results: one row per statement of the paper."""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import pandas as pd

from vst.companion.experiments import pictures, runner, statements
from vst.companion.experiments.cells import Cell, as_parameters, as_text
from vst.companion.experiments.pictures import PROBLEMS, Settings
from vst.companion.experiments.profiles import Profile
from vst.companion.experiments.provenance import provenance
from vst.companion.experiments.statements import Statement
from vst.companion.experiments.store import Store

EXPERIMENT = "pictures"

COLUMNS = (
    "key", "picture", "statement", "says", "rule", "measured", "holding", "checks", "printed", "verdict",
    "seconds", "parameters", "version", "jax", "device",
)  # fmt: skip


@dataclass(frozen=True)
class Extent:
    """How much to compute: data sets per picture, rows in each, and more rows of the wavelet."""

    rows: int = 250
    repeats: int = 3
    sizes: tuple[int, ...] = (2000, 16000)
    wavelet_beta: float = 10.0
    starts: int = 4


@dataclass(frozen=True)
class Picture:
    """The statements about one picture, as a job for the runner."""

    cell: Cell

    @property
    def file(self) -> str:
        """All pictures go to one file."""
        return "statements"

    @property
    def label(self) -> str:
        """The picture."""
        return self.cell.dataset

    @property
    def size(self) -> int:
        """One unit of the progress bar."""
        return 1

    def compute(self) -> list[dict[str, Any]]:
        """Fit the picture's models and judge what the paper says of them."""
        parameters = as_parameters(self.cell.parameters)
        settings, extent = Settings(**parameters["settings"]), Extent(**parameters["extent"])
        start = time.process_time()
        found = about(self.cell.dataset, settings, extent)
        shared = {
            "key": self.cell.key,
            "picture": self.cell.dataset,
            "seconds": round(time.process_time() - start, 1),
            "parameters": self.cell.parameters,
            **provenance(),
        }
        return [{**shared, "statement": i, **_row(one)} for i, one in enumerate(found)]


def about(picture: str, settings: Settings, extent: Extent) -> list[Statement]:
    """Everything that the paper says of one picture."""
    if picture == "wavelet":
        settings = replace(settings, beta=extent.wavelet_beta, starts=extent.starts)
    n, repeats = extent.rows, extent.repeats
    curve, sampled, measures = pictures.repeat(picture, settings, n=n, repeats=repeats)
    if picture in ("tails", "gap"):
        return statements.about_spread(measures, curve.noise, f"in the {picture}")
    if picture == "step":
        return statements.about_step(measures, curve.noise)
    fewer = replace(settings, functions=min(settings.functions, 10))
    fits = {extent.rows: (curve, sampled), **pictures.by_size("wavelet", extent.sizes, fewer)}
    by_weight = pictures.vary(
        "wavelet",
        "kl_weight",
        [1, 0],
        ["vst", "vsgbm"],
        replace(settings, starts=1),
        n=n,
        repeats=repeats,
    )
    return [
        *statements.about_wavelet(measures, pictures.size_errors(fits)),
        *statements.about_prior(measures, by_weight),
    ]


def jobs(profile: Profile) -> list[Picture]:
    """All pictures, with no more steps and repeats than a profile allows."""
    settings, extent = Settings(), Extent()
    if profile.steps:
        settings = replace(settings, steps=min(settings.steps, profile.steps))
        extent = replace(extent, repeats=1, sizes=(1000,), starts=1)
    text = as_text({"settings": asdict(settings), "extent": asdict(extent)})
    return [Picture(Cell(EXPERIMENT, picture, "all", 0, 0, text)) for picture in PROBLEMS]


def obtain(profile: Profile, *, compute: bool, workers: int | None = None) -> pd.DataFrame:
    """The statements of a profile: those that are stored and, if asked for, the others."""
    store = Store(profile.results(EXPERIMENT), COLUMNS, unique=("key", "statement"))
    wanted = jobs(profile)
    have = set(store.load()["key"])
    left = [job for job in wanted if job.cell.key not in have]
    if compute and left:
        runner.run(left, store, workers=workers)
    rows = store.load()
    return rows[rows["key"].isin({job.cell.key for job in wanted})].reset_index(drop=True)


def _row(one: Statement) -> dict[str, Any]:
    return {
        "says": one.says,
        "rule": one.rule,
        "measured": one.measured,
        "holding": sum(one.checks),
        "checks": len(one.checks),
        "printed": "" if one.printed is None else one.printed,
        "verdict": one.verdict,
    }
