"""The numbers that the paper prints, one CSV file per table, transcribed digit by digit.

A score has a mean, an error bar (the standard deviation over ten folds, or five seeds for the bandits)
and a flag for bold. Regression scores are in units of the standardised target.
"""

from dataclasses import dataclass
from importlib.resources import files

import pandas as pd

from vst.companion.experiments.datasets import PAPER_ORDER
from vst.errors import UserError

#: The regression data sets, in the column order of tables 1, 2 and 6.
DATASETS = PAPER_ORDER

#: The bandits, in the column order of table 3.
BANDITS: tuple[str, ...] = ("financial", "exploration", "mushroom", "jester")


@dataclass(frozen=True)
class Table:
    """One file of printed numbers.

    Attributes
    ----------
    name
        The argument of `printed`.
    artefacts
        Where the paper prints the numbers, as ids of `vst.companion.paper.artefacts`.
    counted
        Whether its cells are results and count among the paper's 313; sizes of data sets and tuning
        ranges do not.
    higher_is_better
        Whether higher scores are better; None if the numbers are not scores.
    decimals
        Digits printed after the point; None if they vary.
    """

    name: str
    artefacts: tuple[str, ...]
    counted: bool = True
    higher_is_better: bool | None = None
    decimals: int | None = None


TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table("log_likelihood", ("table-1",), higher_is_better=True, decimals=3),
        Table("ood_auroc", ("table-2",), higher_is_better=True, decimals=3),
        Table("bandit_regret", ("table-3",), higher_is_better=False, decimals=2),
        Table("datasets", ("table-4",), counted=False),
        Table("hyperparameter_ranges", ("table-5",), counted=False),
        Table("rmse", ("table-6",), higher_is_better=False, decimals=3),
        Table("figure_rmse", ("figure-6", "figure-7"), higher_is_better=False, decimals=4),
    )
}


def printed(table: str) -> pd.DataFrame:
    """Read one of the paper's tables, one row per printed cell, in the paper's order.

    Parameters
    ----------
    table
        A name in `TABLES`.

    Returns
    -------
    pandas.DataFrame
        ``log_likelihood``, ``rmse`` and ``ood_auroc``: model, dataset, mean, error, bold.
        ``bandit_regret``: model, bandit, mean, error, bold, note; SGLB on mushroom has no number, and
        the note says what is printed instead. ``datasets``: dataset, rows, features.
        ``hyperparameter_ranges``: model, hyperparameter, kind (``interval`` and ``integers`` from low
        to high, ``choices`` of the values listed), low, high, values. ``figure_rmse``: figure, model,
        rmse.

    Examples
    --------
    >>> scores = printed("log_likelihood").set_index(["model", "dataset"])
    >>> scores.loc[("vst-linear", "power"), "mean"]
    np.float64(0.024)
    """
    if table not in TABLES:
        raise UserError(f"the paper has no table {table!r}: the names are {', '.join(TABLES)}")
    # "values" lists choices, and "note" is empty almost everywhere: text, whatever it looks like.
    with files("vst.companion.paper").joinpath(f"{table}.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file, dtype={"values": str, "note": str})
    return frame.fillna({"values": "", "note": ""})
