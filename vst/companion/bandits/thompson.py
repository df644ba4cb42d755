"""Thompson sampling with variational soft trees: all seeds, arms and steps in one compiled program.

The seeds are split over the devices. Each arm has its own posterior. Between two updates the
posteriors do not change, so all decisions in between are made at once, each with its own draw of one
function per arm. An update appends the new rewards to the arms' replay buffers and continues the
training.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vst.arrays import AnyArray, Rows
from vst.bound import Hyperparameters, posterior_of
from vst.companion.bandits.problem import Bandit
from vst.convergence import Cooling
from vst.inference import EACH, SHARED, Program, State, initialise, start_state, train_replica
from vst.minibatches import CHUNK
from vst.soft_trees import SoftTrees
from vst.tree import SoftTree

#: Updates between two returns to Python, which allow an interrupt.
UPDATES_PER_CALL = 20


#: The default tree of an arm.
TREE = SoftTrees(depth=2, learning_rate=1e-2, steps=1000)


@dataclass(frozen=True)
class ThompsonVST:
    """Settings of the agent.

    Parameters
    ----------
    tree
        The variational soft tree of every arm; it trains for ``steps`` after the initial pulls.
    initial_pulls
        Pulls of each arm, in turn, before the first decision.
    update_every
        Decisions between two updates.
    steps_per_update
        Gradient steps of an update.
    """

    together: ClassVar[bool] = True  #: all seeds run in one program

    tree: SoftTrees = TREE
    initial_pulls: int = 10
    update_every: int = 50
    steps_per_update: int = 100

    def __post_init__(self) -> None:
        for name in ("initial_pulls", "update_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be an integer >= 1, got {getattr(self, name)}")
        if not 1 <= self.steps_per_update <= CHUNK:
            raise ValueError(
                f"steps_per_update must lie between 1 and {CHUNK}, got {self.steps_per_update}"
            )


class Memory(NamedTuple):
    """An agent's state: a posterior and a replay buffer for every arm."""

    training: State  #: posteriors and optimiser's state, stacked over arms
    pulled: Int[Array, "arms capacity"]  #: steps at which each arm was pulled, oldest first
    counts: Int[Array, " arms"]  #: number of pulls of each arm


def simulate(
    agent: ThompsonVST, bandits: Sequence[Bandit], seeds: Sequence[int]
) -> Int[np.ndarray, "seeds steps"]:
    """Run the agent on one bandit per seed, and return the arms it pulled.

    Parameters
    ----------
    agent
        Settings.
    bandits
        Runs of one problem.
    seeds
        Seeds of the agent's random numbers in each run.
    """
    hyper = Hyperparameters(*(jnp.full(len(seeds), v) for v in agent.tree.hyperparameters()))
    return simulate_stack(agent, hyper, bandits, seeds)


def simulate_stack(
    agent: ThompsonVST,
    hyper: Hyperparameters,
    bandits: Sequence[Bandit],
    seeds: Sequence[int],
) -> Int[np.ndarray, "seeds steps"]:
    """Like `simulate`, with traced hyperparameters for each run instead of the agent's."""
    first = bandits[0]
    steps, arms, every = first.steps, first.arms, agent.update_every
    warm_up = min(steps, agent.initial_pulls * arms)
    updates = -(-(steps - warm_up) // every)
    padding = ((0, 0), (0, warm_up + updates * every - steps), (0, 0))

    n_devices = min(len(seeds), jax.local_device_count())
    mesh = Mesh(np.array(jax.local_devices()[:n_devices]), ("replica",))
    # Every device gets the same number of seeds: the last seed is repeated as padding.
    fill = np.minimum(np.arange(-(-len(seeds) // n_devices) * n_devices), len(seeds) - 1)

    def each(value: AnyArray) -> Array:
        return jax.device_put(jnp.asarray(value)[fill], NamedSharding(mesh, EACH))

    def stack(values: Sequence[Float[np.ndarray, "steps _"]]) -> Float[Array, "seeds padded _"]:
        return each(np.pad(np.stack(values), padding).astype(np.float32))

    contexts = stack([bandit.contexts for bandit in bandits])
    rewards = stack([bandit.rewards / bandit.reward_scale for bandit in bandits])
    hyper = jax.tree.map(each, hyper)
    keys = _keys(each(np.asarray(seeds, np.uint32)), arms)
    program = agent.tree.program(contexts.shape[-1])
    memory = _begin(keys.start, program, warm_up, contexts.shape[1])
    for start in range(0, agent.tree.steps, CHUNK):
        stop = min(start + CHUNK, agent.tree.steps)
        memory = _prepare(
            memory, keys.prepare, start, stop, agent.tree.steps, contexts, rewards, hyper,
            program=program, mesh=mesh,
        )  # fmt: skip
    actions = [np.broadcast_to(np.arange(warm_up) % arms, (len(seeds), warm_up))]
    for done in range(0, updates, UPDATES_PER_CALL):
        number = min(UPDATES_PER_CALL, updates - done)
        memory, chosen = _play(
            memory, keys.play, warm_up, done, number, contexts, rewards, hyper,
            program=program, mesh=mesh, every=every, training_steps=agent.steps_per_update,
        )  # fmt: skip
        actions.append(np.asarray(chosen)[: len(seeds), : number * every])
    return np.concatenate(actions, axis=1)[:, :steps]


class _Keys(NamedTuple):
    """Random keys for each seed, and two for each of its arms."""

    start: PRNGKeyArray
    prepare: PRNGKeyArray
    play: PRNGKeyArray


@partial(jax.jit, static_argnames="arms")
@partial(jax.vmap, in_axes=(0, None))
def _keys(seed: Int[Array, ""], arms: int) -> _Keys:
    start, prepare, play = jax.random.split(jax.random.key(seed), 3)
    return _Keys(jax.random.split(start, arms), jax.random.split(prepare, arms), play)


@partial(jax.jit, static_argnums=(1, 2, 3))
@partial(jax.vmap, in_axes=(0, None, None, None))
def _begin(keys: PRNGKeyArray, program: Program, warm_up: int, capacity: int) -> Memory:
    """Random posteriors, and the buffers after the initial pulls."""
    arms = len(keys)
    posteriors = initialise(keys, program, np.dtype("float32"))
    arm = jnp.arange(arms, dtype=jnp.int32)
    pulled = arm[:, None] + arms * jnp.arange(capacity, dtype=jnp.int32)
    return Memory(start_state(posteriors), pulled, (warm_up - 1 - arm) // arms + 1)


@partial(jax.jit, static_argnames=("program", "mesh"), donate_argnames="memory")
def _prepare(
    memory: Memory,
    keys: PRNGKeyArray,
    start: int,
    stop: int,
    total: int,
    contexts: Float[Array, "seeds steps d"],
    rewards: Float[Array, "seeds steps arms"],
    hyper: Hyperparameters,
    *,
    program: Program,
    mesh: Mesh,
) -> Memory:
    """Train on the initial pulls."""
    train = jax.shard_map(
        jax.vmap(partial(_train, program), in_axes=(0, 0, None, None, None, 0, 0, 0)),
        mesh=mesh,
        in_specs=(EACH, EACH, SHARED, SHARED, SHARED, EACH, EACH, EACH),
        out_specs=EACH,
        check_vma=False,
    )
    return train(memory, keys, start, stop, total, contexts, rewards, hyper)


@partial(
    jax.jit,
    static_argnames=("program", "mesh", "warm_up", "every", "training_steps"),
    donate_argnames="memory",
)
def _play(
    memory: Memory,
    keys: PRNGKeyArray,
    warm_up: int,
    done: int,
    number: int,
    contexts: Float[Array, "seeds steps d"],
    rewards: Float[Array, "seeds steps arms"],
    hyper: Hyperparameters,
    *,
    program: Program,
    mesh: Mesh,
    every: int,
    training_steps: int,
) -> tuple[Memory, Int[Array, "seeds decisions"]]:
    """Run ``number`` rounds of ``every`` decisions and one update, after ``done`` earlier rounds."""

    def one_seed(
        memory: Memory,
        key: PRNGKeyArray,
        i: Int[Array, ""],
        first: Int[Array, ""],
        x: Float[Array, "steps d"],
        y: Float[Array, "steps arms"],
        hyper: Hyperparameters,
    ) -> tuple[Memory, Int[Array, " every"]]:
        decide_key, train_key = jax.random.split(jax.random.fold_in(key, i))
        now = jax.lax.dynamic_slice_in_dim(x, first, every)
        actions = decide(decide_key, program, memory, hyper.beta, now)
        memory = remember(memory, actions, first)
        steps = training_steps
        keys = jax.random.split(train_key, len(memory.counts))
        return _train(program, memory, keys, 0, steps, steps, x, y, hyper), actions

    def rounds(
        memory: Memory,
        keys: PRNGKeyArray,
        done: int,
        number: int,
        *data: Any,
    ) -> tuple[Memory, Int[Array, "seeds decisions"]]:
        def one_round(
            i: Int[Array, ""], carry: tuple[Memory, Int[Array, "seeds decisions"]]
        ) -> tuple[Memory, Int[Array, "seeds decisions"]]:
            memory, chosen = carry
            play = jax.vmap(one_seed, in_axes=(0, 0, None, None, 0, 0, 0))
            memory, actions = play(memory, keys, i, warm_up + i * every, *data)
            at = (i - done) * every
            return memory, jax.lax.dynamic_update_slice_in_dim(chosen, actions, at, axis=1)

        chosen = jnp.zeros((len(keys), UPDATES_PER_CALL * every), jnp.int32)
        return jax.lax.fori_loop(done, done + number, one_round, (memory, chosen))

    return jax.shard_map(
        rounds,
        mesh=mesh,
        in_specs=(EACH, EACH, SHARED, SHARED, EACH, EACH, EACH),
        out_specs=EACH,
        check_vma=False,
    )(memory, keys, done, number, contexts, rewards, hyper)


def decide(
    key: PRNGKeyArray,
    program: Program,
    memory: Memory,
    beta: float | Float[Array, ""],
    contexts: Float[Array, "n d"],
) -> Int[Array, " n"]:
    """The best arm of each context under its own functions, one drawn from each posterior."""

    def value(theta: Float[Array, " p"], x: Float[Array, " d"]) -> Float[Array, ""]:
        return SoftTree(program.tree, theta, beta).mean(x[None])[0]

    def arm(variational: Float[Array, "2+k p"], key: PRNGKeyArray) -> Float[Array, " n"]:
        thetas = posterior_of(variational).sample(key, len(contexts))
        return jax.vmap(value)(thetas, contexts)

    variational = memory.training.variational
    values = jax.vmap(arm)(variational, jax.random.split(key, len(variational)))
    return jnp.argmax(values, axis=0).astype(jnp.int32)


def remember(memory: Memory, actions: Int[Array, " n"], first: int | Int[Array, ""]) -> Memory:
    """Append the pulls at step ``first`` and later to the arms' buffers."""
    arms = len(memory.counts)
    pulls = (actions[:, None] == jnp.arange(arms)).astype(jnp.int32)
    earlier = jnp.cumsum(pulls, axis=0) - pulls
    place = (memory.counts + earlier)[jnp.arange(len(actions)), actions]
    step = jnp.asarray(first, jnp.int32) + jnp.arange(len(actions), dtype=jnp.int32)
    pulled = memory.pulled.at[actions, place].set(step)
    return memory._replace(pulled=pulled, counts=memory.counts + jnp.sum(pulls, axis=0))


def _train(
    program: Program,
    memory: Memory,
    keys: PRNGKeyArray,
    start: int,
    stop: int,
    total: int,
    contexts: Float[Array, "steps d"],
    rewards: Float[Array, "steps arms"],
    hyper: Hyperparameters,
) -> Memory:
    """Continue the training of every arm's posterior on its buffer."""
    rows = Rows(memory.pulled, memory.counts)
    train = jax.vmap(
        partial(train_replica, program), in_axes=(0, 0, None, None, None, None, 1, 0, None)
    )
    # The rate falls over the second half: new rewards move the posterior, and its noise dies away.
    cooling = Cooling(jnp.asarray(total // 2), jnp.asarray(total))
    training, _ = train(memory.training, keys, start, stop, cooling, contexts, rewards, rows, hyper)
    return memory._replace(training=training)
