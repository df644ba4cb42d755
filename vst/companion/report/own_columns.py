"""Which columns of a user's table matter, and what to do with its rows without a target."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.inspection import PartialDependenceDisplay, permutation_importance

from vst.companion.experiments.own_data import Held, OwnFit
from vst.companion.report.own_data import colour
from vst.companion.report.style import styled
from vst.companion.report.tables import Html, Markdown, code, download
from vst.file_commands import predictions

#: Columns in a figure, at most.
MOST = 15

#: Rows and repeats of scikit-learn's permutations; rows and points of its partial dependence.
PERMUTED_ROWS, REPEATS, AVERAGED_ROWS, POINTS = 200, 3, 100, 15


def importances(held: Held, fit: OwnFit) -> pd.DataFrame:
    """The model's own importances, and the score that is lost when a column is shuffled."""
    rows = _spread(len(held.x_test), PERMUTED_ROWS)
    shuffled = permutation_importance(
        fit.model, held.x_test.iloc[rows], held.y_test[rows], n_repeats=REPEATS, random_state=0
    )
    return pd.DataFrame(
        {"share": fit.model.feature_importances_, "lost": shuffled.importances_mean},
        index=held.x_test.columns,
    ).sort_values("share", ascending=False)


def _spread(rows: int, most: int) -> np.ndarray:
    """Numbers of some rows from all over a table, which may be sorted."""
    return np.linspace(0, rows - 1, min(rows, most)).astype(int)


@styled
def importance_figure(held: Held, fit: OwnFit) -> Figure:
    """Draw both, for the columns that the model uses most."""
    found = importances(held, fit)[:MOST]
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 1.0 + 0.26 * len(found)), sharey=True)
    score = "accuracy" if held.classes else "R²"
    words = ("share of the slopes (feature_importances_)", f"{score} lost by shuffling the column")
    for axis, name, label in zip(axes, found, words, strict=True):
        axis.barh(range(len(found)), found[name], 0.7, color=colour(fit))
        axis.axvline(0, color="#999999", lw=0.8)
        axis.set_xlabel(label)
        axis.tick_params(axis="y", length=0)
    axes[0].set_yticks(range(len(found)), list(map(str, found.index)), parse_math=False)
    axes[0].invert_yaxis()
    return figure


@styled
def dependence_figure(held: Held, fit: OwnFit, most: int = 3) -> Figure:
    """Draw scikit-learn's partial dependence on the columns that the model uses most."""
    table = held.x_train.iloc[_spread(len(held.x_train), AVERAGED_ROWS)]
    whole = table.select_dtypes("integer").columns
    table = table.astype(dict.fromkeys(whole, float))  # scikit-learn would not go between them
    chosen = _without_gaps(table, importances(held, fit).index)[:most]
    text = [name for name in chosen if not pd.api.types.is_numeric_dtype(table[name])]
    figure, axes = plt.subplots(1, max(len(chosen), 1), figsize=(8.4, 3.0), squeeze=False)
    target = pd.Series(held.y_train).mode()[0] if held.classes else None
    if not chosen:
        axes[0, 0].text(0.5, 0.5, "every column has gaps", ha="center")
        return figure
    PartialDependenceDisplay.from_estimator(
        fit.model, table, chosen, categorical_features=text or None, target=target, method="brute",
        response_method="predict_proba" if held.classes else "auto",
        grid_resolution=POINTS, ax=axes[0], line_kw={"color": colour(fit)},
    )  # fmt: skip
    words = f"probability of {target}" if held.classes else str(held.dataset.y.name)
    for axis in figure.axes:
        axis.set_ylabel(words if axis is figure.axes[0] else "", parse_math=False)
        axis.set_xlabel(axis.get_xlabel(), parse_math=False)
    return figure


def _without_gaps(table: pd.DataFrame, names: Sequence[str] | pd.Index) -> list[str]:
    """Columns without gaps that have several values; of text, only a few: scikit-learn asks for it."""
    found = []
    for name in names:
        values, numeric = table[name].nunique(), pd.api.types.is_numeric_dtype(table[name])
        if not table[name].isna().any() and values > 1 and (numeric or values <= POINTS):
            found.append(name)
    return found


def unknown_rows(held: Held, fit: OwnFit) -> Html | Markdown:
    """Predictions of the rows without a target, to download; and of the held-out rows."""
    name, target = held.dataset.name, held.dataset.y.name
    tested = predictions(fit.model, held.x_test)
    tested = pd.concat([held.x_test, pd.DataFrame({str(target): held.y_test}), tested], axis=1)
    link = download(tested, f"{name}_held_out.csv", "Predictions of the held-out rows (CSV)").text
    if held.unknown.empty:
        return Html(f"<p>Every row of the table has a target.</p>{link}")
    found = pd.concat([held.unknown, predictions(fit.model, held.unknown)], axis=1)
    words = f"Predictions of the rows without a target (CSV, {len(found):,} rows)"
    return Html(download(found, f"{name}_predicted.csv", words).text + link)


def set_aside(held: Held) -> Markdown:
    """How many rows have no target."""
    count = len(held.unknown)
    if not count:
        return Markdown("")
    rows = "1 row has" if count == 1 else f"{count:,} rows have"
    return Markdown(
        f"{rows} no {code(held.dataset.y.name)}: nothing can be learned from them, so they were set "
        "aside. Their predictions are at the end of this chapter."
    )
