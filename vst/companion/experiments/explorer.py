"""Fits behind the soft tree that readers can change: one input, and every choice of four settings."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from vst.arrays import Rows
from vst.soft_trees import SoftTrees, Streams, fit_many

#: The values of each setting that a slider goes through.
DEPTHS, BETAS, RANKS, KL_WEIGHTS = (1, 2, 3), (2.0, 5.0, 15.0), (0, 5), (0.1, 1.0, 5.0)

#: Rows, where they lie, and the noise of their targets.
ROWS, LOW, HIGH, NOISE = 80, -1.2, 1.2, 0.15

#: Gradient steps of each fit; more hardly change the picture.
STEPS = 3000


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A bend, with noise."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(LOW, HIGH, ROWS)).astype(np.float32)
    return x, (np.sin(2.5 * x) + NOISE * rng.normal(size=ROWS)).astype(np.float32)


def fits(steps: int = STEPS) -> dict[str, Any]:
    """The rows, and the posterior for every choice, as lists that JSON can hold.

    A posterior is a list: the mean, the scale, and the columns of the factor, of a tree whose parameters
    are in the order of :class:`vst.SoftTree`.
    """
    x, y = rows()
    found = {}
    for depth, rank in product(DEPTHS, RANKS):
        base = SoftTrees(depth=depth, rank=rank, steps=steps, tol=0.0)
        settings = [
            replace(base, beta=beta, kl_weight=kl) for beta, kl in product(BETAS, KL_WEIGHTS)
        ]
        n = len(settings)
        stack = fit_many(settings, [Streams.of(0)] * n, x[:, None], y, Rows.all(ROWS, n))
        for i, setting in enumerate(settings):
            q = stack.posteriors(i)
            parts = [q.mean[0], q.scale[0], *q.factor[0].T]
            name = f"{depth} {setting.beta:g} {rank} {setting.kl_weight:g}"
            found[name] = [[round(float(v), 3) for v in part] for part in parts]
    choices = {
        "depth": DEPTHS, "beta": [f"{b:g}" for b in BETAS], "rank": RANKS,
        "kl_weight": [f"{k:g}" for k in KL_WEIGHTS],
    }  # fmt: skip
    return {
        "x": [round(float(v), 3) for v in x],
        "y": [round(float(v), 3) for v in y],
        "choices": choices,
        "fits": found,
    }
