"""Memory, estimated before it is asked for: a sentence beats a process that the system kills.

The estimates are low ones, of the large arrays alone: what is refused could not have worked. Sizes are
Python integers, and nothing is allocated to find them.
"""

import os
from pathlib import Path

import jax

from vst.errors import UserError
from vst.minibatches import CHUNK, NOISE_BLOCK
from vst.tree import TreeShape

#: Less than this is not worth a look at the machine.
SMALL = 2**28

#: Deeper trees have more leaves than any machine has bytes; their sizes alone take long to compute.
DEEPEST = 50

CONTROL_GROUPS = Path("/sys/fs/cgroup")
LIMIT_FILES = ("memory.max", "memory/memory.limit_in_bytes")

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


class TooLargeError(UserError, MemoryError):
    """What was asked for needs more memory than this process may use."""


def require_memory(needed: int, what: str, advice: str) -> None:
    """Raise TooLargeError if ``needed`` bytes are more than there can be.

    Parameters
    ----------
    needed
        Bytes.
    what, advice
        What they are for, and what the user can do: the start and the end of the sentence.
    """
    if needed < SMALL or jax.default_backend() != "cpu":
        return  # the memory of other devices is theirs to tell
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise TooLargeError(
            f"{what} would need about {in_units(needed)} of memory, and this process may use "
            f"{in_units(limit)}: {advice}"
        )


def memory_limit() -> int | None:
    """Bytes this process may use: the machine's, or its container's; None if that cannot be told."""
    limits = [limit for limit in (_machine(), *_containers()) if limit is not None]
    return min(limits, default=None)


def _machine() -> int | None:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None
    return size if size > 0 else None


def _containers() -> list[int | None]:
    """Limits of the control group that a container is, in both versions of Linux's."""
    return [_number(CONTROL_GROUPS / file) for file in LIMIT_FILES]


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # none, or "max"
        return None


def in_units(size: int) -> str:
    """A size in words.

    Examples
    --------
    >>> in_units(512), in_units(25_200_000_000), in_units(1_520_000_000_000)
    ('512 bytes', '25 GB', '1.5 TB')
    >>> in_units(2**2000)
    'more than 1000 EB'
    """
    power = 0
    while size >= 1000 ** (power + 1):
        power += 1
        if power == len(UNITS):
            return f"more than 1000 {UNITS[-1]}"
    value = size / 1000**power
    return f"{value:.1f} {UNITS[power]}" if power and value < 10 else f"{value:.0f} {UNITS[power]}"


def require_depth(depth: int) -> None:
    """Raise TooLargeError for trees whose size is not even worth computing."""
    if depth > DEEPEST:
        raise TooLargeError(
            f"depth={depth} is a tree of 2**{depth} leaves, more than any memory holds: lower depth"
        )


def require_training(
    shape: TreeShape,
    *,
    rank: int,
    batch_size: int,
    mc_samples: int,
    replicas: int,
    rows: int,
    steps: int,
    n_trees: int = 1,
    width: int = 4,
    fetched: bool = False,
) -> None:
    """Raise TooLargeError if training would not fit.

    ``replicas`` posteriors train side by side; ``width`` is the size of a number in bytes; ``fetched``
    minibatches are kept in memory a chunk of steps at a time.
    """
    require_depth(shape.depth)
    p, batch = shape.n_params, min(batch_size, rows)
    posterior = (2 + rank) * p
    outputs = shape.n_nodes + shape.n_leaf_outputs
    looked_at = (2 * CHUNK if fetched else NOISE_BLOCK) * batch * (shape.in_features + 1)
    # Bytes of one replica, by what to lower.
    parts = {
        # Variational parameters, their gradient and update, and Adam's two moments.
        "depth or rank": 5 * width * posterior,
        "n_trees, depth or rank": (n_trees - 1) * width * posterior,
        "mc_samples or depth": NOISE_BLOCK * mc_samples * width * (p + rank),
        "batch_size": width * looked_at,
        # The gradient keeps several arrays of this size: measured 4 to 6.
        "depth, mc_samples or batch_size": 3 * mc_samples * batch * width * outputs,
        "steps": 8 * steps * n_trees,
        "the number of rows": rows * (4 + (2 * width if n_trees > 1 else 0)),
    }
    lower = max(parts, key=lambda name: parts[name])
    if replicas > 1:
        lower = f"members, {lower}" if " or " in lower else f"members or {lower}"
    models = "training" if replicas == 1 else f"training {replicas} models side by side"
    trees = f"n_trees={n_trees}, " if n_trees > 1 else ""
    require_memory(
        replicas * sum(parts.values()),
        f"{models} with {trees}depth={shape.depth}, rank={rank}, mc_samples={mc_samples}, "
        f"batch_size={batch_size} and steps={steps} on {rows} rows of {shape.in_features} features",
        f"lower {lower}",
    )


def require_draws(n: int, numbers: int, *, width: int = 4) -> None:
    """Raise TooLargeError if ``n`` draws of so many parameters, and a copy, would not fit."""
    require_memory(
        2 * width * n * numbers, f"{n} posterior draws of {numbers} parameters", "draw fewer"
    )


def require_result(n: int, rows: int, *, width: int = 4, components: int = 0) -> None:
    """Raise TooLargeError if ``n`` numbers per row, as they come and in float64, would not fit.

    ``components`` is how many of a mixture each number is drawn from, for one row at a time.
    """
    require_memory(
        n * ((width + 8) * rows + 2 * width * components),
        f"{n} values for each of {rows} rows",
        "ask for fewer at a time, or predict the rows in parts",
    )
