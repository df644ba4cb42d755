"""Thompson sampling with variational soft trees: all seeds and arms in compiled programs.

The seeds are split over the devices. Each arm has its own posterior, of a tree or of an ensemble that
is trained as one. Between two updates the posteriors do not change, so all decisions in between are
made at once, each with its own draw of one function per arm. An update appends the new rewards to the
arms' buffers and goes on training on them; whenever the decisions have doubled, training starts
afresh, since a tree that was fitted to few rewards does not find more leaves later.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jaxtyping import Array, Float, Int, PRNGKeyArray

from vst.arrays import AnyArray, Rows
from vst.bound import Hyperparameters, posterior_of
from vst.companion.bandits.problem import Bandit
from vst.companion.bandits.schedule import update_times
from vst.convergence import Cooling
from vst.inference import EACH, SHARED, Program, State, initialise, start_state, train_replica
from vst.minibatches import CHUNK
from vst.soft_trees import SoftTrees, draws_of

#: Decisions that are made at once.
BLOCK = 64

#: The default model of an arm.
TREE = SoftTrees(depth=2, learning_rate=1e-2, steps=1000)


@dataclass(frozen=True)
class ThompsonVST:
    """Settings of the agent.

    Parameters
    ----------
    tree
        The model of every arm; it trains for ``steps`` when it starts afresh.
    initial_pulls
        Pulls of each arm, in turn, before the first decision.
    update_every
        Minimum number of decisions between two updates.
    growth
        An update waits until the decisions since the last one are this share of all earlier ones.
    steps_per_update
        Gradient steps of an update that goes on from the last posterior.
    """

    together: ClassVar[bool] = True  #: all seeds run in one program

    tree: SoftTrees = TREE
    initial_pulls: int = 10
    update_every: int = 50
    growth: float = 0.05
    steps_per_update: int = 100

    def __post_init__(self) -> None:
        for name in ("initial_pulls", "update_every", "steps_per_update"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be an integer >= 1, got {getattr(self, name)}")


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
    steps, arms = bandits[0].steps, bandits[0].arms
    warm_up = min(steps, agent.initial_pulls * arms)
    times = update_times(warm_up, steps, every=agent.update_every, growth=agent.growth)

    n_devices = min(len(seeds), jax.local_device_count())
    mesh = Mesh(np.array(jax.local_devices()[:n_devices]), ("replica",))
    # Every device gets the same number of seeds: the last seed is repeated as padding.
    fill = np.minimum(np.arange(-(-len(seeds) // n_devices) * n_devices), len(seeds) - 1)

    def each(value: AnyArray) -> Array:
        return jax.device_put(jnp.asarray(value)[fill], NamedSharding(mesh, EACH))

    def stack(values: Sequence[Float[np.ndarray, "steps _"]]) -> Float[Array, "seeds padded _"]:
        # The last block of decisions must not run over the end.
        return each(np.pad(np.stack(values), ((0, 0), (0, BLOCK), (0, 0))).astype(np.float32))

    contexts = stack([bandit.contexts for bandit in bandits])
    rewards = stack([bandit.rewards / bandit.reward_scale for bandit in bandits])
    hyper = jax.tree.map(each, hyper)
    keys = each(np.asarray(seeds, np.uint32))
    program = agent.tree.program(contexts.shape[-1])
    memory = _begin(keys, program, arms, warm_up, contexts.shape[1])
    actions = [np.broadcast_to(np.arange(warm_up) % arms, (len(seeds), warm_up))]
    doubled = 0
    for number, (start, stop) in enumerate(pairwise([*times, steps])):
        afresh = start >= doubled
        if afresh:
            memory, doubled = _restart(memory, keys, number, program), 2 * start
        total = agent.tree.steps if afresh else agent.steps_per_update
        for begin in range(0, total, CHUNK):
            memory = _train(
                memory, keys, number, begin, min(begin + CHUNK, total), total, contexts, rewards,
                hyper, program=program, mesh=mesh,
            )  # fmt: skip
        memory, chosen = _decide(
            memory, keys, number, start, stop, contexts, hyper, program=program
        )
        actions.append(np.asarray(chosen)[: len(seeds), start:stop])
    return np.concatenate(actions, axis=1)


#: What random numbers are for.
START, TRAIN, DECIDE = range(3)


def _arm_keys(seed: Int[Array, ""], purpose: int, number: int, arms: int) -> PRNGKeyArray:
    """Random keys of the arms of a seed, for one purpose and one update."""
    key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), purpose), number)
    return jax.random.split(key, arms)


@partial(jax.jit, static_argnums=(1, 2, 3, 4))
@partial(jax.vmap, in_axes=(0, None, None, None, None))
def _begin(
    seed: Int[Array, ""], program: Program, arms: int, warm_up: int, capacity: int
) -> Memory:
    """Random posteriors, and the buffers after the initial pulls."""
    posteriors = initialise(_arm_keys(seed, START, 0, arms), program, np.dtype("float32"))
    arm = jnp.arange(arms, dtype=jnp.int32)
    pulled = arm[:, None] + arms * jnp.arange(capacity, dtype=jnp.int32)
    return Memory(start_state(posteriors), pulled, (warm_up - 1 - arm) // arms + 1)


@partial(jax.jit, static_argnames="program", donate_argnames="memory")
@partial(jax.vmap, in_axes=(0, 0, None, None))
def _restart(memory: Memory, seed: Int[Array, ""], number: int, program: Program) -> Memory:
    """The same buffers with random posteriors."""
    keys = _arm_keys(seed, START, number, len(memory.counts))
    posteriors = initialise(keys, program, np.dtype("float32"))
    return memory._replace(training=start_state(posteriors))


@partial(jax.jit, static_argnames=("program", "mesh"), donate_argnames="memory")
def _train(
    memory: Memory,
    seeds: Int[Array, " seeds"],
    number: int,
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
    """Train every arm's posterior on its buffer, from step ``start`` to ``stop`` of ``total``."""
    # The rate falls over the second half: new rewards move the posterior, and its noise dies away.
    cooling = Cooling(jnp.asarray(total // 2), jnp.asarray(total))

    def one_seed(
        memory: Memory,
        seed: Int[Array, ""],
        number: int,
        span: tuple[int, int],
        cooling: Cooling,
        x: Float[Array, "steps d"],
        y: Float[Array, "steps arms"],
        hyper: Hyperparameters,
    ) -> Memory:
        keys = _arm_keys(seed, TRAIN, number, len(memory.counts))
        rows = Rows(memory.pulled, memory.counts)
        train = jax.vmap(
            partial(train_replica, program), in_axes=(0, 0, None, None, None, None, 1, 0, None)
        )
        state, _ = train(memory.training, keys, *span, cooling, x, y, rows, hyper)
        return memory._replace(training=state)

    run = jax.shard_map(
        jax.vmap(one_seed, in_axes=(0, 0, None, None, None, 0, 0, 0)),
        mesh=mesh,
        in_specs=(EACH, EACH, SHARED, SHARED, SHARED, EACH, EACH, EACH),
        out_specs=EACH,
        check_vma=False,
    )
    return run(memory, seeds, number, (start, stop), cooling, contexts, rewards, hyper)


@partial(jax.jit, static_argnames="program", donate_argnames="memory")
def _decide(
    memory: Memory,
    seeds: Int[Array, " seeds"],
    number: int,
    start: int,
    stop: int,
    contexts: Float[Array, "seeds steps d"],
    hyper: Hyperparameters,
    *,
    program: Program,
) -> tuple[Memory, Int[Array, "seeds steps"]]:
    """Decisions from step ``start`` to ``stop``, at their places, and the buffers with them."""

    def one_seed(
        memory: Memory, seed: Int[Array, ""], x: Float[Array, "steps d"], hyper: Hyperparameters
    ) -> tuple[Memory, Int[Array, " steps"]]:
        keys = _arm_keys(seed, DECIDE, number, len(memory.counts))

        def block(i: Int[Array, ""], carry: tuple[Memory, Array]) -> tuple[Memory, Array]:
            memory, chosen = carry
            first = start + i * BLOCK
            now = jax.lax.dynamic_slice_in_dim(x, first, BLOCK)
            own = jax.vmap(jax.random.fold_in, (0, None))(keys, i)
            actions = decide(own, program, memory, hyper.beta, now)
            chosen = jax.lax.dynamic_update_slice_in_dim(chosen, actions, first, axis=0)
            return remember(memory, actions, first, stop), chosen

        blocks = -(-(stop - start) // BLOCK)
        return jax.lax.fori_loop(0, blocks, block, (memory, jnp.zeros(len(x), jnp.int32)))

    return jax.vmap(one_seed)(memory, seeds, contexts, hyper)


def decide(
    keys: PRNGKeyArray,
    program: Program,
    memory: Memory,
    beta: float | Float[Array, ""],
    contexts: Float[Array, "n d"],
) -> Int[Array, " n"]:
    """The best arm of each context under its own functions, one drawn from each posterior."""

    def value(theta: Float[Array, " p"], x: Float[Array, " d"]) -> Float[Array, ""]:
        return draws_of(program.shape, theta[None], beta).means(x[None])[0, 0]

    def arm(variational: Float[Array, "2+k p"], key: PRNGKeyArray) -> Float[Array, " n"]:
        thetas = posterior_of(variational).sample(key, len(contexts))
        return jax.vmap(value)(thetas, contexts)

    values = jax.vmap(arm)(memory.training.variational, keys)
    return jnp.argmax(values, axis=0).astype(jnp.int32)


def remember(
    memory: Memory,
    actions: Int[Array, " n"],
    start: int | Int[Array, ""],
    stop: int | Int[Array, ""],
) -> Memory:
    """Append the pulls from step ``start`` to ``stop`` to the arms' buffers; later ones are padding."""
    arms = len(memory.counts)
    step = jnp.asarray(start, jnp.int32) + jnp.arange(len(actions), dtype=jnp.int32)
    pulls = ((actions[:, None] == jnp.arange(arms)) & (step < stop)[:, None]).astype(jnp.int32)
    earlier = jnp.cumsum(pulls, axis=0) - pulls
    place = (memory.counts + earlier)[jnp.arange(len(actions)), actions]
    # Padding is put after the counted pulls, where the next ones overwrite it.
    pulled = memory.pulled.at[actions, place].set(step)
    return memory._replace(pulled=pulled, counts=memory.counts + jnp.sum(pulls, axis=0))
