"""When a refitted agent learns: often at first, then whenever its data have grown enough."""


def update_times(first: int, steps: int, *, every: int, growth: float) -> list[int]:
    """Steps at which a model is fitted: the first, and then after each block of decisions.

    Parameters
    ----------
    first
        Decisions before the first fit.
    steps
        Total number of decisions.
    every
        Minimum number of decisions between two fits.
    growth
        Minimum share of the decisions so far that must be new.

    Examples
    --------
    >>> update_times(10, 300, every=50, growth=0.5)
    [10, 60, 110, 165, 247]
    """
    times = []
    while first < steps:
        times.append(first)
        first += max(every, int(growth * first))
    return times
