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


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_turning_inputs_and_weights_changes_neither_likelihood_nor_prior(shape, rng, float64):
    theta, d = rng.normal(size=shape.n_params), shape.in_features
    x, y = jnp.asarray(rng.normal(size=(7, d))), jnp.asarray(rng.normal(size=7))
    rotation = np.linalg.qr(rng.normal(size=(d, d)))[0]
    maps = theta[: shape.n_affine * (d + 1)].reshape(-1, d + 1)
    turned = np.concatenate([np.c_[maps[:, :d] @ rotation, maps[:, d]].ravel(), theta[maps.size :]])
    before, after = (SoftTree(shape, jnp.asarray(each), 2.0) for each in (theta, turned))
    np.testing.assert_allclose(
        after.log_likelihood(x @ rotation, y), before.log_likelihood(x, y), rtol=1e-9
    )
    # The prior is a Normal with one variance: its density depends on the length only.
    assert turned @ turned == pytest.approx(theta @ theta, rel=1e-12)
    if shape.n_affine:
        assert not np.allclose(after.log_likelihood(x, y), before.log_likelihood(x, y))


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


def plain_mixture(logits, means, raw_scales, y):
    """The mixture from its parts, for automatic differentiation."""
    log_probs = leaf_log_probs(logits, len(means).bit_length() - 1)
    scales = jax.nn.softplus(raw_scales) + SMALLEST_SCALE
    return jax.nn.logsumexp(log_probs + jax.scipy.stats.norm.logpdf(y, means, scales), axis=0)


def mixture_case(rng, depth, size, far, n=9):
    """Logits up to ``size`` on either side, the largest included, and targets up to ``far`` away."""
    logits = rng.uniform(-size, size, (2**depth - 1, n))
    logits[:, 0], logits[:, 1], logits[:, 2] = size, -size, 0
    means, raw_scales = rng.normal(size=(2**depth, n)), rng.uniform(-4, 4, (2**depth, n))
    return logits, means, raw_scales, far * rng.normal(size=n)


mixture_cases = pytest.mark.parametrize(
    ("depth", "size", "far"),
    [(0, 1, 1), (1, 80, 1), (3, 1, 1), (4, 80, 1), (4, 5, 1e3), (4, 80, 1e3), (6, 10, 10)],
)


def mixture_gradients(case, weights):
    """Values and gradients of the package's mixture and of the plain one."""

    def total(function, arguments):
        values = function(*arguments)
        return jnp.sum(weights * values), values

    functions = (lambda *a: soft.mixture_log_prob(*a, SMALLEST_SCALE), plain_mixture)
    for function in functions:
        compiled = jax.jit(jax.value_and_grad(partial(total, function), has_aux=True))
        (_, values), gradients = compiled(case)
        yield values, gradients


@mixture_cases
def test_the_mixtures_own_gradient_is_the_automatic_one(depth, size, far, rng, float64):
    """For logits, means, raw scales and targets; rows may have different weights."""
    case = tuple(jnp.asarray(a) for a in mixture_case(rng, depth, size, far))
    weights = jnp.asarray(rng.uniform(0, 2, 9)).at[3].set(0)
    (value, found), (plain, expected) = mixture_gradients(case, weights)
    np.testing.assert_allclose(value, plain, rtol=1e-12, atol=1e-12)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13 * max(far, 1))


@mixture_cases
def test_the_mixture_is_exact_in_single_precision(depth, size, far, rng, float64):
    """Against double precision, where no density or probability underflows."""
    single = [a.astype(np.float32) for a in mixture_case(rng, depth, size, far)]
    exact = tuple(jnp.asarray(a.astype(float)) for a in single)
    (value, found), _ = mixture_gradients(tuple(map(jnp.asarray, single)), jnp.ones(9, jnp.float32))
    _, (plain, expected) = mixture_gradients(exact, jnp.ones(9))
    assert value.dtype == found[0].dtype == jnp.float32
    np.testing.assert_allclose(value, plain, rtol=3e-6, atol=3e-6)
    if far <= 10:  # the shares of leaves are as exact as differences of exponents of this size
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5 * np.abs(b).max(initial=1))
    assert all(np.isfinite(a).all() for a in found)


def test_the_gradient_for_beta_is_that_of_the_plain_mixture(rng, float64):
    shape = TreeShape(3, 3)
    affine = jnp.asarray(rng.normal(size=(shape.n_affine, 5)))
    y = jnp.asarray(rng.normal(size=5))
    constants = jnp.zeros((0, 1))
    logits, means, raw_scales = soft.split_outputs(shape, affine, constants)

    @jax.jit
    @jax.grad
    def found(beta):
        return shape.log_likelihood(beta, affine, constants, y).sum()

    @jax.jit
    @jax.grad
    def expected(beta):
        return plain_mixture(beta * logits, means, raw_scales, y).sum()

    np.testing.assert_allclose(found(2.0), expected(2.0), rtol=1e-10)


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
