"""When training is done: the rule, the schedule that follows from it, and what to say if it is not.

Training has a constant learning rate until the bound no longer changes, and then cools down: the rate
falls linearly to zero, so that the noise of draws and minibatches dies away.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int
from sklearn.exceptions import ConvergenceWarning

from vst.bound import Hyperparameters
from vst.posterior import LowRankGaussian
from vst.warn import warn

#: Cooling down takes this fraction of all steps.
COOLING = 1 / 3

#: A fit has converged if its bound changed by less than so many tolerances, 0.05 nats by default, before
#: it cooled down. Cooling down brings about as much again.
SLACK = 5

#: Adam moves a log scale by at most the learning rate per step. Before it can have moved this far,
#: the posterior may still be growing, however flat the bound is.
FARTHEST = 20.0

#: Usual ranges of the settings. A setting outside its range is the likely cause of a divergence.
USUAL = {
    "learning_rate": (1e-5, 0.1),
    "prior_scale": (0.01, 100.0),
    "beta": (0.01, 100.0),
    "kl_weight": (0.0, 10.0),
}


class Fit(NamedTuple):
    """The outcome of a training run."""

    posteriors: LowRankGaussian  #: stacked: every field has a leading replica axis
    elbo: Float[
        np.ndarray, "replicas steps"
    ]  #: estimate of the bound at each step, in nats per row
    hyper: Hyperparameters  #: as given
    steps: Int[np.ndarray, " replicas"]  #: when each replica was done
    gain: Float[np.ndarray, " replicas"]  #: :func:`gain` before it cooled down
    converged: Bool[np.ndarray, " replicas"]  #: whether that was less than `SLACK` tolerances


class Cooling(NamedTuple):
    """The steps at which the learning rate of each replica begins to fall, and at which it is zero."""

    start: Any  #: Int[array, " replicas"], of NumPy outside and of JAX inside the training program
    end: Any

    @classmethod
    def at_the_latest(cls, replicas: int, steps: int) -> "Cooling":
        """Train for all steps."""
        end = np.full(replicas, steps, np.int32)
        return cls(end - (COOLING * end).astype(np.int32), end)

    def begin(self, which: Bool[np.ndarray, " replicas"], step: int) -> "Cooling":
        """Let some replicas cool down from this step on."""
        end = np.minimum(self.end, np.int32(round(step / (1 - COOLING))))
        return Cooling(
            np.where(which, np.minimum(self.start, np.int32(step)), self.start),
            np.where(which, end, self.end),
        )

    def rate(self, step: Int[Array, " _"]) -> Float[Array, " _"]:
        """The fraction of one replica's learning rate that is in use at a step."""
        return ((self.end - step) / (self.end - self.start).clip(1)).clip(0, 1)


def gain(trace: Float[np.ndarray, "replicas steps"]) -> Float[np.ndarray, " replicas"]:
    """By how much the bound rose from the second third of the steps to the last, in nats per row.

    The bound approaches its limit ever more slowly, so the windows grow with the number of steps.

    Examples
    --------
    >>> gain(np.array([[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]]))
    array([2.])
    """
    steps = trace.shape[1]
    if steps < 3:
        return np.full(len(trace), np.nan)
    first, second = trace[:, steps // 3 : 2 * steps // 3], trace[:, 2 * steps // 3 :]
    with np.errstate(invalid="ignore"):  # infinite values of a fit that diverged
        return second.mean(axis=1) - first.mean(axis=1)


def may_stop(step: int, learning_rate: Float[np.ndarray, " replicas"]) -> Bool[np.ndarray, " _"]:
    """Whether a flat bound means anything after so many steps."""
    return step * learning_rate >= FARTHEST


def require_convergence(result: Fit, learning_rate: float | None = None) -> None:
    """Raise FloatingPointError, with advice, if a replica's bound or posterior is not finite.

    The result holds its settings; ``learning_rate`` is ignored and kept for older callers.
    """
    finite = np.isfinite(result.elbo)
    # A step's bound is computed before its update, so only the posterior shows the last update.
    whole = [
        np.isfinite(np.asarray(part)).reshape(len(finite), -1).all(axis=1)
        for part in result.posteriors
    ]
    sound = finite.all(axis=1) & np.all(whole, axis=0)
    if not sound.all():
        steps = np.where(finite.all(axis=1), finite.shape[1], np.argmin(finite, axis=1))
        replica = int(np.argmin(np.where(sound, finite.shape[1] + 1, steps)))
        values = {
            name: float(np.broadcast_to(value, len(finite))[replica])
            for name, value in result.hyper._asdict().items()
        }
        raise FloatingPointError(
            f"training diverged: the ELBO became non-finite at step {steps[replica]}. "
            f"{_advice(values)}"
        )


def warn_unless_converged(trees: Sequence[Fit], steps: int, tol: float) -> bool:
    """Whether all fits converged; if not, warn and say what to do."""
    open_ended = [fit for fit in trees if not fit.converged.all()]
    if open_ended and tol > 0:
        gains = [np.max(np.abs(fit.gain[~fit.converged])) for fit in open_ended]
        parts = f" of {len(open_ended)} of {len(trees)} trees" if len(trees) > 1 else ""
        warn(
            f"training stopped after steps={steps} while the bound{parts} was still changing, by "
            f"{max(gains):.2g} nats per row from one third of the steps to the next, more than "
            f"{SLACK} times tol={tol:g}: raise steps for a better fit, or tol to accept this one",
            ConvergenceWarning,
        )
    return not open_ended


def _advice(hyper: dict[str, float]) -> str:
    """What to change after a divergence: settings outside their range, else the common causes."""
    unusual = []
    for name, (least, most) in USUAL.items():
        if not least <= hyper[name] <= most:
            do, side = ("Raise", "below") if hyper[name] < least else ("Lower", "above")
            unusual.append(
                f"{do} {name}: {hyper[name]:g} is {side} the usual {least:g} to {most:g}"
            )
    if unusual:
        return ". ".join(unusual)
    rate = hyper["learning_rate"]
    return f"Lower learning_rate (now {rate:g}), beta or prior_scale, or raise mc_samples"
