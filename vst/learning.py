"""Learning on: the posterior so far becomes the prior of the rows that follow.

Without a memory of past rows, that is Bayes' rule. It is exact for a linear model, but the posterior of
a soft tree is only approximately Gaussian, and after many parts little is left of what the rows said.
So past rows are kept, trained on again, and taken out of the prior: of the information in the
posterior, it keeps the share of the rows that are not in the memory. While the memory holds all rows,
this is training on all rows; later, it is a random sample that more and more stands for the others.

A soft tree that was fitted to few rows has few leaves in use, and training that goes on from there does
not find others. So whenever the rows have doubled, training starts afresh, from a random posterior.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PRNGKeyArray

from vst.arrays import Rows, row_class
from vst.convergence import Fit
from vst.inference import fit
from vst.posterior import LowRankGaussian
from vst.prior import Prior
from vst.soft_trees import SoftTrees

#: Steps of a fresh start, and of an update that goes on from the last posterior, as shares of ``steps``.
AFRESH, UPDATE = 1 / 10, 1 / 100


class Memory(NamedTuple):
    """Past rows: a random sample in which each row had the same chance, or the latest a higher one."""

    x: Float[np.ndarray, "m d"]  #: standardised
    y: Float[np.ndarray, " m"]
    weights: Float[np.ndarray, " m"]
    ranks: Float[np.ndarray, " m"]  #: random; the lowest are kept

    @classmethod
    def empty(cls, d: int) -> "Memory":
        """No rows."""
        none = np.zeros(0)
        return cls(np.zeros((0, d), np.float32), none.astype(np.float32), none, none)

    def aged(self, forgetting: float) -> "Memory":
        """The same rows with less weight, and less chance to stay."""
        return self._replace(
            weights=self.weights * (1 - forgetting), ranks=self.ranks / (1 - forgetting)
        )

    def joined(
        self,
        rng: np.random.Generator,
        x: Float[np.ndarray, "n d"],
        y: Float[np.ndarray, " n"],
        weights: Float[np.ndarray, " n"],
    ) -> "Memory":
        """These rows, then new ones."""
        new = Memory(x, y, weights, rng.exponential(size=len(x)) / weights)
        return Memory(*(np.concatenate(parts) for parts in zip(self, new, strict=True)))

    def sampled(self, size: int) -> "Memory":
        """At most ``size`` of the rows (weighted reservoir sampling; Efraimidis and Spirakis, 2006)."""
        kept = np.sort(np.argsort(self.ranks)[:size])
        return Memory(*(part[kept] for part in self))


class Past(NamedTuple):
    """What is known of the rows so far, besides their posterior."""

    rows: int  #: how many there were
    total: (
        float  #: how many the posterior stands for: the sum of their weights that is not forgotten
    )
    parts: int  #: calls of ``partial_fit``
    basis: float  #: ``total`` when training last started afresh
    since: float  #: sum of the weights of the rows since then
    memory: Memory

    @classmethod
    def of(cls, rows: int, total: float, memory: Memory) -> "Past":
        """After a fit to all rows."""
        return cls(rows, total, 0, total, 0.0, memory)


def learn(
    setting: SoftTrees,
    keys: PRNGKeyArray,
    posteriors: LowRankGaussian,
    past: Past,
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    *,
    memory: int,
    forgetting: float,
    progress: str | None = None,
) -> tuple[Fit, Past]:
    """Update a model with one parameter vector by new rows.

    Parameters
    ----------
    setting
        Its settings.
    keys
        Random keys of the members, the same in every call.
    posteriors, past
        What is known so far: the posteriors of the members, and the rows that they come from.
    x, y, weights
        New rows, standardised, and how many rows each counts as.
    memory
        Past rows to keep.
    forgetting
        Share of what is known that is forgotten before each update.
    progress
        Label of a progress bar; none by default.
    """
    kept, total = past.memory.aged(forgetting), past.total * (1 - forgetting)
    remembered = kept.weights.sum() / total if total else 0.0
    share = (1 - forgetting) * max(1 - remembered, 0.0)
    rows = kept.joined(np.random.default_rng([past.parts, past.rows]), x, y, weights)
    new = float(weights.sum())
    afresh = past.since + new >= past.basis
    result = fit(
        _folded(keys, past.parts),
        setting.program(x.shape[1]),
        setting.hyperparameters(),
        rows.x,
        rows.y,
        _weighted(rows.weights, x.shape[1]).repeat(setting.members),
        steps=max(round(setting.steps * (AFRESH if afresh else UPDATE)), 1),
        tol=setting.tol,
        initial=None if afresh else posteriors,
        prior=Prior.stacked(posteriors, share, setting.prior_scale),
        progress=progress,
    )
    total += new
    basis, since = (total, 0.0) if afresh else (past.basis, past.since + new)
    return result, Past(
        past.rows + len(x), total, past.parts + 1, basis, since, rows.sampled(memory)
    )


def _weighted(weights: Float[np.ndarray, " n"], d: int) -> Rows:
    """All rows, to be drawn by weight, as a list whose length hardly depends on their number.

    So that a stream with weights, such as one that forgets, does not compile again as it grows.
    """
    if (weights == 1).all():
        return Rows.all(len(weights))
    size = row_class(len(weights), d)
    times = np.diff(np.round(np.cumsum(weights) / weights.sum() * size), prepend=0).astype(int)
    drawn = np.repeat(np.arange(len(weights), dtype=np.int32), times)[None]
    totals = np.array([weights.sum()], np.float32)
    return Rows(drawn, np.array([drawn.shape[1]], np.int32), totals)


@jax.jit
def _folded(keys: PRNGKeyArray, part: int) -> PRNGKeyArray:
    """Other random numbers for each part."""
    return jax.vmap(jax.random.fold_in, (0, None))(keys, jnp.asarray(part, jnp.uint32))
