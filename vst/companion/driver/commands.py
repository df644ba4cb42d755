"""``vst book``: execute the chapters, build the book and show it."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vst.errors import UserError


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add ``vst book`` to the command line."""
    parser = commands.add_parser("book", help="execute the chapters and build the book")
    actions = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    build = actions.add_parser(
        "build",
        help="execute changed chapters with papermill, then build the HTML pages",
        description="Execute the chapters whose source, package, data or parameters have changed since "
        "their last execution, several at a time, and build the HTML pages.",
    )
    build.add_argument(
        "--profile",
        default="paper",
        help="paper (default) reads the published results; quick computes a smaller version; "
        "smoke computes just enough to check that it works",
    )
    build.add_argument(
        "--chapter",
        action="append",
        default=[],
        metavar="NAME",
        help="execute only this chapter, and keep the others as last executed; can be repeated",
    )
    build.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="a parameter for all executed chapters that have it; can be repeated",
    )
    build.add_argument(
        "--recompute",
        action="store_true",
        help="execute chapters even if nothing has changed and, if none is named, recompute the "
        "profile's results (published results stay: see vst run --profile paper)",
    )
    build.add_argument("--jobs", type=int, help="chapters at a time (default: one per core)")
    build.add_argument(
        "--repository",
        default="",
        metavar="URL",
        help="address of the sources on GitHub: pages link to it, and chapters open in Colab",
    )
    build.add_argument(
        "--pdf",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="print the book as a PDF too, if Chromium is installed (default: yes)",
    )
    _add_root(build)
    build.set_defaults(run=_build)

    pdf = actions.add_parser(
        "pdf",
        help="print the built book as one PDF (needs Chromium)",
        description="Print the pages that vst book build has made as one PDF beside them, to which "
        "the first page then links. Needs Chromium or Google Chrome.",
    )
    _add_root(pdf)
    pdf.set_defaults(run=_pdf)

    listing = actions.add_parser("parameters", help="list the chapters and their parameters")
    listing.add_argument("chapter", nargs="*", help="names of chapters (default: all)")
    _add_root(listing)
    listing.set_defaults(run=_list)

    serve = actions.add_parser("serve", help="show the built book in a browser")
    serve.add_argument("--port", type=int, default=8000, help="port (default 8000)")
    _add_root(serve)
    serve.set_defaults(run=_serve)


def _add_root(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--root", type=Path, default=Path(), help="directory of _config.yml (default: this one)"
    )


# Imported only when needed: the rest of the command line works without the notebook packages.


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise UserError(f'{error.name} is not installed: run pip install "vst[book]"') from None


def _build(options: argparse.Namespace) -> int:
    with _installed():
        from vst.companion.driver.driver import build
        from vst.companion.driver.printing import PDF, find_browser, print_book

    page = build(
        options.root.resolve(),
        profile=options.profile,
        only=options.chapter,
        parameters=[tuple(pair) for pair in options.parameter],
        recompute=options.recompute,
        jobs=options.jobs,
        repository=options.repository,
    )
    print(f"\nThe book is at {page}")
    if not options.pdf or find_browser() is None or (page.parent / PDF).exists():
        return 0
    try:
        print(f"and for paper at {print_book(options.root.resolve())}")
    except UserError as error:  # the pages are there, and say nothing of a PDF
        print(f"and has no PDF: {error}")
    return 0


def _pdf(options: argparse.Namespace) -> int:
    with _installed():
        from vst.companion.driver.printing import print_book

    print(f"The book for paper is at {print_book(options.root.resolve())}")
    return 0


def _list(options: argparse.Namespace) -> int:
    with _installed():
        from vst.companion.driver.chapters import chapters, named

    print("\n\n".join(map(str, named(chapters(options.root), options.chapter))))
    return 0


def _serve(options: argparse.Namespace) -> int:
    from vst.companion.driver.serving import serve

    serve(options.root.resolve() / "_build" / "html", options.port)
    return 0
