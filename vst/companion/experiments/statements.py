"""What the paper says of its pictures of uncertainty, and the rules that decide it.

Every statement is a list of checks, of which each looks at the models' numbers on one data set. All
checks hold: *reproduced*; at least half of them: *partly reproduced*; fewer: *not reproduced*.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from vst.companion.experiments.pictures import printed_rmse
from vst.errors import UserError

#: A spread this many times as wide as another one is "high" beside it.
HIGH = 2.0

#: An error this much smaller than another one is an improvement.
LESS = 0.95

#: One column of `vst.companion.experiments.pictures.measure`, by model, on one data set.
Numbers = Mapping[Any, float]


@dataclass(frozen=True)
class Statement:
    """Something the paper says, the rule that decides it, and what was found.

    Attributes
    ----------
    says
        The paper's statement.
    rule
        When a check holds.
    checks
        Whether it holds, check by check.
    measured
        The numbers behind the checks: medians over data sets.
    printed
        Whether the paper's own numbers obey the rule; None where it prints none.
    """

    says: str
    rule: str
    checks: tuple[bool, ...]
    measured: str
    printed: bool | None = None

    @property
    def verdict(self) -> str:
        """Reproduced, partly reproduced, or not."""
        return verdict(self.checks)


def verdict(checks: Sequence[bool]) -> str:
    """The share of checks that hold, in words.

    Examples
    --------
    >>> verdict([True, True]), verdict([True, False]), verdict([False, False, True])
    ('reproduced', 'partly reproduced', 'not reproduced')
    """
    if not checks:
        raise ValueError("a verdict needs at least one check")
    if all(checks):
        return "reproduced"
    return "partly reproduced" if 2 * sum(checks) >= len(checks) else "not reproduced"


def about_spread(measures: pd.DataFrame, noise: float, place: str) -> list[Statement]:
    """Figures 2 and 5: the spread where there are no data, and the agreement where there are some.

    Parameters
    ----------
    measures
        Of the tails or the gap, by `vst.companion.experiments.pictures.repeat`.
    noise
        Standard deviation of the observations' noise.
    place
        Where there are no data: ``"in the tails"`` or ``"in the gap"``.
    """
    ratio, outside, error = (_by_model(measures, c) for c in ("ratio", "outside", "rmse"))
    return [
        Statement(
            f"VST shows high uncertainty {place}",
            f"its spread {place} is at least {HIGH:g} times its spread inside the data",
            _each(ratio, lambda r: r["vst"] >= HIGH),
            _medians(ratio, ["vst"], "times"),
        ),
        Statement(
            "while closely agreeing with the true mean inside the support",
            f"its error there is below the noise, {noise:g}",
            _each(error, lambda e: e["vst"] < noise),
            _medians(error, ["vst"]),
        ),
        Statement(
            f"more diversity {place} than with XBART and SGLB",
            f"its spread {place} is the widest of the three",
            _each(outside, lambda o: o["vst"] > max(o["xbart"], o["sglb"])),
            _medians(outside, ["vst", "xbart", "sglb"]),
        ),
    ]


def about_step(measures: pd.DataFrame, noise: float) -> list[Statement]:
    """Figure 6: whether a soft tree can draw a step, and how well beside hard trees."""
    away, error = _by_model(measures, "away"), _by_model(measures, "rmse")

    def no_worse(e: Numbers) -> bool:
        return e["vst"] <= max(e["xbart"], e["sglb"])

    return [
        Statement(
            "VST can fit this non-smooth function",
            f"its error away from the step is below the noise, {noise:g}",
            _each(away, lambda a: a["vst"] < noise),
            _medians(away, ["vst"]),
        ),
        Statement(
            "as well as the hard trees of XBART and SGLB: away from the step",
            "its error is no larger than the larger of theirs",
            _each(away, no_worse),
            _medians(away, ["vst", "xbart", "sglb"]),
        ),
        Statement(
            "as well as the hard trees of XBART and SGLB: everywhere",
            "its error is no larger than the larger of theirs",
            _each(error, no_worse),
            _medians(error, ["vst", "xbart", "sglb"]),
            no_worse(printed_rmse("step")),
        ),
    ]


def about_wavelet(
    measures: pd.DataFrame, by_size: Mapping[int, Mapping[str, float]]
) -> list[Statement]:
    """Figure 7: underfitting, whether boosting helps, and whether more data do.

    Parameters
    ----------
    measures
        By `vst.companion.experiments.pictures.repeat`.
    by_size
        Errors by number of rows, then by model.
    """
    error = _by_model(measures, "rmse")

    def underfit(e: Numbers) -> bool:
        return min(e["vst"], e["vsgbm"]) > max(e["xbart"], e["sglb"])

    def improves(e: Numbers) -> bool:
        return e["vsgbm"] < LESS * e["vst"]

    if len(by_size) < 2:
        raise UserError("what more rows change takes two different numbers of rows to see")
    few, many = by_size[min(by_size)], by_size[max(by_size)]
    shares = {model: many[model] / few[model] for model in ("vst", "vsgbm")}
    return [
        Statement(
            "VST and VSGBM underfit this complex function",
            "both errors are larger than both of XBART's and SGLB's",
            _each(error, underfit),
            _medians(error, ["vst", "vsgbm", "xbart", "sglb"]),
            underfit(printed_rmse("wavelet")),
        ),
        Statement(
            "VSGBM visually improves the fit over a VST",
            f"its error is below {LESS:.0%} of the VST's",
            _each(error, improves),
            _medians(error, ["vst", "vsgbm"]),
            improves(printed_rmse("wavelet")),
        ),
        Statement(
            "increasing the amount of training data reduces underfitting",
            f"with {max(by_size):,} rows the error is below {LESS:.0%} of that with "
            f"{min(by_size):,}: one check for VST, one for VSGBM",
            tuple(share < LESS for share in shares.values()),
            ", ".join(f"{model.upper()} {share:.0%}" for model, share in shares.items()),
        ),
    ]


def about_prior(measures: pd.DataFrame, errors: pd.DataFrame) -> list[Statement]:
    """The paper's explanation of figure 7: its Gaussian prior encourages smooth functions.

    Parameters
    ----------
    measures
        Of the wavelet, by `vst.companion.experiments.pictures.repeat`.
    errors
        Of VST and VSGBM by KL weight, zero among them, by `vst.companion.experiments.pictures.vary`.
    """
    usual = _by_model(measures, "rmse").median()
    limit = max(usual["xbart"], usual["sglb"])
    free = errors[0.0]
    return [
        Statement(
            "underfitting is hypothesised to be due to the zero-mean Gaussian prior",
            "without the KL term the error is no larger than the larger of XBART's and SGLB's, "
            f"{limit:.3f}: one check for VST, one for VSGBM",
            tuple(bool(free[model] <= limit) for model in ("vst", "vsgbm")),
            ", ".join(f"{model.upper()} {free[model]:.3f}" for model in ("vst", "vsgbm")),
        )
    ]


def _by_model(measures: pd.DataFrame, column: str) -> pd.DataFrame:
    """One row per data set and one column per model."""
    return measures.pivot_table(index="seed", columns="model", values=column)


def _each(frame: pd.DataFrame, holds: Callable[[Numbers], bool]) -> tuple[bool, ...]:
    return tuple(bool(holds(row)) for row in frame.to_dict("records"))


def _medians(frame: pd.DataFrame, models: Sequence[str], unit: str = "") -> str:
    decimals = 1 if unit else 3
    return ", ".join(
        f"{model.upper()} {np.median(frame[model]):.{decimals}f} {unit}".strip() for model in models
    )
