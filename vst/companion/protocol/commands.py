"""The command line: ``vst data list``, ``verify``, ``fetch`` and ``provenance``."""

import argparse
import sys
from typing import Any

from vst.companion.protocol.provenance import provenance
from vst.datasets.catalogue import CATALOGUE, PARTS, WHOLE_SETS, DatasetInfo, describe
from vst.datasets.loading import fetch, load_found
from vst.datasets.places import VARIABLE, cache_directory, find, named_directory
from vst.errors import DataError


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    """Add ``vst data`` and its subcommands."""
    parser = subparsers.add_parser(
        "data",
        help="list, check and download the data sets",
        description="Data sets: some come with the package, others are downloaded.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    listing = commands.add_parser(
        "list",
        help="show every data set, and whether it is on this machine",
        description="Show every data set: its size, its use, and where it is on this machine.",
    )
    listing.set_defaults(run=list_datasets)

    verifying = commands.add_parser(
        "verify",
        help="check the files on this machine: checksum, shape, values",
        description="Read every file on this machine and check it against the catalogue: checksum, "
        "shape, missing values, range. The exit code is 1 if a file is wrong.",
    )
    _add_names(verifying, "data sets to check (default: all on this machine)")
    verifying.set_defaults(run=verify)

    fetching = commands.add_parser(
        "fetch",
        help="download data sets that do not come with the package",
        description=f"Download data sets into {cache_directory()}. An interrupted download "
        "continues where it stopped. The large ones are song (about 200 MB) and ct_slices (50 MB).",
    )
    _add_names(fetching, "data sets to download (default: all that are missing)")
    fetching.add_argument(
        "--again", action="store_true", help="download even if the cache has the file"
    )
    fetching.set_defaults(run=fetch_datasets)

    telling = commands.add_parser(
        "provenance",
        help="print the sources of all data sets as Markdown",
        description="Print data/README.md from the catalogue: vst data provenance > data/README.md",
    )
    telling.set_defaults(run=lambda options: print(provenance(), end=""))


def list_datasets(options: argparse.Namespace) -> None:
    """Print the catalogue as a table, and where each data set is."""
    here = sum(find(info) is not None for info in WHOLE_SETS)
    print(f"{here} of {len(WHOLE_SETS)} present\n")
    print(f"{'name':<12} {'rows':>8} {'features':>9}  {'task':<11} {'where':<9} what")
    for info in WHOLE_SETS:
        print(_line(info))
    print("\nParts of the above, with their own names (not counted):")
    for info in PARTS:
        print(_line(info))
    if here < len(WHOLE_SETS):
        print("\nTo download the rest: vst data fetch")
    print(f"{VARIABLE}: {named_directory() or 'not set'}; cache: {cache_directory()}")


def verify(options: argparse.Namespace) -> int:
    """Check every file on this machine; return the exit code."""
    infos = [describe(name) for name in options.names] or list(CATALOGUE.values())
    wrong = absent = 0
    for info in infos:
        found = find(info)
        if found is None:
            absent += 1
            wrong += info.bundled or bool(options.names)
            print(f"{info.name:<12} not here")
            continue
        try:
            dataset = load_found(info, found)
        except DataError as error:
            wrong += 1
            print(f"{info.name:<12} WRONG: {error}")
        else:
            known = "checksum, shape" if found.file.sha256 else "shape (no checksum is known)"
            print(f"{info.name:<12} good: {known} and values, {dataset.n} rows, {found.path}")
    print(f"\n{len(infos) - absent} checked, {wrong} wrong, {absent} not here")
    return 1 if wrong else 0


def fetch_datasets(options: argparse.Namespace) -> int:
    """Download the named data sets, or all that are missing; return the exit code."""
    named = [describe(name) for name in options.names]
    failed = 0
    for info in named or [info for info in WHOLE_SETS if info.download]:
        found = find(info)
        if info.bundled:
            print(f"{info.name} comes with the package: there is nothing to download")
            continue
        if found is not None and not options.again:
            print(f"{info.name} is here: {found.path}")
            continue
        try:
            print(f"{info.name} is now in {fetch(info).path}")
        except DataError as error:  # the other data sets may still succeed
            failed += 1
            print(f"vst: {error}", file=sys.stderr)
    return 1 if failed else 0


def _add_names(parser: argparse.ArgumentParser, text: str) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help=text)


def _line(info: DatasetInfo) -> str:
    found = find(info)
    where = found.place if found else "-"
    shape = f"{info.rows:>8,} {info.features:>9}"
    return f"{info.name:<12} {shape}  {info.task:<11} {where:<9} {info.title}"
