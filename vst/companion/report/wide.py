"""Tables with many columns: dense on a desk; on a phone ``columns.js`` shows one column at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from vst.companion.report.tables import Html


@dataclass(frozen=True)
class Row:
    """A row of a wide table: its first cells, the others, and whether a line is above it.

    All cells are HTML; the others are whole elements, such as ``<td>0.1</td>``.
    """

    heads: Sequence[str]
    cells: Sequence[str]
    rule: bool = False


def wide(
    kept: Sequence[str], columns: Sequence[str], rows: Sequence[Row], *, choose: str = "data set"
) -> Html:
    """A table as HTML.

    Parameters
    ----------
    kept
        Heads of the first columns, which are always shown.
    columns
        Heads of the others.
    choose
        What the others are: the label of the list to choose one from.
    """
    head = "".join(f"<th class=kept>{escape(name)}</th>" for name in kept)
    head += "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(map(_row, rows))
    return Html(
        f'<div class="scores" data-choose="{escape(choose)}" data-keep="{len(kept)}"><table><thead>'
        f"<tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def with_error(mean: str, error: str, *, bold: bool = False) -> str:
    """A number and its error bar, which is set smaller.

    Examples
    --------
    >>> with_error("0.1", "")
    '0.1'
    """
    shown = f"<b>{mean}</b>" if bold else mean
    return f'{shown}<span class="bar"> ± {error}</span>' if error else shown


def _row(row: Row) -> str:
    first, *others = row.heads
    heads = f"<th>{first}</th>" + "".join(f"<td class=kept>{cell}</td>" for cell in others)
    return f"<tr{' class=rule' if row.rule else ''}>{heads}{''.join(row.cells)}</tr>"
