"""Trees for classes: the likelihood, the posterior, the estimators and their distributions."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from models import CLASSIFIERS, name
from scipy.linalg import helmert
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from scipy.stats import multivariate_t
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

from vst import VSTClassifier
from vst.classes import ClassDraws, ClassShape

both = pytest.mark.parametrize("model", CLASSIFIERS, ids=name)


def labelled(rng, n=120, classes=("a", "b", "c")):
    x = rng.normal(size=(n, 2))
    return x, np.array(classes)[(x[:, 0] > 0).astype(int) + (np.abs(x[:, 1]) > 0.8)]


# ---- the model


def by_hand(shape, theta, beta, x):
    """Probabilities of the classes, with loops over trees, leaves and paths."""
    d, leaves = shape.in_features, 2**shape.depth
    nodes, trees = leaves - 1, max(shape.n_trees, 1)
    inputs = np.r_[x, 1.0]
    maps = np.asarray(theta, float)
    gates = maps[: trees * nodes * (d + 1)].reshape(trees, nodes, d + 1)
    rest = maps[trees * nodes * (d + 1) :]
    if shape.leaves == "linear":
        contrasts = rest.reshape(trees, leaves, shape.n_classes - 1, d + 1) @ inputs
    else:
        contrasts = rest.reshape(trees, leaves, shape.n_classes - 1)
    logits = contrasts @ helmert(shape.n_classes)
    total, mixed = np.zeros(shape.n_classes), np.zeros(shape.n_classes)
    for t in range(trees):
        for leaf in range(leaves):
            node, reached = 0, 1.0
            for level in reversed(range(shape.depth)):
                right = (leaf >> level) & 1
                p = expit(beta * gates[t, node] @ inputs)
                reached *= p if right else 1 - p
                node = 2 * node + 1 + right
            total += reached * logits[t, leaf]
            mixed += reached * np.exp(log_softmax(logits[t, leaf]))
    return mixed if not shape.n_trees else np.exp(log_softmax(total / np.sqrt(shape.n_trees)))


@pytest.mark.parametrize("leaves", ["linear", "constant"])
@pytest.mark.parametrize(("depth", "n_trees"), [(0, 0), (2, 0), (2, 1), (3, 4)])
def test_probabilities_are_those_of_loops_over_leaves(rng, leaves, depth, n_trees):
    shape = ClassShape(3, depth, leaves, n_classes=4, n_trees=n_trees)
    theta = rng.normal(size=shape.n_params).astype(np.float32)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    draws = ClassDraws(jnp.asarray(theta)[None], jnp.float32(2.0), shape)
    found = np.exp(draws.log_probs(jnp.asarray(x)))[0]
    np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-5)
    for row in range(5):
        np.testing.assert_allclose(found[:, row], by_hand(shape, theta, 2.0, x[row]), rtol=1e-4)


def test_the_prior_does_not_depend_on_the_order_of_the_classes(rng):
    """Differences of logits have the covariance of independent logits."""
    basis = helmert(5)
    differences = np.eye(5)[1:] - np.eye(5)[0]
    found = differences @ basis.T @ basis @ differences.T
    np.testing.assert_allclose(found, differences @ differences.T, atol=1e-12)


def test_extreme_logits_stay_finite():
    shape = ClassShape(1, 1, "linear", n_classes=3)
    theta = jnp.where(jnp.arange(shape.n_params) % 2, 1e4, -1e4)
    x = jnp.array([[1e3], [-1e3]])
    affine = theta.reshape(shape.n_affine, 2) @ jnp.c_[x, jnp.ones(2)].T

    def likelihood(affine):
        return shape.log_likelihood(
            jnp.float32(5), affine, theta[:0, None], jnp.array([0.0, 2.0])
        ).sum()

    value, slope = jax.value_and_grad(likelihood)(affine)
    assert np.isfinite(value)
    assert np.isfinite(slope).all()


def test_a_single_leaf_is_bayesian_logistic_regression(rng):
    """Against quadrature: two classes depend on the difference of their logits alone."""
    n, scale = 300, 1.5
    x = rng.normal(size=n)
    y = rng.random(n) < expit(1.0 + 1.5 * x)
    model = VSTClassifier(
        depth=0, rank=2, prior_scale=scale, standardise=False, steps=20_000, members=1
    ).fit(x[:, None], y)
    posterior = model.posterior_
    # The contrast of two classes is their difference over sqrt(2), up to its sign.
    contrast = np.diff(helmert(2)).item()
    mean = contrast * np.asarray(posterior.mean)
    deviation = abs(contrast) * np.sqrt(np.diag(np.asarray(posterior.covariance())))

    weight, bias = np.meshgrid(np.linspace(0, 4, 300), np.linspace(-1, 3, 300), indexing="ij")
    z = weight[..., None] * x + bias[..., None]
    log_density = np.where(y, -np.logaddexp(0, -z), -np.logaddexp(0, z)).sum(axis=-1)
    log_density -= (weight**2 + bias**2) / (4 * scale**2)  # a difference has twice the variance
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()
    exact = np.array([(mass * weight).sum(), (mass * bias).sum()])
    spread = np.sqrt(
        [(mass * (v - m) ** 2).sum() for v, m in zip((weight, bias), exact, strict=True)]
    )
    assert (np.abs(mean - exact) / spread).max() < 0.2
    np.testing.assert_allclose(deviation, spread, rtol=0.1)


# ---- the estimators


@both
def test_labels_of_any_kind(model, rng):
    x, letters = labelled(rng)
    numbers = np.unique(letters, return_inverse=True)[1]
    expected = clone(model).fit(x, letters)
    for labels in (numbers, 10 * numbers - 7, numbers.astype(float), pd.Series(letters)):
        fitted = clone(model).fit(x, labels)
        np.testing.assert_array_equal(fitted.classes_, np.unique(labels))
        np.testing.assert_array_equal(fitted.predict_proba(x), expected.predict_proba(x))
    yes = clone(model).fit(x, x[:, 0] > 0)
    assert yes.classes_.tolist() == [False, True]
    assert yes.score(x, x[:, 0] > 0) > 0.9


@both
def test_probabilities_sum_to_one_and_follow_their_classes(model, rng):
    x, y = labelled(rng)
    renamed = np.array([{"a": "z", "b": "b", "c": "a"}[label] for label in y])
    fitted = [clone(model).set_params(steps=3000).fit(x, labels) for labels in (y, renamed)]
    probabilities = [each.predict_proba(x) for each in fitted]
    for each in probabilities:
        np.testing.assert_allclose(each.sum(axis=1), 1, rtol=1e-12)
        assert (each >= 0).all()
    # The same up to the random numbers of training, which belong to the positions of the classes.
    assert np.abs(probabilities[0] - probabilities[1][:, [2, 1, 0]]).mean() < 0.05


@both
def test_it_learns(model):
    x, y = load_iris(return_X_y=True)
    assert cross_val_score(clone(model), x, y, cv=3).mean() > 0.9
    fitted = clone(model).fit(x[::2], y[::2])
    assert log_loss(y[1::2], fitted.predict_proba(x[1::2])) < 0.35


@both
def test_uncertainty_has_two_parts(model, rng):
    x, y = labelled(rng)
    fitted = clone(model).fit(x, y)
    d = fitted.predict_dist(x)
    functions = fitted.sample_functions(x, 400)
    assert functions.shape == (400, len(x), 3)
    np.testing.assert_allclose(functions.mean(axis=0), d.proba, atol=0.08)
    total = -np.sum(d.proba * np.log(d.proba), axis=1)
    np.testing.assert_allclose(d.entropy, total, atol=1e-5)
    assert (d.mutual_information >= 0).all()
    assert (d.aleatoric_entropy <= np.log(3) + 1e-6).all()
    far = fitted.predict_dist(30 * x + 40).mutual_information
    near = d.mutual_information
    assert np.isfinite(far).all()
    assert near.mean() < np.log(3)
    np.testing.assert_allclose(
        d.log_prob(y), np.log(d.proba[np.arange(len(y)), np.searchsorted(fitted.classes_, y)]),
        atol=1e-4,
    )  # fmt: skip
    drawn = d.sample(4000)
    assert np.abs((drawn == "b").mean(axis=0) - d.proba[:, 1]).max() < 0.05


@both
def test_saved_classifiers_predict_the_same(model, rng, tmp_path):
    x, y = labelled(rng)
    frame = pd.DataFrame(
        {"size": x[:, 0], "other": x[:, 1], "kind": np.where(x[:, 0] > 1, "u", "v")}
    )
    frame.loc[3, "size"] = np.nan
    for labels in (y, np.unique(y, return_inverse=True)[1], y == "a"):
        fitted = clone(model).fit(frame, labels)
        fitted.save(tmp_path / "model.vst")
        again = type(model).load(tmp_path / "model.vst")
        np.testing.assert_array_equal(again.classes_, fitted.classes_)
        np.testing.assert_array_equal(again.predict_proba(frame), fitted.predict_proba(frame))
        np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))


@both
def test_rare_classes_and_weights(model, rng):
    x, y = labelled(rng, n=300)
    rare = np.where((y == "c") & (rng.random(300) < 0.9), "b", y)
    fitted = clone(model).fit(x, rare)
    assert fitted.predict_proba(x).shape == (300, 3)
    weights = np.where(rare == "c", 20.0, 1.0)
    heavier = clone(model).fit(x, rare, sample_weight=weights)
    assert heavier.predict_proba(x)[:, 2].mean() > 1.5 * fitted.predict_proba(x)[:, 2].mean()


@both
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            lambda y: np.full(len(y), "a"),
            r"y has one class, a: a classifier needs rows of at",
        ),
        (
            lambda y: np.where(y == "a", None, y),
            r"y has no label \(NaN or None\) in \d+ of 120 rows",
        ),
        (lambda y: np.linspace(0, 1, len(y)), "Unknown label type"),
        (lambda y: y[:-1], "inconsistent numbers of samples"),
    ],
)
def test_bad_labels_are_refused(model, rng, labels, message):
    x, y = labelled(rng)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(x, labels(y))


@both
def test_unknown_classes_have_no_probability(model, rng):
    x, y = labelled(rng)
    d = clone(model).fit(x, y).predict_dist(x)
    with pytest.raises(ValueError, match=r"not in the training rows: \{'d'\}"):
        d.log_prob(np.where(y == "a", "d", y))
    with pytest.raises(ValueError, match="one class per row"):
        d.log_prob(y[:3])


@both
def test_members_keys_and_progress_work_as_in_the_regressors(model, rng, capsys):
    x, y = labelled(rng)
    fitted = clone(model).set_params(members=2, whiten=True, progress=True).fit(x, y)
    assert len(fitted.posteriors_) == 2
    assert type(model).__name__.removesuffix("Classifier") in capsys.readouterr().err
    with pytest.raises(ValueError, match="leaves must be one of"):
        clone(model).set_params(leaves="cubic").fit(x, y)


def test_three_classes_agree_with_the_exact_posterior(rng):
    """Against importance sampling, from a wide Student around the mode of eight parameters."""
    n, d, classes, scale = 150, 3, 3, 1.0
    x = rng.normal(size=(n, d))
    inputs, basis = np.c_[x, np.ones(n)], helmert(classes)
    logits = inputs @ rng.normal(size=(d + 1, classes - 1)) @ basis
    y = np.array([rng.choice(classes, p=p) for p in softmax(logits, axis=1)])
    p = (classes - 1) * (d + 1)
    model = VSTClassifier(
        depth=0, rank=p, prior_scale=scale, standardise=False, steps=20_000, members=1
    ).fit(x, y)

    def log_posterior(thetas):
        outputs = np.einsum("kcj,nj->knc", thetas.reshape(-1, classes - 1, d + 1), inputs)
        own = np.take_along_axis(log_softmax(outputs @ basis, axis=2), y[None, :, None], axis=2)
        return own.sum(axis=(1, 2)) - np.sum(thetas**2, axis=1) / (2 * scale**2)

    mode = minimize(lambda theta: -log_posterior(theta[None])[0], np.zeros(p))
    proposal = multivariate_t(mode.x, 1.3 * mode.hess_inv, df=8, seed=0)
    thetas = proposal.rvs(400_000)
    log_weights = np.concatenate(
        [log_posterior(block) for block in np.split(thetas, 200)]
    ) - proposal.logpdf(thetas)
    weights = softmax(log_weights)
    assert 1 / np.sum(weights**2) > 100_000  # so many independent draws are as good
    mean = weights @ thetas
    spread = np.sqrt(weights @ np.square(thetas - mean))
    posterior = model.posterior_
    assert (np.abs(np.asarray(posterior.mean) - mean) / spread).max() < 0.25
    deviation = np.sqrt(np.diag(np.asarray(posterior.covariance())))
    np.testing.assert_allclose(deviation, spread, rtol=0.12)
