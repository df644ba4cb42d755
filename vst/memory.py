"""Memory checks: a clear error before allocation, instead of a process killed by the system.

The estimates count only the large arrays, so they are low: a refused request could not have worked.
Sizes are Python integers; computing them allocates nothing.
"""

import os
from pathlib import Path

import jax

from vst.bound import Shape
from vst.errors import UserError
from vst.minibatches import CHUNK, NOISE_BLOCK

#: Requests for fewer bytes than this are not checked.
SMALL = 2**28

#: Deeper trees have more leaves than any machine has bytes, and even their sizes take long to compute.
DEEPEST = 50

CONTROL_GROUPS = Path("/sys/fs/cgroup")
LIMIT_FILES = ("memory.max", "memory/memory.limit_in_bytes")

UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")


class TooLargeError(UserError, MemoryError):
    """A request needs more memory than this process may use."""


def require_memory(needed: int, what: str, advice: str) -> None:
    """Raise TooLargeError if ``needed`` bytes are more than this process may use.

    Parameters
    ----------
    needed
        Bytes.
    what, advice
        The start and end of the message: what needs the memory, and what the user can do.
    """
    if needed < SMALL or jax.default_backend() != "cpu":
        return  # other devices report their own memory errors
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise TooLargeError(
            f"{what} would need about {in_units(needed)} of memory, but this process may use "
            f"{in_units(limit)}: {advice}"
        )


def memory_limit() -> int | None:
    """Bytes this process may use, given the machine and its container; None if unknown."""
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
    """A size with its unit.

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
    """Raise TooLargeError for a tree that is too deep for any machine."""
    if depth > DEEPEST:
        raise TooLargeError(
            f"depth={depth} means 2**{depth} leaves, which no machine can hold: lower depth"
        )


def require_training(
    shape: Shape,
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
    # Bytes per replica; each key names the parameters to lower.
    parts = {
        # Variational parameters, their gradient and update, and Adam's two moments.
        "depth or rank": 5 * width * posterior,
        "n_trees, depth or rank": (n_trees - 1) * width * posterior,
        "mc_samples or depth": NOISE_BLOCK * mc_samples * width * (p + rank),
        "batch_size": width * looked_at,
        # The gradient keeps several arrays of this size; measurements show 4 to 6.
        "depth, mc_samples or batch_size": 3 * mc_samples * batch * width * outputs,
        "steps": 8 * steps * n_trees,
        "the number of rows": rows * (4 + (2 * width if n_trees > 1 else 0)),
    }
    lower = max(parts, key=lambda name: parts[name])
    if replicas > 1:
        lower = f"members, {lower}" if " or " in lower else f"members or {lower}"
    models = "training" if replicas == 1 else f"training {replicas} models in parallel"
    trees = f"n_trees={n_trees}, " if n_trees > 1 else ""
    require_memory(
        replicas * sum(parts.values()),
        f"{models} with {trees}depth={shape.depth}, rank={rank}, mc_samples={mc_samples}, "
        f"batch_size={batch_size} and steps={steps} on {rows} rows of {shape.in_features} features",
        f"lower {lower}",
    )


def require_draws(n: int, numbers: int, *, width: int = 4) -> None:
    """Raise TooLargeError if ``n`` draws of ``numbers`` parameters, and a copy, would not fit."""
    require_memory(
        2 * width * n * numbers, f"{n} posterior draws of {numbers} parameters", "draw fewer"
    )


def require_result(n: int, rows: int, *, width: int = 4, components: int = 0) -> None:
    """Raise TooLargeError if ``n`` numbers per row, as computed and in float64, would not fit.

    ``components`` is the number of mixture components that each number is drawn from.
    """
    require_memory(
        n * ((width + 8) * rows + 2 * width * components),
        f"{n} values for each of {rows} rows",
        "ask for fewer at a time, or predict the rows in parts",
    )
