import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import invgamma, kstest

from vst import VSGBMRegressor
from vst.arrays import Rows
from vst.blocks import map_rows
from vst.boosting import _means as tree_means
from vst.boosting import draw_ensemble, draw_noise_variance, fit_ensemble, stack_trees
from vst.bound import Hyperparameters
from vst.inference import Program, fit
from vst.predictive import TreeDraws, draw_parameters, mean_functions
from vst.tree import SoftTree, TreeShape

HYPER = Hyperparameters(learning_rate=1e-2)


def wave(rng, n=200):
    x = rng.uniform(-2, 2, (n, 1)).astype(np.float32)
    return x, (np.sin(3 * x[:, 0]) + 0.05 * rng.normal(size=n)).astype(np.float32)


def boosted(key, x, y, n_trees, replicas=1, depth=1, steps=1200):
    program = Program(TreeShape(1, depth, "constant", "shared"), rank=1, batch_size=64)
    rows = Rows.all(len(x), replicas)
    fits = fit_ensemble(key, program, HYPER, x, y, rows, n_trees=n_trees, steps=steps)
    return program, fits


def test_boosting_lowers_the_training_error_tree_by_tree(rng, key):
    x, y = wave(rng)
    program, fits = boosted(key, x, y, n_trees=3)
    errors = []
    for used in range(1, 4):
        draws = draw_ensemble(
            jax.random.key(used), program.shape, 5.0, stack_trees(fits[:used]), x, y,
            n_draws=50, prior_sigma_alpha=3.0, prior_sigma_beta=1.0,
        )  # fmt: skip
        errors.append(np.mean((map_rows(mean_functions, draws, x).mean(axis=0) - y) ** 2))
    assert (np.diff(errors) < 0).all(), errors
    assert errors[-1] < errors[0] / 2


def test_one_boosted_tree_and_a_vst_agree_on_a_function_both_can_represent(rng, key):
    x = rng.uniform(-2, 2, (300, 1)).astype(np.float32)
    y = (np.where(x[:, 0] > 0, 1.0, -1.0) + 0.1 * rng.normal(size=300)).astype(np.float32)
    program, fits = boosted(key, x, y, n_trees=1, steps=2500)
    gbm = draw_ensemble(
        jax.random.key(1), program.shape, 5.0, stack_trees(fits), x, y,
        n_draws=100, prior_sigma_alpha=3.0, prior_sigma_beta=1.0,
    )  # fmt: skip
    single = Program(TreeShape(1, 1, "constant"), rank=1, batch_size=64)
    result = fit(jax.random.key(2), single, HYPER, x, y, Rows.all(300), steps=2500)
    thetas = draw_parameters(jax.random.key(3), result.posteriors, 100)
    tree = TreeDraws(thetas, jnp.float32(5), single.shape)
    grid = np.linspace(-2, 2, 41, dtype=np.float32)[:, None]
    grid = grid[np.abs(grid[:, 0]) > 0.3]
    means = [map_rows(mean_functions, draws, grid).mean(axis=0) for draws in (gbm, tree)]
    np.testing.assert_allclose(*means, atol=0.1)
    np.testing.assert_allclose(means[0], np.sign(grid[:, 0]), atol=0.1)


def test_residuals_are_those_of_a_fresh_draw_of_all_trees_so_far(rng, seed, monkeypatch):
    x, y = wave(rng, 50)
    seen, drawn = [], []

    def recorded_fit(*arguments, **options):
        seen.append(np.asarray(arguments[4]))
        return fit(*arguments, **options)

    def recorded_draw(*arguments):
        drawn.append(np.asarray(tree_means(*arguments)))
        return jnp.asarray(drawn[-1])

    monkeypatch.setattr("vst.boosting.fit", recorded_fit)
    monkeypatch.setattr("vst.boosting._means", recorded_draw)
    program, fits = boosted(jax.random.key(seed), x, y, n_trees=3, replicas=2, steps=300)
    first, again, second = drawn[0], drawn[1], drawn[2]
    np.testing.assert_array_equal(seen[0], np.stack([y, y]))
    np.testing.assert_allclose(seen[1], y - first, atol=1e-6)
    np.testing.assert_allclose(seen[2], y - again - second, atol=1e-6)
    # The first tree was drawn anew for the third, and neither draw is the mean function.
    assert np.abs(first - again).max() > 1e-3
    means = [
        SoftTree(program.shape, theta, 5.0).mean(jnp.asarray(x))
        for theta in fits[0].posteriors.mean
    ]
    assert np.abs(first - np.stack(means)).max() > 1e-3


def test_all_trees_share_one_compilation(rng, key, compilations):
    boosted(key, *wave(rng, 70), n_trees=4, steps=10)
    assert len(compilations) == 1


@pytest.mark.parametrize(
    ("update", "a", "b"), [("paper", 3 + 50, 1.5 + 20), ("conjugate", 3 + 25, 1.5 + 10)]
)
def test_noise_variance_follows_the_stated_inverse_gamma(update, a, b, key):
    draws = draw_noise_variance(key, np.full(5000, 20.0), 50, 3.0, 1.5, update)
    assert kstest(np.asarray(draws), invgamma(a, scale=b).cdf).pvalue > 1e-3


def test_noise_is_drawn_given_the_residual_of_its_own_trees(rng, key):
    x, y = wave(rng, 100)
    program, fits = boosted(key, x, y, n_trees=2, steps=300)
    draws = draw_ensemble(
        jax.random.key(1), program.shape, 5.0, stack_trees(fits), x, y,
        n_draws=4000, prior_sigma_alpha=3.0, prior_sigma_beta=1.0,
    )  # fmt: skip
    residual_sum = np.sum((y - map_rows(mean_functions, draws, x)) ** 2, axis=1)
    variance = np.asarray(draws.noise_scale, float) ** 2
    uniform = invgamma(3 + 100, scale=1 + residual_sum).cdf(variance)
    assert kstest(uniform, "uniform").pvalue > 1e-3


def test_more_trees_than_memory_holds_are_refused(rng):
    x = rng.normal(size=(20, 2))
    with pytest.raises(MemoryError, match=r"n_trees=100000000000, .*lower n_trees"):
        VSGBMRegressor(depth=1, n_trees=10**11, steps=1).fit(x, x[:, 0])
