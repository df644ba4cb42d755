"""A table of scores in the paper's form, with the paper's number below each of ours."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np
import pandas as pd

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import MODEL_BY_ID, MODELS, Model
from vst.companion.paper import TABLES, bold_cells, printed
from vst.companion.paper.scores import WHOLE
from vst.companion.paper.scores import scores_of as scores_of
from vst.companion.report.tables import Html, number
from vst.companion.report.wide import Row, wide, with_error

Comparison = Literal["better", "worse", "same", "none"]

#: Data sets whose targets are a few whole numbers, at which a density can be as high as one likes.
ROUNDED = ("wine",)

#: Signs beside the paper's number, so that readers need not tell colours apart.
SIGNS: dict[Comparison, str] = {"better": "▲", "worse": "▼", "same": "=", "none": ""}


@dataclass(frozen=True)
class Score:
    """A mean and its error bar."""

    mean: float
    error: float

    def text(self, decimals: int = 3) -> str:
        """As the paper prints it."""
        if np.isnan(self.error):
            return number(self.mean, decimals)
        return f"{number(self.mean, decimals)} ± {number(self.error, decimals)}"


def compare(ours: Score, paper: Score, *, higher_is_better: bool) -> Comparison:
    """Whether our score is better or worse than the paper's, or the same (error bars overlap).

    Examples
    --------
    >>> compare(Score(0.5, 0.1), Score(0.2, 0.1), higher_is_better=True)
    'better'
    >>> compare(Score(0.5, 0.2), Score(0.2, 0.2), higher_is_better=True)
    'same'
    """
    gain = ours.mean - paper.mean if higher_is_better else paper.mean - ours.mean
    bars = np.nan_to_num(ours.error) + paper.error
    if abs(gain) <= bars:
        return "same"
    return "better" if gain > 0 else "worse"


def score_table(ours: pd.DataFrame, table: str, datasets: Sequence[str]) -> Html:
    """Show our scores in the paper's form, with the paper's below them.

    Parameters
    ----------
    ours
        From `scores_of`.
    table
        The paper's table, a name in `vst.companion.paper.TABLES`.
    datasets
        The columns.
    """
    better_is_higher = bool(TABLES[table].higher_is_better)
    marks = bold_cells(ours, higher_is_better=better_is_higher)
    bold = dict(zip(_places(ours), marks, strict=True))
    our_scores, paper_scores = _by_place(ours), _by_place(printed(table))
    models = [m for m in MODELS if any((m.id, d) in our_scores for d in datasets) or _has(table, m)]
    rows = []
    for i, model in enumerate(models):
        cells = [
            _cell(
                our_scores.get((model.id, name)),
                paper_scores.get((model.id, WHOLE.get(name) or name)),
                bold=bold.get((model.id, name), False),
                comparable=name not in WHOLE,
                higher_is_better=better_is_higher,
            )
            for name in datasets
        ]
        rule = i > 0 and _section(model) != _section(models[i - 1])
        rows.append(Row([_row_label(model)], cells, rule))
    return wide(["Model"], [dataset_label(name) for name in datasets], rows)


def reached(ours: pd.DataFrame, table: str, models: Sequence[str]) -> pd.DataFrame:
    """Where a model's score is at least the paper's printed mean minus its error bar.

    A part of a data set differs from the paper's data set and does not count.

    Returns
    -------
    pandas.DataFrame
        One row per model and data set that both have: model, dataset, ours, paper, reached.
    """
    sign = 1 if TABLES[table].higher_is_better else -1
    paper = _by_place(printed(table))
    rows = []
    for (model, dataset), score in _by_place(ours).items():
        goal = paper.get((model, dataset))
        if model in models and goal is not None:
            # Ours in the printed precision: a miss that no table shows is none.
            hit = sign * round(score.mean, 3) >= round(sign * goal.mean - goal.error, 3)
            rows.append((model, dataset, score.text(), goal.text(), hit))
    return pd.DataFrame(rows, columns=["model", "dataset", "ours", "paper", "reached"])


def compared(ours: pd.DataFrame, table: str, models: Sequence[str]) -> pd.Series:
    """How each score of some models compares with the printed score on the same data."""
    higher = bool(TABLES[table].higher_is_better)
    paper = _by_place(printed(table))
    return pd.Series(
        [
            compare(score, paper[place], higher_is_better=higher)
            for place, score in _by_place(ours).items()
            if place[0] in models and place in paper
        ],
        dtype=object,
    )


def best(ours: pd.DataFrame, *, higher_is_better: bool) -> pd.DataFrame:
    """The best model on each data set, and the models whose error bars overlap with it."""
    everyone = dict.fromkeys(MODEL_BY_ID, "all")
    marks = bold_cells(ours, higher_is_better=higher_is_better, groups=everyone)
    sign = -1 if higher_is_better else 1
    rows = []
    for dataset, column in ours.assign(bold=marks).groupby("dataset", sort=False):
        ordered = column.iloc[np.argsort(sign * column["mean"].to_numpy())]
        first, *others = ordered[ordered["bold"]].to_dict("records")
        rows.append(
            {
                "dataset": dataset,
                "model": first["model"],
                "score": Score(first["mean"], first["error"]).text(),
                "on par": [other["model"] for other in others],
            }
        )
    return pd.DataFrame(rows, columns=["dataset", "model", "score", "on par"])


def _cell(
    ours: Score | None,
    paper: Score | None,
    *,
    bold: bool,
    comparable: bool,
    higher_is_better: bool,
) -> str:
    shown = "\N{EN DASH}" if ours is None else _html(ours, bold=bold)
    comparison: Comparison = "none"
    if ours is not None and paper is not None and comparable:
        comparison = compare(ours, paper, higher_is_better=higher_is_better)
    below = "" if paper is None else f"{SIGNS[comparison]} {_html(paper)}"
    return f'<td class="{comparison}">{shown}<br><small>{below}</small></td>'


def _html(score: Score, *, bold: bool = False) -> str:
    error = "" if np.isnan(score.error) else number(score.error)
    return with_error(number(score.mean), error, bold=bold)


def _places(scores: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(scores["model"], scores["dataset"], strict=True))


def _by_place(scores: pd.DataFrame) -> dict[tuple[str, str], Score]:
    values = map(Score, scores["mean"], scores["error"])
    return dict(zip(_places(scores), values, strict=True))


def _has(table: str, model: Model) -> bool:
    return model.id in set(printed(table)["model"])


def _section(model: Model) -> str:
    return "today" if model.origin == "today" else model.group


def _row_label(model: Model) -> str:
    notes = {"paper": "", "beyond": " <small>beyond the paper</small>", "today": ""}
    return escape(model.label) + notes[model.origin]
