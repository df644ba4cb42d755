from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads
from scipy.special import expit
from scipy.stats import norm

from vst import tree as soft
from vst.tree import SMALLEST_SCALE, SoftTree, TreeShape, leaf_log_probs

SHAPES = [
    TreeShape(3, depth, leaves, noise)
    for depth in (0, 1, 3)
    for leaves in ("constant", "linear")
    for noise in ("leaf", "shared", 0.5)
]


def route(logits, node, depth):
    """Leaf probabilities below a node, by plain recursion in float64."""
    if depth == 0:
        return [1.0]
    left, right = expit(-logits[node]), expit(logits[node])
    return [left * p for p in route(logits, 2 * node + 1, depth - 1)] + [
        right * p for p in route(logits, 2 * node + 2, depth - 1)
    ]


@partial(jax.jit, static_argnames="depth")
@jax.grad
def squares_gradient(logits, depth):
    return jnp.sum(jnp.square(leaf_log_probs(logits, depth)))


def softplus(a):
    return np.log1p(np.exp(a)) + SMALLEST_SCALE


def test_softplus_is_exact_to_a_few_units_in_the_last_place():
    z = np.linspace(-80, 80, 100_001).astype(np.float32)
    expected = np.logaddexp(0, z.astype(float))
    np.testing.assert_allclose(soft.softplus(jnp.asarray(z)), expected, rtol=5e-7)
    slopes = jax.vmap(jax.grad(soft.softplus))(jnp.asarray(z))
    np.testing.assert_allclose(slopes, expit(z.astype(float)), rtol=5e-7)


@pytest.mark.parametrize("depth", range(9))
@pytest.mark.parametrize("size", [1, 10, 1e4])
def test_leaf_probabilities_match_plain_recursion(depth, size, rng):
    logits = rng.uniform(-size, size, (2**depth - 1, 5)).astype(np.float32)
    probs = np.exp(leaf_log_probs(jnp.asarray(logits), depth))
    expected = np.array([route(column, 0, depth) for column in logits.T.astype(float)]).T
    np.testing.assert_allclose(probs, expected, rtol=1e-4, atol=1e-7)


@given(
    depth=st.integers(0, 8),
    size=st.sampled_from([1e-3, 1.0, 1e2, 1e4]),
    seed=st.integers(0, 2**31),
)
def test_leaf_probabilities_sum_to_one_and_have_finite_gradients(depth, size, seed):
    rng = np.random.default_rng(seed)
    logits = jnp.asarray(rng.uniform(-size, size, (2**depth - 1, 4)), jnp.float32)
    log_probs = jax.jit(leaf_log_probs, static_argnames="depth")(logits, depth)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=0), 1, rtol=1e-5)
    assert np.isfinite(squares_gradient(logits, depth)).all()


@pytest.mark.parametrize("leaves", ["constant", "linear"])
@pytest.mark.parametrize("depth", [0, 4, 8])
def test_inputs_of_size_ten_thousand_give_finite_likelihoods_and_gradients(depth, leaves, rng):
    shape = TreeShape(4, depth, leaves)
    theta = jnp.asarray(rng.normal(size=shape.n_params), jnp.float32)
    x = jnp.asarray(rng.uniform(-1e4, 1e4, (16, 4)), jnp.float32)
    y = jnp.asarray(rng.normal(size=16), jnp.float32)

    @jax.jit
    @jax.value_and_grad
    def total(theta):
        return SoftTree(shape, theta, 50.0).log_likelihood(x, y).sum()

    value, gradient = total(theta)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


@pytest.mark.parametrize("leaves", ["constant", "linear"])
def test_likelihood_is_the_mixture_over_leaves(leaves, rng, float64):
    shape, beta = TreeShape(3, 2, leaves), 2.5
    theta = rng.normal(size=shape.n_params)
    x, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    x1 = np.c_[x, np.ones(6)]
    gates = theta[: 3 * 4].reshape(3, 4)
    if leaves == "linear":
        outputs = x1 @ theta[3 * 4 :].reshape(8, 4).T
    else:
        outputs = np.tile(theta[3 * 4 :], (6, 1))
    probs = np.array([route(beta * gates @ row, 0, 2) for row in x1])
    density = (probs * norm.pdf(y[:, None], outputs[:, :4], softplus(outputs[:, 4:]))).sum(axis=1)
    tree = SoftTree(shape, jnp.asarray(theta), beta)
    np.testing.assert_allclose(tree.log_likelihood(x, y), np.log(density), rtol=1e-10)
    np.testing.assert_allclose(tree.mean(x), (probs * outputs[:, :4]).sum(axis=1), rtol=1e-10)


def test_likelihood_with_shared_or_known_noise_is_a_normal_around_the_mean(rng, float64):
    x, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    shared, known = TreeShape(3, 2, "linear", "shared"), TreeShape(3, 2, "linear", 0.5)
    theta = rng.normal(size=shared.n_params)
    tree = SoftTree(shared, jnp.asarray(theta))
    expected = norm.logpdf(y, tree.mean(x), softplus(theta[-1]))
    np.testing.assert_allclose(tree.log_likelihood(x, y), expected, rtol=1e-10)
    tree = SoftTree(known, jnp.asarray(theta[:-1]))
    np.testing.assert_allclose(tree.log_likelihood(x, y), norm.logpdf(y, tree.mean(x), 0.5))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_gradients_agree_with_finite_differences(shape, rng, float64):
    x, y = jnp.asarray(rng.normal(size=(4, 3))), jnp.asarray(rng.normal(size=4))
    theta = jnp.asarray(rng.normal(size=shape.n_params))

    @jax.jit
    def total(theta):
        return SoftTree(shape, theta, 2.0).log_likelihood(x, y).sum()

    check_grads(total, (theta,), order=1, modes=["rev"])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_tree_is_a_flax_module_over_one_vector(shape, rng):
    theta = jnp.asarray(rng.normal(size=shape.n_params), jnp.float32)
    tree = SoftTree(shape, theta)
    np.testing.assert_array_equal(tree.to_vector(), theta)
    assert sum(p.size for p in jax.tree.leaves(nnx.state(tree, nnx.Param))) == shape.n_params


def test_parameter_count_of_the_papers_model():
    # 15 gates, 16 means and 16 scales, each with 13 weights and a bias.
    assert TreeShape(13, 4, "linear").n_params == 47 * 14
    assert TreeShape(13, 4, "constant").n_params == 15 * 14 + 32


def test_large_beta_routes_like_a_hard_tree():
    shape = TreeShape(1, 1, "constant", 1.0)
    tree = SoftTree(shape, jnp.array([1.0, 0.0, -7.0, 3.0]), beta=1e4)
    np.testing.assert_allclose(tree.mean(jnp.array([[-0.1], [0.1]])), [-7, 3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((2, -1), "depth must be an integer >= 0"),
        ((2, 1, "quadratic"), "leaves must be"),
        ((2, 1, "linear", "none"), "noise must be"),
        ((2, 1, "linear", 0.0), "noise must be"),
    ],
)
def test_bad_shapes_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        TreeShape(*arguments)


def test_a_vector_of_the_wrong_length_is_refused():
    with pytest.raises(ValueError, match="takes 14 parameters"):
        SoftTree(TreeShape(1, 2, "constant"), jnp.zeros(3))
