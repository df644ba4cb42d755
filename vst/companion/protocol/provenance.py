"""Where the data come from, as the page ``data/README.md``."""

import textwrap

from vst.datasets.catalogue import PARTS, WHOLE_SETS, DatasetInfo

INTRODUCTION = """\
# Data

Written by `vst data provenance` from the catalogue (`vst/datasets/catalogue.toml`); change it there.
`vst data verify` compares the files with what is said here, and `python scripts/rebuild_data.py`
rebuilds each from the package it was taken from.
"""


def provenance() -> str:
    """Write the page as Markdown: tables of the files, and what is to know of every data set."""
    bundled = [info for info in WHOLE_SETS if info.bundled]
    others = [info for info in WHOLE_SETS if not info.bundled] + list(PARTS)
    return "\n".join(
        [
            INTRODUCTION,
            "## In this directory",
            "",
            "| file | rows x features | target | licence of the data | taken from | sha256 |",
            "|---|---|---|---|---|---|",
            *(_bundled_row(info) for info in bundled),
            "",
            *(line for info in bundled for line in _section(info)),
            "## Not in this directory",
            "",
            "Looked for in the directory that `VST_DATA` names, then in the user's cache; "
            "`vst data fetch` downloads those that have an address.",
            "",
            "| name | file | rows x features | licence of the data | address | sha256 |",
            "|---|---|---|---|---|---|",
            *(row for info in others for row in _other_rows(info)),
            "",
            *(line for info in others for line in _section(info)),
        ]
    )


def _bundled_row(info: DatasetInfo) -> str:
    file, package = info.files[0], info.package
    origin = f"{package} ({package.licence}), `{package.member}`" if package else "this project"
    return (
        f"| {file.name} | {info.rows} x {info.features} | {info.target} | {info.licence} "
        f"| {origin} | `{file.sha256}` |"
    )


def _other_rows(info: DatasetInfo) -> list[str]:
    return [
        f"| {info.name} | {file.name} | {info.rows} x {info.features} | {info.licence} "
        f"| {file.url or '-'} | {f'`{file.sha256}`' if file.sha256 else 'not known'} |"
        for file in info.files
    ]


def _section(info: DatasetInfo) -> list[str]:
    facts = [
        f"Origin: {info.source}, <{info.url}>.",
        f"Citation: {info.citation}",
        f"Changed: {info.changes}.",
    ]
    if info.note:
        facts.append(f"Note: {info.note}")
    bullets = [_wrapped(f"- {fact}") for fact in facts]
    return [f"### {info.name}: {info.title}", "", *bullets, ""]


def _wrapped(text: str) -> str:
    # Addresses and names with hyphens stay in one piece.
    return textwrap.fill(
        text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
