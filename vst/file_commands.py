"""``vst fit`` and ``vst predict``: from a table in a file to a model, and on to predictions."""

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from sklearn.base import is_classifier
from tqdm import tqdm

from vst.errors import DataError, UserError
from vst.estimators import VSTClassifierCV, VSTRegressorCV, load_model
from vst.runtime import configure
from vst.table_files import CSV, PARQUET, read_table
from vst.tables import refuse_codes, split_table

#: Rows are predicted in blocks of this many, for the progress bar.
BLOCK = 4096

#: A row is unlike the training rows if it is more uncertain than this share of them.
USUAL_SHARE = 0.99

#: The most training rows to learn the usual uncertainty from.
MOST_ROWS = 4096

FIT_EXAMPLES = """\
examples:
  vst fit homes.csv --target price --save homes.vst
  vst fit loans.csv --target granted --task classification --save loans.vst
  vst fit homes.parquet --target price --save homes.vst --effort 0.3
"""

PREDICT_EXAMPLES = """\
examples:
  vst predict homes.vst new_homes.csv --out predictions.csv
  vst predict homes.vst new_homes.csv --out predictions.csv --level 0.5 --keep address,city

The columns of the predictions of a number: mean, std, lower and upper (the bounds of the interval),
epistemic_std (the part of std that more data would remove) and unusual. Of a class: class, one column
of probabilities per class, entropy, mutual_information (the part of the entropy that more data would
remove) and unusual. A row is unusual if the model is less sure of it than of 99 % of its training rows.
"""


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add both commands to the command line."""
    fit = _command(commands, "fit", "fit a model to a table and save it", FIT_EXAMPLES)
    fit.add_argument("table", metavar="TABLE", help="a CSV or Parquet file")
    fit.add_argument("--target", required=True, help="the column to predict")
    fit.add_argument("--save", required=True, type=Path, metavar="FILE", help="the model's file")
    fit.add_argument(
        "--task",
        choices=("auto", "regression", "classification"),
        default="auto",
        help="what the target holds: numbers or classes (default: text, truth values and columns with "
        "two values are classes)",
    )
    fit.add_argument(
        "--effort", type=float, default=1.0, help="factor on the gradient steps (default 1)"
    )
    fit.add_argument("--seed", type=int, default=0, help="seed of everything random (default 0)")
    fit.set_defaults(run=_fit)
    predict = _command(commands, "predict", "predict a table with a saved model", PREDICT_EXAMPLES)
    predict.add_argument("model", metavar="MODEL", type=Path, help="a file written by vst fit")
    predict.add_argument(
        "table", metavar="TABLE", help="a CSV or Parquet file with the same columns"
    )
    predict.add_argument(
        "--out",
        required=True,
        type=Path,
        metavar="FILE",
        help="the predictions, a CSV or Parquet file",
    )
    predict.add_argument(
        "--level", type=float, default=0.9, help="level of the intervals (default 0.9)"
    )
    predict.add_argument(
        "--keep", default="", metavar="COLUMNS", help="columns of TABLE to copy; comma-separated"
    )
    predict.set_defaults(run=_predict)


def _command(
    commands: argparse._SubParsersAction, name: str, words: str, examples: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _fit(options: argparse.Namespace) -> int:
    _require_place(options.save)
    dataset, unknown, classes = split_table(options.table, target=options.target, task=options.task)
    if len(unknown):
        rows = "1 row has" if len(unknown) == 1 else f"{len(unknown):,} rows have"
        print(
            f"{rows} no {options.target} and cannot be learned from: predict them with vst predict"
        )
    _use_all_cores()
    cls = VSTClassifierCV if classes else VSTRegressorCV
    model: Any = cls(options.effort, random_state=options.seed, progress=True)
    start = perf_counter()
    with _plain_words():
        model.fit(dataset.X, dataset.y)
        model.usual_uncertainty_ = usual_uncertainty(model, dataset.X)
        model.save(options.save)
    kind = f"{len(model.classes_)} classes of" if classes else "numbers:"
    print(
        f"{dataset.n:,} rows, {dataset.d} columns, {kind} {options.target}; "
        f"{perf_counter() - start:.0f} s"
    )
    print(f"\nWhat was chosen, by rows that were left out:\n{model.summary()}\n")
    print(f"{type(model).__name__} saved to {options.save}")
    return 0


def _require_place(path: Path) -> None:
    """Refuse a place that cannot be written to, before anything is computed."""
    if not path.parent.is_dir():
        raise UserError(f"{path.parent} is not a directory: create it, or choose another place")
    if path.is_dir():
        raise UserError(f"{path} is a directory: name a file")
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path.parent} cannot be written to: choose another place")


def usual_uncertainty(model: Any, X: pd.DataFrame) -> float:
    """How uncertain a model is of nearly all of its training rows, in the units of `uncertainty`."""
    chosen = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    found = uncertainty(model, model.predict_dist(X.iloc[np.sort(chosen)]))
    return float(np.quantile(found, USUAL_SHARE))


def uncertainty(model: Any, predicted: Any) -> Float[np.ndarray, " n"]:
    """The part of the uncertainty of each row that more data would remove."""
    if is_classifier(model):
        return predicted.mutual_information
    return np.sqrt(predicted.epistemic_var)


def _predict(options: argparse.Namespace) -> int:
    out: Path = options.out
    if not out.name.lower().endswith(CSV[:2] + PARQUET):
        raise UserError(f"{out} has an unsupported file type: use .csv, .csv.gz or .parquet")
    _require_place(out)
    if not 0 < options.level < 1:
        raise UserError(f"--level must lie between 0 and 1, got {options.level:g}")
    _use_all_cores()
    with _plain_words():
        model = load_model(options.model)
        table = read_table(Path(options.table).expanduser())
        features = _features(model, table, options.table)
        kept = table[_kept(options.keep, table, options.table)]
        _refuse_same_names(kept, model)
        predicted = predictions(model, features, options.level)
        _write(pd.concat([kept, predicted], axis=1), out)
    unusual = int(predicted["unusual"].sum()) if "unusual" in predicted else 0
    flagged = f"; {unusual:,} unlike the training rows" if unusual else ""
    print(f"{len(predicted):,} rows predicted{flagged}: {out}")
    return 0


def _features(model: Any, table: pd.DataFrame, where: str) -> pd.DataFrame:
    """The model's columns of a table."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise UserError(
            "the model was fitted to an array without column names: fit it with vst fit"
        )
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise DataError(
            f"{where} has no column {', '.join(missing)}, which the model was fitted with: add it"
        )
    if not len(table):
        raise DataError(f"{where} has column names but no rows: add rows of values")
    features = table[list(names)]
    refuse_codes(features, where)
    return features


def _kept(listed: str, table: pd.DataFrame, where: str) -> list[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    unknown = [name for name in names if name not in table.columns]
    if unknown:
        raise DataError(f"{where} has no column {', '.join(unknown)}: correct --keep")
    return names


def _refuse_same_names(kept: pd.DataFrame, model: Any) -> None:
    classes = model.classes_ if is_classifier(model) else None
    same = [name for name in kept.columns if name in _names(classes)]
    if same:
        raise UserError(
            f"--keep {', '.join(same)}: the predictions have {'columns' if same[1:] else 'a column'} of "
            "this name: rename it in the table, or do not keep it"
        )


def _names(classes: np.ndarray | None) -> list[str]:
    """The columns of predictions of numbers, or of these classes."""
    if classes is None:
        return ["mean", "std", "lower", "upper", "epistemic_std", "unusual"]
    probabilities = [f"P({name})" for name in classes]
    return ["class", *probabilities, "entropy", "mutual_information", "unusual"]


def predictions(model: Any, X: pd.DataFrame, level: float = 0.9) -> pd.DataFrame:
    """The predictions of all rows as a table; the last column tells which are unusual.

    Models that were not saved by ``vst fit`` do not know what is usual, and the column is left out.
    """
    blocks = []
    with tqdm(total=len(X), unit=" rows", desc="predicting", leave=False) as bar:
        for start in range(0, len(X), BLOCK):
            block = model.predict_dist(X.iloc[start : start + BLOCK])
            found = _classes(model, block) if is_classifier(model) else _numbers(block, level)
            usual = getattr(model, "usual_uncertainty_", None)
            if usual is not None:
                found["unusual"] = uncertainty(model, block) > usual
            blocks.append(found)
            bar.update(len(block))
    return pd.concat(blocks, ignore_index=True)


def _numbers(block: Any, level: float) -> pd.DataFrame:
    """Numbers with five digits of their row's standard deviation: more would not be known."""
    known = np.isfinite(block.std) & (block.std > 0)
    decimals = np.maximum(4 - np.floor(np.log10(np.where(known, block.std, 1))), 0)
    columns = (block.mean, block.std, *block.interval(level), np.sqrt(block.epistemic_var))
    rounded = (
        np.where(known, np.round(column * 10**decimals) / 10**decimals, column)
        for column in columns
    )
    return pd.DataFrame(dict(zip(_names(None), rounded, strict=False)))


def _classes(model: Any, block: Any) -> pd.DataFrame:
    best = model.classes_[block.proba.argmax(axis=1)]
    numbers = (*block.proba.T, block.entropy, block.mutual_information)
    rounded = (_significant(column.astype(float)) for column in numbers)
    return pd.DataFrame(dict(zip(_names(model.classes_), (best, *rounded), strict=False)))


def _significant(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Six significant digits: a small probability stays above zero."""
    return np.array([float(f"{value:.6g}") for value in values])


def _write(table: pd.DataFrame, path: Path) -> None:
    """Write a table whole or not at all: a reader never sees half of it."""
    temporary = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        if path.name.lower().endswith(PARQUET):
            table.to_parquet(temporary, index=False)
        else:
            table.to_csv(temporary, index=False)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _use_all_cores() -> None:
    with suppress(RuntimeError):  # a program that already uses JAX has its devices
        configure()


@contextmanager
def _plain_words() -> Iterator[None]:
    """Show warnings as lines of text, and faults of the table as errors that a user can put right."""

    def shown(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"note: {message}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = shown
        try:
            yield
        except (ValueError, OSError) as error:
            raise UserError(str(error)) from error
