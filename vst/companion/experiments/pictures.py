"""The paper's pictures of uncertainty: four functions of one variable, and draws of their fits.

The paper shows the pictures and prints the errors of two of them, but says neither what the functions
are (beyond "step function" and "Daubechies wavelet") nor how many rows were observed with how much
noise: the problems are those of `vst.companion.protocol.synthetic`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import NamedTuple

import jax
import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from vst.companion.paper import ARTEFACT_BY_ID, printed
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.xbart import XBART
from vst.companion.protocol import synthetic
from vst.companion.protocol.synthetic import Curve
from vst.errors import UserError
from vst.estimators import VSGBMRegressor, VSTRegressor
from vst.preprocessing import location_and_scale


@dataclass(frozen=True)
class Problem:
    """One of the paper's pictures.

    Attributes
    ----------
    name
        What the functions of this module take.
    make
        Draws the data: ``make(n=..., seed=...)``.
    models
        The paper's panels, in order.
    artefact
        The figure in the paper.
    printed_as
        Its name among the printed errors; empty if its caption prints none.
    """

    name: str
    make: Callable[..., Curve]
    models: tuple[str, ...]
    artefact: str
    printed_as: str = ""


def _problem(name: str, make: Callable[..., Curve], artefact: str, printed_as: str = "") -> Problem:
    panels = ARTEFACT_BY_ID[artefact].panels
    return Problem(name, make, tuple(map(str.lower, panels)), artefact, printed_as)


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        _problem("tails", synthetic.tails, "figure-2"),
        _problem("gap", synthetic.gap, "figure-5"),
        _problem("step", synthetic.step, "figure-6", "step-function"),
        _problem("wavelet", synthetic.wavelet, "figure-7", "wavelet"),
    )
}


@dataclass(frozen=True)
class Settings:
    """One setting of each model for all four problems.

    Parameters
    ----------
    functions
        Functions drawn from each model's posterior; SGLB has as many members.
    depth, rank, beta, prior_scale, learning_rate, kl_weight
        Of the soft trees, which have linear leaves. Depth 5 is what the paper calls reasonable.
    steps
        Gradient steps of a VST, and of each tree of a VSGBM.
    n_trees
        Trees of a VSGBM, each of one level fewer than a VST.
    starts
        Fits of a VST from different starting values, of which the one with the highest ELBO is used.
    """

    functions: int = 20
    depth: int = 5
    rank: int = 5
    beta: float = 20.0
    prior_scale: float = 1.0
    learning_rate: float = 1e-2
    kl_weight: float = 1.0
    steps: int = 3000
    n_trees: int = 5
    starts: int = 1


DEFAULTS = Settings()


#: The last steps of training, over which the ELBO's estimates are averaged.
ELBO_STEPS = 500


class Sampled(NamedTuple):
    """Functions that a model drew, on the grid of a curve."""

    model: str
    draws: Float[np.ndarray, "draws m"]
    seconds: float  #: of the fit and of the draws


def sample(model: str, curve: Curve, settings: Settings = DEFAULTS, *, seed: int = 0) -> Sampled:
    """Fit a model to a curve's observations and draw mean functions from its posterior.

    Parameters
    ----------
    model
        ``"vst"``, ``"vsgbm"``, ``"xbart"`` or ``"sglb"``.
    seed
        Of the fit and of the draws.
    """
    if model not in SAMPLERS:
        raise UserError(f"there is no model {model!r} here: the names are {', '.join(SAMPLERS)}")
    if settings.functions < 2:
        raise UserError(f"a spread takes at least two functions to see, got {settings.functions}")
    start = perf_counter()
    draws = SAMPLERS[model](curve, settings, seed)
    return Sampled(model, draws, perf_counter() - start)


def sample_all(
    curve: Curve, models: Sequence[str], settings: Settings = DEFAULTS, *, seed: int = 0
) -> list[Sampled]:
    """The functions of several models, fitted to the same observations."""
    return [sample(model, curve, settings, seed=seed) for model in models]


def _vst(curve: Curve, settings: Settings, seed: int) -> Float[np.ndarray, "draws m"]:
    model = VSTRegressor(
        depth=settings.depth,
        rank=settings.rank,
        beta=settings.beta,
        prior_scale=settings.prior_scale,
        learning_rate=settings.learning_rate,
        kl_weight=settings.kl_weight,
        steps=settings.steps,
        members=settings.starts,
        random_state=seed,
    )
    return _best_start(model, curve).sample_functions(curve.grid, settings.functions, seed)


def _vsgbm(curve: Curve, settings: Settings, seed: int) -> Float[np.ndarray, "draws m"]:
    model = VSGBMRegressor(
        n_trees=settings.n_trees,
        depth=max(settings.depth - 1, 0),
        rank=settings.rank,
        beta=settings.beta,
        prior_scale=settings.prior_scale,
        learning_rate=settings.learning_rate,
        kl_weight=settings.kl_weight,
        steps=settings.steps,
        random_state=seed,
    )
    return model.fit(curve.x, curve.y).sample_functions(curve.grid, settings.functions, seed)


def _best_start(model: VSTRegressor, curve: Curve) -> VSTRegressor:
    """Fit a mixture of posteriors, and keep the one with the highest ELBO."""
    model.fit(curve.x, curve.y)
    best = int(np.argmax(model.elbo_[:, -ELBO_STEPS:].mean(axis=1)))
    model.stacked_posteriors_ = jax.tree.map(
        lambda part: part[best : best + 1], model.stacked_posteriors_
    )
    return model


def _xbart(curve: Curve, settings: Settings, seed: int) -> Float[np.ndarray, "draws m"]:
    return _peer(XBART(draws=settings.functions), curve, seed)


def _sglb(curve: Curve, settings: Settings, seed: int) -> Float[np.ndarray, "draws m"]:
    return _peer(SGLB(members=settings.functions), curve, seed)


def _peer(peer: XBART | SGLB, curve: Curve, seed: int) -> Float[np.ndarray, "draws m"]:
    """Peers take standardised inputs and targets, where the soft trees standardise by themselves."""
    x_mean, x_scale = location_and_scale(curve.x)
    y_mean, y_scale = location_and_scale(curve.y)
    fitted = peer.fit((curve.x - x_mean) / x_scale, (curve.y - y_mean) / y_scale, seed=seed)
    return y_mean + y_scale * fitted.mean_draws((curve.grid - x_mean) / x_scale)


SAMPLERS = {"vst": _vst, "vsgbm": _vsgbm, "xbart": _xbart, "sglb": _sglb}


def rmse(
    curve: Curve, draws: Float[np.ndarray, "draws m"], where: Bool[np.ndarray, " m"] | None = None
) -> float:
    """Root mean square error of the draws' mean against the true function, where there are data.

    Parameters
    ----------
    where
        Points of the grid to look at instead.
    """
    error = draws.mean(axis=0) - curve.truth
    return float(np.sqrt(np.mean(error[curve.inside() if where is None else where] ** 2)))


def flat_rmse(curve: Curve) -> float:
    """The error of a constant at the true function's mean, where there are data: of no fit at all."""
    return float(np.std(curve.truth[curve.inside()]))


def spread(draws: Float[np.ndarray, "draws m"], where: Bool[np.ndarray, " m"]) -> float:
    """Standard deviation over the draws, averaged over points of the grid."""
    return float(np.mean(draws.std(axis=0)[where]))


#: Half the width of the strip around the jump of which the error there is not counted.
STRIP = 0.05


def measure(problem: str, curve: Curve, sampled: Sampled) -> dict[str, float | str]:
    """What the paper's captions speak of, as numbers.

    Returns
    -------
    dict
        ``model``, ``seconds`` and ``rmse``; for the tails and the gap the spread ``inside`` and
        ``outside`` (of the gap: in it), their ``ratio``, and the share of points outside at which the
        functions reach the truth, ``reached``; for the step the error ``away`` from it.
    """
    draws = sampled.draws
    row: dict[str, float | str] = {
        "model": sampled.model,
        "rmse": rmse(curve, draws),
        "seconds": sampled.seconds,
    }
    if problem in ("tails", "gap"):
        elsewhere = curve.between() if problem == "gap" else ~curve.inside()
        inside, outside = spread(draws, curve.inside()), spread(draws, elsewhere)
        reached = (draws.min(axis=0) <= curve.truth) & (curve.truth <= draws.max(axis=0))
        row |= {
            "inside": inside,
            "outside": outside,
            "ratio": outside / inside,
            "reached": float(reached[elsewhere].mean()),
        }
    if problem == "step":
        far = np.abs(curve.grid[:, 0] - 0.5) > STRIP
        row["away"] = rmse(curve, draws, far)
    return row


def repeat(
    problem: str, settings: Settings = DEFAULTS, *, n: int = 250, repeats: int = 1, seed: int = 0
) -> tuple[Curve, list[Sampled], pd.DataFrame]:
    """Fit a picture's models to several data sets.

    Returns
    -------
    curve, sampled
        The first data set and the functions drawn on it, for the picture.
    measures
        `measure` of every data set and model; the column ``seed`` numbers the data sets.
    """
    entry = find(problem)
    if repeats < 1:
        raise UserError(f"repeats must be at least 1, got {repeats}")
    curves = {s: entry.make(n=n, seed=s) for s in range(seed, seed + repeats)}
    fits = {s: sample_all(curve, entry.models, settings, seed=s) for s, curve in curves.items()}
    rows = [
        {"seed": s} | measure(problem, curves[s], one)
        for s, sampled in fits.items()
        for one in sampled
    ]
    return curves[seed], fits[seed], pd.DataFrame(rows)


def by_size(
    problem: str, sizes: Sequence[int], settings: Settings = DEFAULTS, *, seed: int = 0
) -> dict[int, tuple[Curve, list[Sampled]]]:
    """Fit a picture's models to more and more rows."""
    entry = find(problem)
    curves = {n: entry.make(n=n, seed=seed) for n in sorted(sizes)}
    return {
        n: (curve, sample_all(curve, entry.models, settings, seed=seed))
        for n, curve in curves.items()
    }


def size_errors(
    fits: Mapping[int, tuple[Curve, Sequence[Sampled]]],
) -> dict[int, dict[str, float]]:
    """Errors by number of observations, then by model."""
    return {
        n: {one.model: rmse(curve, one.draws) for one in sampled}
        for n, (curve, sampled) in fits.items()
    }


def vary(
    problem: str,
    name: str,
    values: Sequence[float],
    models: Sequence[str],
    settings: Settings = DEFAULTS,
    *,
    n: int = 250,
    repeats: int = 1,
    seed: int = 0,
    known: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Errors of some models as one setting changes, the median over several data sets.

    Parameters
    ----------
    known
        What `repeat` measured on the same data sets with the unchanged settings: for the value that
        they have, nothing is fitted again.

    Returns
    -------
    pandas.DataFrame
        A row per model and a column per value.
    """
    if repeats < 1:
        raise UserError(f"repeats must be at least 1, got {repeats}")
    curves = {s: find(problem).make(n=n, seed=s) for s in range(seed, seed + repeats)}

    def error(model: str, value: float) -> float:
        if known is not None and value == getattr(settings, name):
            return float(known.loc[known["model"] == model, "rmse"].median())
        changed = replace(settings, **{name: value})  # type: ignore[arg-type]
        errors = [rmse(c, sample(model, c, changed, seed=s).draws) for s, c in curves.items()]
        return float(np.median(errors))

    return pd.DataFrame({v: {model: error(model, v) for model in models} for v in values})


def find(problem: str) -> Problem:
    """A problem by its name."""
    if problem not in PROBLEMS:
        raise UserError(f"there is no picture {problem!r}: the names are {', '.join(PROBLEMS)}")
    return PROBLEMS[problem]


def printed_rmse(problem: str) -> dict[str, float]:
    """The errors that the paper prints below a picture's panels, by model; empty if it prints none."""
    frame = printed("figure_rmse")
    rows = frame[frame["figure"] == find(problem).printed_as]
    return dict(zip(rows["model"], rows["rmse"].astype(float), strict=True))
