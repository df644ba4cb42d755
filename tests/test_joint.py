"""Ensembles with one parameter vector: trained as one, or boosted with a noise tree on top."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from models import JOINT, NOISE_TREE, VSGBM, matrix
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.base import clone

from vst.arrays import Rows
from vst.bound import Hyperparameters, Noise, elbo
from vst.gates import feature_use, gates
from vst.inference import Program, fit
from vst.joint import JointDraws, JointShape, joined, tree_means
from vst.posterior import LowRankGaussian
from vst.soft_trees import SoftTrees, Streams, fit_one
from vst.tree import SoftTree, TreeShape, with_bias

TREE = TreeShape(2, 2)

shapes = pytest.mark.parametrize(
    "shape",
    [
        JointShape.of(replace(TREE, leaves=leaves), trees, noise)
        for leaves in ("constant", "linear")
        for trees in (1, 3)
        for noise in ("constant", "tree")
    ],
    ids=lambda shape: f"{shape.n_trees}-{shape.tree.leaves}-{shape.noise_tree is not None}",
)


def outputs(shape, theta, x):
    """The affine outputs and the constants, which training computes from a parameter vector."""
    cut = shape.n_affine * (shape.in_features + 1)
    return theta[:cut].reshape(shape.n_affine, -1) @ with_bias(x).T, theta[cut:, None]


@pytest.fixture
def rows(key):
    x_key, y_key = jax.random.split(jax.random.clone(key))
    return jax.random.normal(x_key, (7, 2)), jax.random.normal(y_key, (7,))


@shapes
def test_the_likelihood_is_the_noise_around_the_sum_of_the_trees(shape, rows, key):
    x, y = rows
    theta = jax.random.normal(key, (shape.n_params,))
    trees, noise = shape.split(theta)
    beta = jnp.float32(3)
    centre = sum(np.asarray(SoftTree(shape.tree, tree, beta).mean(x)) for tree in trees)
    centre = centre / np.sqrt(shape.n_trees)
    if shape.noise_tree is None:
        expected = norm.logpdf(y, centre, np.log1p(np.exp(noise[0])) + shape.tree.smallest_scale)
    else:
        leaf = SoftTree(shape.noise_tree, noise, beta)(x)
        expected = logsumexp(
            leaf.log_probs + norm.logpdf(y, centre + leaf.means, leaf.scales), axis=0
        )
    found = shape.log_likelihood(beta, *outputs(shape, theta, x), y)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)


@shapes
def test_draws_predict_with_the_likelihood_they_were_trained_with(shape, rows, key):
    x, y = rows
    thetas = jax.random.normal(key, (5, shape.n_params))
    draws = JointDraws(thetas, jnp.float32(3), shape)
    log_weights, means, scales = draws.mixture(x)
    assert log_weights.shape == (5, draws.n_mixed, 7)
    found = logsumexp(log_weights + norm.logpdf(y, means, scales), axis=1)
    expected = [shape.log_likelihood(jnp.float32(3), *outputs(shape, t, x), y) for t in thetas]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
    np.testing.assert_allclose(
        draws.means(x), np.sum(np.exp(log_weights) * means, axis=1), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_folding_a_tree_up_gives_the_sum_over_its_leaves(depth, key):
    shape = TreeShape(2, depth, noise=1.0)
    theta, x = jax.random.normal(key, (shape.n_params,)), jnp.linspace(-2, 2, 12).reshape(6, 2)
    affine, _ = outputs(shape, theta, x)
    logits, leaves = jnp.split(affine, [shape.n_nodes])
    found = tree_means(4 * logits[None], leaves[None])[0]
    np.testing.assert_allclose(found, SoftTree(shape, theta, 4.0).mean(x), rtol=1e-4, atol=1e-5)


def test_one_tree_with_constant_noise_is_a_soft_tree_of_the_same_likelihood(rng):
    """Trained from the same start with the same random numbers, both are the same model."""
    tree = TreeShape(3, 2, noise="shared")
    joint = JointShape.of(tree, 1, "constant")
    assert joint.n_params == tree.n_params
    x, y = (a.astype(np.float32) for a in matrix(rng))
    runs = [
        fit(
            jax.random.key(0), Program(shape, rank=2), Hyperparameters(), x, y, Rows.all(len(y)),
            steps=200,
        )
        for shape in (tree, joint)
    ]  # fmt: skip
    for a, b in zip(runs[0].posteriors, runs[1].posteriors, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=2e-3)
    np.testing.assert_allclose(
        runs[0].elbo[0, -50:].mean(), runs[1].elbo[0, -50:].mean(), atol=1e-3
    )


def test_without_other_trees_a_noise_tree_is_a_vst(rows, key):
    x, y = rows
    vst = TreeShape(2, 2)
    alone = JointShape(replace(vst, noise=1.0), 0, vst)
    theta = jax.random.normal(key, (vst.n_params,))
    assert alone.n_params == vst.n_params
    np.testing.assert_allclose(
        alone.log_likelihood(jnp.float32(2), *outputs(alone, theta, x), y),
        SoftTree(vst, theta, 2.0).log_likelihood(x, y),
        rtol=1e-5,
    )


def test_the_bound_of_an_ensemble_agrees_with_a_dense_computation(rows, key):
    """Parameters drawn from the dense covariance of a tiny ensemble give the same expectation."""
    x, y = rows
    shape = JointShape.of(TreeShape(2, 1), 2, "tree")
    keys = jax.random.split(key, 5)
    p = shape.n_params
    posterior = LowRankGaussian(
        jax.random.normal(keys[0], (p,)),
        0.2 * jnp.exp(0.3 * jax.random.normal(keys[1], (p,))),
        0.1 * jax.random.normal(keys[2], (p, 2)),
    )
    draws = 20_000
    noise = Noise(
        jax.random.normal(keys[3], (draws, shape.n_outputs, len(y))),
        jax.random.normal(keys[4], (draws, 2)),
    )
    hyper = Hyperparameters(beta=jnp.float32(2))
    found = elbo(noise, posterior, shape, hyper, x, y, len(y))
    root = np.linalg.cholesky(np.asarray(posterior.covariance(), float))
    thetas = np.asarray(posterior.mean) + np.random.default_rng(0).normal(size=(draws, p)) @ root.T
    likelihood = jax.vmap(
        lambda theta: jnp.sum(shape.log_likelihood(jnp.float32(2), *outputs(shape, theta, x), y))
    )(jnp.asarray(thetas, jnp.float32))
    kl = 0.5 * (
        np.trace(root @ root.T) + np.sum(np.square(posterior.mean)) - p
        - 2 * np.log(np.diag(root)).sum()
    )  # fmt: skip
    error = 4 * float(jnp.std(likelihood)) / np.sqrt(draws)
    assert float(found) == pytest.approx(float(jnp.mean(likelihood)) - kl, abs=2 * error)


def _gaussian(key, *stack, p):
    mean_key, factor_key = jax.random.split(key)
    return LowRankGaussian(
        jax.random.normal(mean_key, (*stack, p)),
        jnp.ones((*stack, p)),
        jax.random.normal(factor_key, (*stack, p, 2)),
    )


def test_boosted_trees_and_a_noise_tree_become_one_posterior(key):
    """Moments of the joined posterior are those of its parts, in the ensemble's order."""
    for leaves in ("constant", "linear"):
        tree = TreeShape(2, 1, leaves, "shared")
        noise_tree = replace(tree, noise="leaf")

        tree_key, noise_key = jax.random.split(jax.random.clone(key))
        trees = _gaussian(tree_key, 4, 3, p=tree.n_params)
        noise = _gaussian(noise_key, 4, p=noise_tree.n_params)
        shape, whole = joined(tree, trees, noise_tree, noise)
        assert whole.mean.shape == (4, shape.n_params)
        found, found_noise = shape.split(whole.mean)
        np.testing.assert_array_equal(found, trees.mean[..., :-1])
        np.testing.assert_array_equal(found_noise, noise.mean)
        columns = jnp.moveaxis(whole.factor, -1, 1)  # each column is a vector of parameters
        of_trees, of_noise = shape.split(columns)
        expected = np.zeros_like(of_trees)
        for i in range(3):
            expected[:, 2 * i : 2 * i + 2, i] = np.moveaxis(trees.factor[:, i, :-1], -1, 1)
        np.testing.assert_array_equal(of_trees, expected)
        np.testing.assert_array_equal(of_noise[:, 6:], np.moveaxis(noise.factor, -1, 1))
        assert not np.any(of_noise[:, :6])


@pytest.mark.parametrize("model", [JOINT, NOISE_TREE], ids=["joint", "boosting with a noise tree"])
def test_everything_that_a_vsgbm_has_works(model, rng):
    x, y = matrix(rng)
    fitted = clone(model).set_params(members=2).fit(x, y)
    distribution = fitted.predict_dist(x)
    assert np.corrcoef(distribution.mean, y)[0, 1] > 0.9
    lower, upper = distribution.interval(0.9)
    assert ((lower < y) & (y < upper)).mean() > 0.8
    np.testing.assert_allclose(distribution.cdf(distribution.quantile(0.3)), 0.3, atol=1e-4)
    assert distribution.sample(20).shape == (20, len(y))
    functions = fitted.sample_functions(x, 50)
    assert np.corrcoef(functions.mean(axis=0), distribution.mean)[0, 1] > 0.98
    assert len(fitted.posteriors_) == 2
    assert len(gates(fitted, x)) == 2 * fitted.n_trees
    assert feature_use(fitted, x).sum() == pytest.approx(1)


def test_the_two_options_work_separately(rng):
    """A noise that differs between rows is found with either way of training, and only with a tree."""
    x = rng.uniform(-1, 1, (400, 1))
    y = np.where(x[:, 0] > 0, 0.1, 1.0) * rng.normal(size=400)
    for training in ("boosting", "joint"):
        for noise in ("constant", "tree"):
            model = clone(VSGBM).set_params(training=training, noise=noise, steps=1500, tol=0)
            left, right = model.fit(x, y).predict_dist(np.array([[-0.5], [0.5]])).std
            assert (left > 2 * right) == (noise == "tree"), (training, noise, left, right)


def test_a_joint_fit_trains_once_and_boosting_once_per_tree(rng):
    x, y = matrix(rng)
    runs = {"joint": 1, "boosting": 4}
    for training, number in runs.items():
        setting = SoftTrees(depth=1, n_trees=3, training=training, noise="tree", steps=20, tol=0)
        stack = fit_one(setting, Streams.of(0), x.astype(np.float32), y.astype(np.float32))
        assert len(stack.trees) == number
        assert stack.elbo(0).shape == (1, number, 20)


def test_a_refit_without_joint_training_forgets_nothing_and_keeps_nothing(rng):
    x, y = matrix(rng)
    model = clone(VSGBM).set_params(steps=20, tol=0).fit(x, y)
    assert hasattr(model, "noise_scales_")
    model.set_params(training="joint").fit(x, y)
    assert not hasattr(model, "noise_scales_")
    model.predict(x)


@pytest.mark.parametrize(("name", "value"), [("training", "both"), ("noise", "leaf")])
def test_unknown_options_are_refused(name, value, rng):
    x, y = matrix(rng)
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        clone(VSGBM).set_params(**{name: value}).fit(x, y)
