"""A table with its target and provenance, the input of every experiment."""

from dataclasses import dataclass

import pandas as pd

from vst.errors import DataError


@dataclass(frozen=True, eq=False)  # comparing DataFrames gives no single truth value
class Dataset:
    """A table, its target columns and its provenance.

    Attributes
    ----------
    name
        Name in the catalogue, or of the user's table.
    table
        All rows and columns, as read.
    targets
        Columns to predict: one for regression; for a bandit the rewards of its arms, or none.
    source, licence
        Where the data come from, and their terms of use.
    sha256
        Checksum of the file (of the values, for a DataFrame).
    label
        Name in tables and figures.
    caveat
        Shown beside every number that comes from this file; may be empty.
    """

    name: str
    table: pd.DataFrame
    targets: tuple[str, ...]
    source: str
    licence: str
    sha256: str
    label: str
    caveat: str = ""

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 (scikit-learn's name for the features)
        """The features: all columns but the targets."""
        return self.table.drop(columns=list(self.targets))

    @property
    def y(self) -> pd.Series:
        """The target."""
        if len(self.targets) != 1:
            what = (
                f"{len(self.targets)} targets, one per arm: use .Y" if self.targets else "no target"
            )
            raise DataError(f"{self.name} has {what}")
        return self.table[self.targets[0]]

    @property
    def Y(self) -> pd.DataFrame:  # noqa: N802
        """All targets as a table: the rewards of a bandit's arms, or the one target."""
        return self.table[list(self.targets)]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def d(self) -> int:
        """Number of features before one-hot encoding."""
        return self.table.shape[1] - len(self.targets)

    def __repr__(self) -> str:
        targets = {0: "no target", 1: f"target {', '.join(self.targets)}"}
        what = targets.get(len(self.targets), f"{len(self.targets)} targets")
        return f"Dataset({self.name}: {self.n} rows, {self.d} features, {what}; {self.source})"
