"""Nothing is for a CPU alone: every compiled program lowers for CUDA, without a GPU at hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh

from vst import class_distribution, importances, inference, predictive, stacking
from vst.arrays import Rows
from vst.boosting import EnsembleDraws
from vst.bound import Hyperparameters
from vst.classes import ClassDraws, ClassShape, MixedClassDraws
from vst.convergence import Cooling
from vst.inference import Program
from vst.joint import JointDraws, JointShape
from vst.predictive import TreeDraws, draw_parameters
from vst.prior import Prior
from vst.stacking import STRETCHES, MixedDraws
from vst.tree import TreeShape

TREE, LEARNER = TreeShape(4, 2), TreeShape(4, 2, noise="shared")
JOINT = JointShape.of(TREE, 3, "tree")
CLASSES = [ClassShape(4, 2, "linear", 3), ClassShape(4, 2, "constant", 2, n_trees=3)]
BETA, X, Y = jnp.float32(5), jnp.zeros((32, 4)), jnp.zeros(32)
DRAWS = {
    "tree": TreeDraws(jnp.zeros((8, TREE.n_params)), BETA, TREE),
    "ensemble": EnsembleDraws(jnp.zeros((8, 3, LEARNER.n_params)), jnp.ones(8), BETA, LEARNER),
    "joint": JointDraws(jnp.zeros((8, JOINT.n_params)), BETA, JOINT),
}
DRAWS["mixture"] = MixedDraws(
    (DRAWS["tree"], DRAWS["joint"]), jnp.full((2, len(STRETCHES)), 0.1), jnp.float32(0)
)
ENDS = jnp.array([0.05, 0.05]), jnp.array([1, -1])


def lowers(function, *arguments):
    """Lower a program for CUDA; what cannot be lowered raises."""
    assert jax.export.export(jax.jit(function), platforms=["cuda"])(*arguments).platforms == (
        "cuda",
    )


@pytest.mark.parametrize("draws", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize(
    "program",
    [
        lambda draws: predictive.mean_functions(draws, X),
        lambda draws: predictive._moments(draws, X),
        lambda draws: predictive._log_prob(draws, X, Y),
        lambda draws: predictive._cdf(draws, X, Y),
        lambda draws: stacking._log_probs(jnp.float32(1e-6), draws, X, Y),
        lambda draws: predictive._quantiles(*ENDS, draws, X),
        lambda draws: predictive._sample(
            jnp.arange(8), draws, X, jax.random.split(jax.random.key(0), 32)
        ),
        lambda draws: importances.mean_slopes(draws, jnp.eye(4)),
    ],
    ids=[
        "mean functions",
        "moments",
        "log density",
        "cdf",
        "held-out rows",
        "quantiles",
        "sample",
        "importances",
    ],
)
def test_predictions_lower_for_cuda(program, draws):
    lowers(program, draws)


def class_draws(*shapes):
    drawn = [ClassDraws(jnp.zeros((8, shape.n_params)), BETA, shape) for shape in shapes]
    return drawn[0] if len(drawn) == 1 else MixedClassDraws(tuple(drawn))


@pytest.mark.parametrize("shapes", [CLASSES[:1], CLASSES[1:], [CLASSES[0], CLASSES[0]]])
def test_predictions_of_classes_lower_for_cuda(shapes):
    draws = class_draws(*shapes)
    lowers(lambda draws: importances.mean_slopes(draws, jnp.eye(4)), draws)
    lowers(lambda draws: class_distribution._summary(draws, X), draws)
    lowers(lambda draws: class_distribution._log_prob(draws, X, Y), draws)
    lowers(lambda draws: class_distribution.probabilities(draws, X), draws)


@pytest.mark.parametrize("shape", [TREE, LEARNER, JOINT, *CLASSES])
@pytest.mark.parametrize("rank", [0, 5, 20])
@pytest.mark.parametrize("learned", [False, True], ids=["own prior", "learned prior"])
def test_training_lowers_for_cuda(shape, rank, learned):
    """Few and many columns: they are factorised in different ways."""
    program, replicas, dtype = Program(shape, rank), 2, np.dtype("float32")
    keys = jax.random.split(jax.random.key(0), replicas)
    start = inference.start_state(inference.initialise(keys, program, dtype))
    hyper = jax.tree.map(lambda value: jnp.full(replicas, value, dtype), Hyperparameters())
    rows = jax.tree.map(jnp.asarray, Rows.all(300, replicas))
    mesh = Mesh(np.array(jax.devices()[:1]), ("replica",))

    cooling = jax.tree.map(jnp.asarray, Cooling.at_the_latest(replicas, 1000))
    prior = Prior.stacked(
        inference.initialise(jax.random.split(jax.random.key(2), replicas), program, dtype),
        0.5,
        1.0,
    )
    prior = jax.tree.map(jnp.asarray, prior) if learned else None

    def train(state, keys, cooling, rows, hyper, prior):
        data = jnp.zeros((300, 4)), jnp.zeros(300)
        return inference.train_replicas(
            state, keys, 0, 250, cooling, *data, rows, hyper, prior, program=program, mesh=mesh
        )

    train_keys = jax.random.split(jax.random.key(1), replicas)
    lowers(train, start, train_keys, cooling, rows, hyper, prior)


def test_draws_of_posteriors_lower_for_cuda():
    posteriors = inference.initialise(
        jax.random.split(jax.random.key(0), 2), Program(TREE), np.dtype("float32")
    )
    lowers(
        lambda key, posteriors: draw_parameters(key, posteriors, 8), jax.random.key(1), posteriors
    )


def test_options_of_a_cpus_compiler_are_passed_to_cpus_only(monkeypatch):
    given = {}
    monkeypatch.setattr(jax, "jit", lambda function, **options: given.update(options))
    inference._compiled.__wrapped__("cuda")
    assert given["compiler_options"] is None
    inference._compiled.__wrapped__("cpu")
    assert given["compiler_options"] == inference.WIDE_VECTORS
