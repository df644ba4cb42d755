"""Tables for notebooks: as Markdown, whose links work, or as HTML if cells need markup.

Users choose the names of files and columns, so tags in them are shown as text.
"""

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from types import ModuleType

import pandas as pd
from IPython.display import display


@dataclass(frozen=True, eq=False)
class MarkdownTable:
    """A DataFrame of text that a notebook renders as a Markdown table; numbers are right-aligned.

    If ``choose`` says what the columns are, except for the first ones (``keep``), a phone shows one of
    them at a time.
    """

    frame: pd.DataFrame
    choose: str = ""
    keep: int = 1

    def _repr_markdown_(self) -> str:
        if self.frame.empty:
            return "*Nothing to show.*"
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in self.frame.dtypes]
        rows = [
            [_cell(str(name)) for name in self.frame.columns],
            ["---:" if number else "---" for number in numeric],
            *(list(map(_cell, row)) for row in self.frame.itertuples(index=False)),
        ]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        if not self.choose:
            return table
        mark = f'<div data-choose="{escape(self.choose)}" data-keep="{self.keep}"></div>'
        return f"{mark}\n\n{table}"


@dataclass(frozen=True)
class Markdown:
    """One or more paragraphs that depend on the results."""

    text: str

    def _repr_markdown_(self) -> str:
        return without_tags(self.text)

    def _ipython_display_(self) -> None:
        # Without this a notebook shows the object itself where there is nothing to say.
        if self.text:
            display({"text/markdown": self._repr_markdown_()}, raw=True)


@dataclass(frozen=True)
class Html:
    """A piece of a page."""

    text: str

    def _repr_html_(self) -> str:
        return self.text


def download(frame: pd.DataFrame, name: str, label: str, *sources: ModuleType) -> Html:
    """Links that save a table as a CSV file, and the modules that made the page's tables and figures.

    The links contain the files.
    """
    links = [_link(frame.to_csv(index=False), "text/csv", name, label)]
    for module in sources:
        path = Path(str(module.__file__))
        words = f"{module.__name__.replace('.', '/')}.py"
        links.append(_link(path.read_text(encoding="utf-8"), "text/x-python", path.name, words))
    made = f"<p>Tables and figures were made by {' and '.join(links[1:])}.</p>" if sources else ""
    return Html(f"<p>{links[0]}</p>{made}")


def _link(content: str, kind: str, name: str, label: str) -> str:
    encoded = b64encode(content.encode()).decode()
    return f'<a download="{escape(name)}" href="data:{kind};base64,{encoded}">{escape(label)}</a>'


def without_tags(text: str) -> str:
    """Markdown without HTML, except for links in angle brackets.

    Examples
    --------
    >>> without_tags("<b>x</b>, 1 < 2, <https://example.org>")
    '&lt;b>x&lt;/b>, 1 < 2, <https://example.org>'
    """
    return re.sub(r"<(?=[a-zA-Z/!?])(?!https?://[^\s<>]+>)", "&lt;", text)


def verbatim(text: object) -> str:
    r"""Markdown that shows a text literally: no emphasis, links, equations or tags.

    Examples
    --------
    >>> print(verbatim("a_b <i>"))
    a\_b &lt;i&gt;
    """
    return re.sub(
        r"([\\`*_{}\[\]()#+!|$~-])", r"\\\1", escape(" ".join(str(text).split()), quote=False)
    )


def code(name: object) -> str:
    """A name as code, or as plain text if code cannot show it.

    Examples
    --------
    >>> code("price"), code("<i>")
    ('`price`', '&lt;i&gt;')
    """
    plain = re.fullmatch(r"[^\s`<>&$|](?:[^`<>&$|\n]*[^\s`<>&$|])?", str(name))
    return f"`{name}`" if plain else verbatim(name)


def number(value: float, decimals: int = 3) -> str:
    """A number for a page, with a real minus sign.

    Examples
    --------
    >>> number(0.5), number(-0.0001)
    ('0.500', '0.000')
    """
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "\N{MINUS SIGN}")


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence.

    Examples
    --------
    >>> listed([]), listed(["one"]), listed(["one", "two", "three"])
    ('', 'one', 'one, two and three')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "data set"), counted(2000, "fit")
    ('1 data set', '2,000 fits')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return without_tags(str(value)).replace("|", r"\|")
