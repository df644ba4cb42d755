"""Rules for figures 2, 5, 6 and 7: the captions of the pictures of uncertainty.

Each rule is a list of checks, usually one per data set of a picture. A claim holds if all its checks
hold, holds partly if at least half of them do, and otherwise fails.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from vst.companion.paper.claims.claim import Judgement, decided, undecided
from vst.companion.paper.tables import printed

#: A spread this many times as wide as another is "high".
HIGH = 2.0

#: An error below this share of another is an improvement.
LESS = 0.95

#: The larger number of observations of the wavelet, and the number in its figure.
MANY_ROWS, USUAL_ROWS = 16_000, 250

THREE = ("vst", "xbart", "sglb")
FOUR = ("vst", "vsgbm", "xbart", "sglb")
SOFT = ("vst", "vsgbm")

#: One measure on one data set, by model.
Numbers = Mapping[Any, float]

#: Whether a caption is right about one data set.
Check = Callable[[Numbers], bool]


def on_every_set(
    picture: str, measure: str, models: Sequence[str], check: Check, unit: str = ""
) -> Callable[[pd.DataFrame], Judgement]:
    """A rule with one check per data set of a picture.

    Parameters
    ----------
    measure
        The column of the fits' measures that the check uses.
    models
        The models that it compares.
    unit
        The measure's unit.
    """

    def judge(pictures: pd.DataFrame) -> Judgement:
        numbers = _numbers(pictures, picture, measure, models)
        checks = [bool(check(row)) for row in numbers.to_dict("records")]
        return _all_of(checks, _text(numbers.median(), unit))

    return judge


def as_printed(picture: str, models: Sequence[str], check: Check) -> Callable[[], Judgement]:
    """The same check on the errors that the paper prints below a figure's panels."""

    def judge() -> Judgement:
        errors = figure_errors(picture)
        text = ", ".join(f"{model.upper()} {errors[model]:.4f}" for model in models)
        return decided(text, holds=check(errors), partly=False)

    return judge


def no_worse_than_hard_trees(errors: Numbers) -> bool:
    """Whether VST's error is at most the larger of XBART's and SGLB's."""
    return errors["vst"] <= _hard_trees(errors)


def widest(spreads: Numbers) -> bool:
    """Whether VST's spread is the widest of the three."""
    return spreads["vst"] > max(spreads["xbart"], spreads["sglb"])


def underfit(errors: Numbers) -> bool:
    """Whether both errors of soft trees are larger than both of hard trees."""
    return min(errors["vst"], errors["vsgbm"]) > _hard_trees(errors)


def boosting_improves(errors: Numbers) -> bool:
    """Whether the VSGBM's error is smaller than the VST's."""
    return errors["vsgbm"] < LESS * errors["vst"]


def more_rows_help(pictures: pd.DataFrame) -> Judgement:
    """Two checks, for VST and VSGBM: the wavelet's error falls with many rows."""
    few = _numbers(pictures, "wavelet", "rmse", SOFT)
    many = _numbers(pictures, "wavelet", "rmse", SOFT, f"rows {MANY_ROWS}")
    shares = (many / few).dropna().median()
    text = ", ".join(f"{model.upper()} {shares[model]:.0%}" for model in SOFT)
    return _all_of([bool(share < LESS) for share in shares.dropna()], text)


def the_prior_is_to_blame(pictures: pd.DataFrame) -> Judgement:
    """Two checks, for VST and VSGBM: without the KL term they fit the wavelet like hard trees."""
    usual = _numbers(pictures, "wavelet", "rmse", ("xbart", "sglb")).median()
    free = _numbers(pictures, "wavelet", "rmse", SOFT, "kl_weight 0").median()
    limit = _hard_trees(usual.to_dict())
    errors = [] if np.isnan(limit) else list(free.dropna())
    text = f"{_text(free)}, the larger of the others' {limit:.3f}"
    return _all_of([bool(error <= limit) for error in errors], text)


def _hard_trees(errors: Numbers) -> float:
    return max(errors["xbart"], errors["sglb"])


def _all_of(checks: Sequence[bool], text: str) -> Judgement:
    """The share of checks that hold."""
    if not checks:
        return undecided()
    hits, total = sum(checks), len(checks)
    numbers = f"{text}; {hits} of {total} {'check' if total == 1 else 'checks'}"
    return decided(numbers, holds=hits == total, partly=2 * hits >= total)


def _numbers(
    pictures: pd.DataFrame,
    picture: str,
    measure: str,
    models: Sequence[str],
    variant: str = "usual",
) -> pd.DataFrame:
    """One measure: one row per data set on which all models were fitted, one column per model."""
    fits = pictures[(pictures["dataset"] == picture) & (pictures["variant"] == variant)]
    by_model = fits.pivot_table(index="seed", columns="model", values=measure)
    return by_model.reindex(columns=list(models)).dropna()


def _text(medians: pd.Series, unit: str = "") -> str:
    decimals = 1 if unit else 3
    return ", ".join(
        f"{str(model).upper()} {value:.{decimals}f} {unit}".strip()
        for model, value in medians.items()
    )


#: Pictures whose errors the paper prints below the panels, and their names in its data file.
PRINTED = {"step": "step-function", "wavelet": "wavelet"}


def figure_errors(picture: str) -> dict[str, float]:
    """The errors that the paper prints below a picture's panels, by model; empty if there are none."""
    rows = printed("figure_rmse")
    rows = rows[rows["figure"] == PRINTED.get(picture)]
    return dict(zip(rows["model"], rows["rmse"].astype(float), strict=True))
