"""A table with its target and where it came from: what every experiment takes."""

from dataclasses import dataclass

import pandas as pd

from vst.errors import DataError


@dataclass(frozen=True, eq=False)  # DataFrames do not compare to one truth value
class Dataset:
    """A table, which of its columns are targets, and its provenance.

    Attributes
    ----------
    name
        Name in the catalogue, or of the user's table.
    table
        All rows and columns, as they were read.
    targets
        Columns to predict: one for regression; the rewards of the arms for a bandit, or none.
    source, licence
        Where the data come from, and on what terms.
    sha256
        Checksum of the file that was read (of the values, for a DataFrame).
    label
        Name in tables and figures.
    caveat
        What to say beside every number that comes from this file; empty if nothing.
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
        """The features: every column that is no target."""
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
        """All targets as a table: the rewards of a bandit's arms, or the one target's column."""
        return self.table[list(self.targets)]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def d(self) -> int:
        """Number of features, before categories become columns of their own."""
        return self.table.shape[1] - len(self.targets)

    def __repr__(self) -> str:
        targets = {0: "no target", 1: f"target {', '.join(self.targets)}"}
        what = targets.get(len(self.targets), f"{len(self.targets)} targets")
        return f"Dataset({self.name}: {self.n} rows, {self.d} features, {what}; {self.source})"
