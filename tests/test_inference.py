import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.test_util import check_grads

from vst import arrays, inference, minibatches
from vst.arrays import Rows, empty_aligned
from vst.bound import Hyperparameters, Noise, elbo
from vst.convergence import require_convergence
from vst.inference import Program, fit
from vst.memory import require_training
from vst.posterior import LowRankGaussian
from vst.soft_trees import SoftTrees
from vst.tree import SoftTree, TreeShape

SMALL = Program(TreeShape(2, 1), rank=2, batch_size=32)


def data(rng, n=100):
    x = rng.normal(size=(n, 2)).astype(np.float32)
    return x, (np.abs(x[:, 0]) + 0.1 * rng.normal(size=n)).astype(np.float32)


def noise(key, program, rows):
    outputs_key, columns_key = jax.random.split(key)
    size = program.mc_samples, program.shape.n_outputs, rows
    columns = jax.random.normal(columns_key, (program.mc_samples, program.rank))
    return Noise(jax.random.normal(outputs_key, size), columns)


def trained(key, x, y, rows, steps=60, program=SMALL, **options):
    return fit(key, program, Hyperparameters(1e-2), x, y, rows, steps=steps, **options)


def test_elbo_is_expected_log_likelihood_minus_kl(rng, key, float64):
    x, y = (a.astype(float) for a in data(rng, 10))
    program = Program(TreeShape(2, 2, "constant"), rank=1, mc_samples=20_000)
    p = program.shape.n_params
    q = LowRankGaussian(
        jnp.asarray(rng.normal(size=p)),
        jnp.full(p, 0.1),
        jnp.asarray(0.1 * rng.normal(size=(p, 1))),
    )
    hyper = Hyperparameters(prior_scale=0.7, beta=2.0, kl_weight=0.3)
    value = elbo(noise(key, program, 10), q, program.shape, hyper, x, y, n=50)

    covariance = np.asarray(q.covariance())
    thetas = rng.multivariate_normal(q.mean, covariance, 20_000)
    likelihood = jax.vmap(lambda t: SoftTree(program.shape, t, 2.0).log_likelihood(x, y).mean())
    draws = 50 * np.asarray(likelihood(jnp.asarray(thetas)))
    kl = 0.5 * (
        (np.trace(covariance) + q.mean @ q.mean) / 0.7**2
        - p
        + p * np.log(0.7**2)
        - np.linalg.slogdet(covariance)[1]
    )
    tolerance = 5 * np.sqrt(2) * draws.std() / np.sqrt(len(draws))
    np.testing.assert_allclose(value, draws.mean() - 0.3 * kl, atol=tolerance)


@pytest.mark.parametrize("kind", ["leaf", "shared"])
def test_elbo_gradients_agree_with_finite_differences(kind, rng, seed, float64):
    x, y = (jnp.asarray(a, float) for a in data(rng, 8))
    program = Program(TreeShape(2, 2, "linear", kind), rank=3, mc_samples=2)
    p = program.shape.n_params
    q = LowRankGaussian(
        jnp.asarray(rng.normal(size=p)),
        jnp.asarray(rng.uniform(0.1, 0.3, p)),
        jnp.asarray(0.1 * rng.normal(size=(p, 3))),
    )

    @jax.jit
    def bound(q):
        draws = noise(jax.random.key(seed), program, 8)
        return elbo(draws, q, program.shape, Hyperparameters(), x, y, 40)

    check_grads(bound, (q,), order=1, modes=["rev"])


def test_weights_leave_rows_out_of_the_elbo(rng, key):
    x, y = data(rng, 12)
    q = jax.tree.map(lambda a: a[0], trained(key, x, y, Rows.all(12), steps=1).posteriors)
    weights = jnp.asarray([1.0] * 9 + [0.0] * 3)
    draws = noise(jax.random.key(1), SMALL, 12)
    fewer = Noise(draws.outputs[..., :9], draws.columns)
    masked = elbo(draws, q, SMALL.shape, Hyperparameters(), x, y, 9, weights)
    shorter = elbo(fewer, q, SMALL.shape, Hyperparameters(), x[:9], y[:9], 9)
    np.testing.assert_allclose(masked, shorter, rtol=1e-5)


def test_depth_zero_linear_tree_recovers_bayesian_linear_regression(rng, key):
    """At the default settings: one draw, the default learning rate and number of steps."""
    known_noise, prior_scale, n = 0.5, 0.8, 40
    x = rng.normal(size=(n, 2)).astype(np.float32)
    y = (x @ [1.0, -0.5] + 0.3 + known_noise * rng.normal(size=n)).astype(np.float32)
    x1 = np.c_[x, np.ones(n)].astype(float)
    covariance = np.linalg.inv(x1.T @ x1 / known_noise**2 + np.eye(3) / prior_scale**2)
    mean = covariance @ x1.T @ y / known_noise**2

    program = Program(TreeShape(2, 0, "linear", known_noise), rank=3)
    hyper = SoftTrees(prior_scale=prior_scale).hyperparameters()
    steps = SoftTrees().steps
    result = fit(key, program, hyper, x, y, Rows.all(n), steps=steps)
    q = jax.tree.map(lambda a: a[0], result.posteriors)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((q.mean - mean) / spread, 0, atol=0.1)
    error = (q.covariance() - covariance) / np.outer(spread, spread)
    np.testing.assert_allclose(error, 0, atol=0.1)

    # At the optimum the bound is tight: it equals the log evidence.
    marginal = known_noise**2 * np.eye(n) + prior_scale**2 * x1 @ x1.T
    evidence = -0.5 * (
        y @ np.linalg.solve(marginal, y) + np.linalg.slogdet(2 * np.pi * marginal)[1]
    )
    np.testing.assert_allclose(result.elbo[0, -1000:].mean() * n, evidence, atol=0.1)


def test_training_raises_the_elbo(rng, key):
    x, y = data(rng)
    trace = trained(key, x, y, Rows.all(100), steps=1500).elbo[0]
    assert trace[-100:].mean() > trace[:100].mean() + 0.5


def test_same_seed_same_fit_to_the_bit(rng, seed):
    x, y = data(rng)
    first = trained(jax.random.key(seed), x, y, Rows.all(100, 3))
    second = trained(jax.random.key(seed), x, y, Rows.all(100, 3))
    for a, b in zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)
    other = trained(jax.random.key(seed + 1), x, y, Rows.all(100, 3))
    assert not np.array_equal(first.posteriors.mean, other.posteriors.mean)


def test_replicas_start_from_different_values(rng, key):
    x, y = data(rng)
    means = np.asarray(trained(key, x, y, Rows.all(100, 3)).posteriors.mean)
    assert not np.allclose(means[0], means[1])
    assert not np.allclose(means[1], means[2])


def test_a_replica_sees_its_own_rows_only(rng, seed):
    x, y = data(rng)
    subsets = [np.arange(60), np.arange(40, 90)]
    before = trained(jax.random.key(seed), x, y, Rows.of(subsets))
    y_changed = y.copy()
    y_changed[90:] = 1e3
    y_changed[:40] += 1
    after = trained(jax.random.key(seed), x, y_changed, Rows.of(subsets))
    np.testing.assert_array_equal(before.posteriors.mean[1], after.posteriors.mean[1])
    assert not np.array_equal(before.posteriors.mean[0], after.posteriors.mean[0])


def test_padding_rows_do_not_count_in_whole_data_steps(rng, seed):
    x, y = data(rng, 30)
    subsets = [np.arange(30), np.arange(20)]
    padded = trained(jax.random.key(seed), x, y, Rows.of(subsets)).posteriors
    changed = y.copy()
    changed[20:] = 7
    again = trained(jax.random.key(seed), x, changed, Rows.of(subsets)).posteriors
    np.testing.assert_array_equal(padded.mean[1], again.mean[1])


def test_targets_may_differ_between_replicas(rng, seed):
    x, y = data(rng)
    shared = trained(jax.random.key(seed), x, y, Rows.all(100, 2)).posteriors
    own = trained(jax.random.key(seed), x, np.stack([y, -y]), Rows.all(100, 2)).posteriors
    np.testing.assert_allclose(shared.mean[0], own.mean[0], rtol=1e-4, atol=1e-5)
    assert not np.allclose(shared.mean[1], own.mean[1], atol=1e-3)


def test_hyperparameters_may_differ_between_replicas(rng, seed):
    x, y = data(rng)
    rates = np.array([1e-2, 1e-3], np.float32)
    both = fit(
        jax.random.key(seed), SMALL, Hyperparameters(rates), x, y, Rows.all(100, 2), steps=60
    )
    slow = fit(jax.random.key(seed), SMALL, Hyperparameters(1e-3), x, y, Rows.all(100, 2), steps=60)
    np.testing.assert_allclose(
        both.posteriors.mean[1], slow.posteriors.mean[1], rtol=1e-4, atol=1e-5
    )
    assert not np.allclose(both.posteriors.mean[0], slow.posteriors.mean[0], atol=1e-3)


def test_the_number_of_devices_does_not_change_the_fit(rng, seed, monkeypatch):
    x, y = data(rng)
    assert jax.local_device_count() == 2
    divided = trained(jax.random.key(seed), x, y, Rows.all(100, 3))
    monkeypatch.setattr(jax, "local_device_count", lambda: 1)
    alone = trained(jax.random.key(seed), x, y, Rows.all(100, 3))
    np.testing.assert_allclose(divided.posteriors.mean, alone.posteriors.mean, atol=1e-4)


def test_one_compilation_serves_any_steps_seed_and_hyperparameters(rng, compilations):
    x, y = data(rng)
    for seed, steps, rate in [(0, 10, 1e-3), (1, 300, 1e-2), (2, 7, 1e-4)]:
        hyper = Hyperparameters(rate, beta=1.0 + seed, prior_scale=0.5, kl_weight=0.1 * seed)
        fit(jax.random.key(seed), SMALL, hyper, x + seed, y, Rows.all(100), steps=steps)
    assert len(compilations) == 1


def test_one_compilation_serves_any_number_of_rows_and_a_class_of_replicas(rng, compilations):
    x, y = data(rng)
    for n, replicas in [(100, 17), (90, 17), (60, 18), (33, 20)]:
        trained(jax.random.key(0), x[:n], y[:n], Rows.all(n, replicas), steps=5)
    assert len(compilations) == 1
    trained(jax.random.key(0), x, y, Rows.all(100, 2), steps=5)
    assert len(compilations) == 2


def test_padding_of_rows_and_replicas_does_not_change_the_fit(rng, seed, monkeypatch):
    x, y = data(rng)
    keys = jax.random.split(jax.random.key(seed), 9)
    padded = trained(keys, x, y, Rows.all(100, 9))
    monkeypatch.setattr(inference, "row_class", lambda n, d, batch_size=0: n)
    monkeypatch.setattr(inference, "stack_class", lambda n: n)
    exact = trained(jax.random.clone(keys), x, y, Rows.all(100, 9))
    for a, b in zip(padded.posteriors, exact.posteriors, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_warm_start_continues_from_the_given_posterior(rng, key):
    x, y = data(rng)
    first = trained(key, x, y, Rows.all(100), steps=800)
    warm = fit(
        jax.random.key(1), SMALL, Hyperparameters(1e-4), x, y, Rows.all(100), steps=50,
        initial=first.posteriors,
    )  # fmt: skip
    assert warm.elbo[0].mean() > first.elbo[0, -100:].mean() - 0.1


def test_a_diverging_replica_is_reported_and_leaves_the_others_alone(rng, key):
    x, y = data(rng)
    rates = np.array([1e-2, 1e4], np.float32)
    with jax.debug_nans(False):
        result = fit(key, SMALL, Hyperparameters(rates), x, y, Rows.all(100, 2), steps=300)
    assert np.isfinite(result.elbo[0]).all()
    assert not np.isfinite(result.elbo[1]).all()
    with pytest.raises(FloatingPointError, match=r"diverged.*Lower learning_rate"):
        require_convergence(result, 1e4)


@pytest.mark.parametrize(
    ("hyper", "advice"),
    [
        ({"prior_scale": 1e-30}, "Raise prior_scale: 1e-30 is below the usual 0.01 to 100$"),
        ({"prior_scale": 1e39}, r"Lower prior_scale: 1e\+39 is above"),
        ({"beta": 1e39}, r"Lower beta: 1e\+39 is above"),
        ({"learning_rate": 1e30}, r"Lower learning_rate: 1e\+30 is above the usual 1e-05 to 0.1$"),
    ],
)
def test_advice_after_a_divergence_names_what_is_out_of_range(hyper, advice, rng, key):
    x, y = data(rng)
    with jax.debug_nans(False):
        result = fit(key, SMALL, Hyperparameters(**hyper), x, y, Rows.all(100), steps=20)
    with pytest.raises(FloatingPointError, match=advice):
        require_convergence(result)


def test_advice_without_a_suspect_is_general(rng, key):
    x, y = data(rng)
    result = trained(key, x, y, Rows.all(100), steps=5)
    elbo = result.elbo.copy()
    elbo[0, 3:] = np.nan
    with pytest.raises(FloatingPointError, match=r"at step 3. Lower learning_rate \(now 0.01\)"):
        require_convergence(result._replace(elbo=elbo))


@pytest.mark.parametrize(
    ("options", "replicas", "steps", "message"),
    [
        ({"shape": TreeShape(90, 30)}, 1, 5, r"depth=30.* 90 features .*TB.*lower depth"),
        ({"mc_samples": 10**12}, 1, 5, r"mc_samples=1000000000000, .*lower mc_samples"),
        ({"shape": TreeShape(90, 12), "rank": 10**5}, 1, 5, r"lower depth or rank"),
        ({}, 10**8, 5, "training 100000000 models in parallel .*lower members"),
        ({}, 1, 10**12, "lower steps"),
    ],
)
def test_what_cannot_fit_is_refused_before_it_is_tried(options, replicas, steps, message, rng, key):
    x = rng.normal(size=(100, 90)).astype(np.float32)
    program = Program(**{"shape": TreeShape(90, 1)} | options)
    with pytest.raises(MemoryError, match=message):
        fit(
            key, program, Hyperparameters(), x, x[:, 0], Rows.all(100, replicas), steps=steps
        )  # fmt: skip


def test_a_million_rows_and_large_minibatches_of_few_are_not_refused():
    large = {"mc_samples": 1, "replicas": 1, "rows": 10**6, "steps": 6000, "rank": 5}
    require_training(TreeShape(90, 4), batch_size=128, fetched=True, **large)
    require_training(TreeShape(90, 4), batch_size=10**12, **large | {"rows": 1000})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": TreeShape(2, 10**9)}, "which no machine can hold: lower depth"),
        ({"shape": TreeShape(2, 51)}, "which no machine can hold: lower depth"),
    ],
)
def test_programs_too_deep_to_be_counted_are_refused(options, message):
    with pytest.raises(MemoryError, match=message):
        Program(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": -1}, "rank must lie between 0 and 15, this tree"),
        ({"rank": 16}, "rank must lie between 0 and 15, this tree"),
        ({"batch_size": 0}, "integers >= 1"),
        ({"mc_samples": 0}, "integers >= 1"),
    ],
)
def test_bad_programs_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Program(TreeShape(2, 1), **options)


def test_progress_is_shown_on_request(rng, key, capsys):
    x, y = data(rng)
    trained(key, x, y, Rows.all(100))
    assert capsys.readouterr().err == ""
    trained(jax.random.key(1), x, y, Rows.all(100), progress="VST")
    assert "60/60" in capsys.readouterr().err


def test_inputs_are_not_copied(rng, key, monkeypatch):
    """Neither for one device nor for another of the same host. This table needs no padding."""
    x, y = data(rng, arrays.LEAST_ROWS)
    aligned = empty_aligned(x.shape)
    aligned[:] = x
    places = []

    def spy(state, keys, start, stop, total, x, *rest, **options):
        places.extend(shard.data.unsafe_buffer_pointer() for shard in x.addressable_shards)
        return train(state, keys, start, stop, total, x, *rest, **options)

    train = inference._train
    monkeypatch.setattr(inference, "_train", spy)
    trained(key, aligned, y, Rows.all(len(x), 4), steps=1)
    assert set(places) == {aligned.ctypes.data}


class Fetched:
    """Inputs that come in parts only, and tell how many rows were asked for."""

    def __init__(self, x):
        self.x, self.dtype, self.asked = x, x.dtype, []

    def __len__(self):
        return len(self.x)

    def __getitem__(self, rows):
        self.asked.append(len(rows))
        return self.x[rows]


@pytest.mark.parametrize("own_targets", [False, True])
@pytest.mark.parametrize("batch_size", [32, 200], ids=["minibatches", "whole"])
def test_fetching_minibatches_does_not_change_the_fit(batch_size, own_targets, rng, seed):
    """Three replicas on two devices: one place is filled up. 260 steps: the second chunk is short."""
    x, y = data(rng)
    rows = Rows.of([np.arange(100), np.arange(50), np.arange(20, 90)])
    program = Program(SMALL.shape, rank=2, batch_size=batch_size)
    targets = np.stack([y, -y, 2 * y]) if own_targets else y
    table = Fetched(x)
    whole, fetched = (
        trained(jax.random.key(seed), inputs, targets, rows, steps=260, program=program)
        for inputs in (x, table)
    )
    for expected, found in zip(whole.posteriors, fetched.posteriors, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(fetched.elbo, whole.elbo, rtol=1e-4, atol=1e-4)
    assert table.asked == [3 * inference.CHUNK * batch_size] * 2


def test_row_numbers_are_drawn_before_the_devices_are_busy(rng, key, monkeypatch):
    """Behind the training of a chunk, they would wait for it, and so would what they are needed for."""
    events = []

    def spy(name, original):
        def called(*arguments, **options):
            events.append(name)
            return original(*arguments, **options)

        return called

    for module, name in ((minibatches, "row_numbers"), (inference, "_train")):
        monkeypatch.setattr(module, name, spy(name, getattr(module, name)))
    x, y = data(rng)
    trained(key, Fetched(x), y, Rows.all(100), steps=500)
    assert events == ["row_numbers"] * 2 + ["_train", "row_numbers", "_train"]


def test_fetching_compiles_once_for_any_number_of_rows(rng, compilations):
    x, y = data(rng)
    for n in (100, 90, 80):
        trained(jax.random.key(0), Fetched(x[:n]), y[:n], Rows.all(n), steps=10)
    assert len(compilations) == 1


def test_single_precision_stays_single_in_double_precision_mode(rng):
    with jax.enable_x64(True):
        for batch_size in (32, 200):
            program = Program(SMALL.shape, rank=2, batch_size=batch_size)
            result = trained(jax.random.key(0), *data(rng), Rows.all(100), program=program)
            assert {part.dtype for part in result.posteriors} == {np.dtype(np.float32)}


def test_many_columns_on_several_devices_do_not_wait_for_each_other():
    """With LAPACK dividing stacks of matrices over the devices' own threads, this never ended."""
    script = """
import jax, numpy as np, vst
vst.configure(devices=2)
from vst.bound import Hyperparameters
from vst.inference import Program, fit
from vst.arrays import Rows
from vst.tree import TreeShape
x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
program = Program(TreeShape(3, 3, "linear"), rank=60, batch_size=16)
rows = Rows.all(len(x), 10)
done = fit(jax.random.key(0), program, Hyperparameters(), x, x[:, 0], rows, steps=20)
print(np.isfinite(done.elbo).all())
"""
    command = [sys.executable, "-c", script]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.stdout.strip() == "True", result.stderr
