"""What gaps in a table cost, and whether the model treats them better than an imputer before it."""

import numpy as np
import pandas as pd

from vst.companion.experiments.datasets import label
from vst.companion.experiments.gaps import GAPS, IMPUTED, REMOVED, WAYS, WHOLE, gains
from vst.companion.report.tables import Markdown, MarkdownTable, number

#: Heads of the table's columns.
HEADS = {WHOLE: "no gaps", GAPS: "gaps, left to the model", IMPUTED: "gaps, filled before"}


def table(results: pd.DataFrame) -> MarkdownTable:
    """Log-likelihood and error by data set, for each way to treat gaps; means over splits."""
    rows = []
    for score, name in (("log_likelihood", "log-likelihood"), ("rmse", "RMSE")):
        wide = results.pivot_table(score, "dataset", "model", sort=False, observed=True)
        for dataset, values in wide.iterrows():
            cells = {HEADS[way]: number(float(values[way])) for way in WAYS if way in values}
            rows.append({"data set": label(str(dataset)), "score": name, **cells})
    return MarkdownTable(pd.DataFrame(rows))


def answer(results: pd.DataFrame) -> Markdown:
    """On how many data sets the model does at least as well with gaps as an imputer before it."""
    found = gains(results)
    if found.empty:
        return Markdown("There are no runs yet: `vst run gaps --profile paper` computes them.")
    good = int((found["mean"] >= 0).sum())
    each = "; ".join(
        f"{label(str(name))} {'+' if row['mean'] >= 0 else ''}{number(row['mean'])}"
        + ("" if np.isnan(row["error"]) else f" ± {row['error']:.3f}")
        for name, row in found.iterrows()
    )
    return Markdown(
        f"With {REMOVED:.0%} of all cells removed, `VSTRegressorCV` is at least as good with the gaps "
        f"as after `SimpleImputer(add_indicator=True)` on **{good} of {len(found)}** data sets "
        f"({each} nats per row, mean and standard error over splits)."
    )
