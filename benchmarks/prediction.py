"""Prediction speed: the distribution of 10,000 rows from 100 draws, against forward passes."""

import jax
import numpy as np

import vst
from benchmarks.measure import Row, report, timings
from vst.predictive import PredictiveDistribution, TreeDraws
from vst.tree import SoftTree, TreeShape

ROWS, DRAWS, SHAPE = 10_000, 100, TreeShape(13, 4, "linear")


def main() -> None:
    vst.configure()
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, SHAPE.in_features)).astype(np.float32)
    thetas = jax.numpy.asarray(0.3 * rng.normal(size=(DRAWS, SHAPE.n_params)), jax.numpy.float32)
    y = rng.normal(size=ROWS)
    draws = TreeDraws(thetas, jax.numpy.float32(5), SHAPE)

    @jax.jit
    def forward(theta: jax.Array, x: jax.Array) -> jax.Array:
        return SoftTree(SHAPE, theta, 5.0).mean(x)

    separate, on_device = list(thetas), jax.numpy.asarray(x)

    def predicted() -> PredictiveDistribution:
        return PredictiveDistribution(draws, x)

    passes, moments, density, interval = (
        timing.seconds
        for timing in timings(
            lambda: [forward(theta, on_device) for theta in separate],
            lambda: predicted().std,
            lambda: predicted().log_prob(y),
            lambda: predicted().interval(0.9),
        )
    )
    report(
        "prediction",
        [
            Row("100 forward passes on 10,000 rows", passes, "s"),
            Row("mean, std and their parts", moments, "s"),
            Row("log density", density, "s"),
            Row("90 % interval", interval, "s"),
            Row("moments over forward passes", moments / passes, "x", "<=3"),
            Row("log density over forward passes", density / passes, "x", "<=3"),
            Row("90 % interval over log density", interval / density, "x", "<=6"),
        ],
    )


if __name__ == "__main__":
    main()
