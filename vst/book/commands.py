"""``vst book``: execute the chapters and build the book."""

import argparse
from pathlib import Path


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add ``vst book`` to the command line."""
    parser = commands.add_parser("book", help="execute the chapters and build the book")
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    build = actions.add_parser(
        "build", help="execute every chapter with papermill, then build the HTML pages"
    )
    build.add_argument(
        "--root", type=Path, default=Path(), help="directory of _config.yml (default: this one)"
    )
    build.set_defaults(run=_build)


def _build(options: argparse.Namespace) -> int:
    # Imported here: the rest of the command line does not need the notebook packages.
    from vst.book.driver import build

    page = build(options.root.resolve())
    print(f"\nThe book is at {page}")
    return 0
