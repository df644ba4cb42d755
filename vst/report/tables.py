"""Tables that a notebook shows: as Markdown, whose links work, or as HTML where cells need marks."""

from base64 import b64encode
from dataclasses import dataclass
from html import escape

import pandas as pd


@dataclass(frozen=True, eq=False)
class MarkdownTable:
    """A DataFrame of text that a notebook renders as a Markdown table; numbers go to the right."""

    frame: pd.DataFrame

    def _repr_markdown_(self) -> str:
        if self.frame.empty:
            return "*Nothing to show.*"
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in self.frame.dtypes]
        rows = [
            list(map(str, self.frame.columns)),
            ["---:" if number else "---" for number in numeric],
            *(list(map(_cell, row)) for row in self.frame.itertuples(index=False)),
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@dataclass(frozen=True)
class Markdown:
    """A paragraph, or several, whose words depend on the results."""

    text: str

    def _repr_markdown_(self) -> str:
        return self.text


@dataclass(frozen=True)
class Html:
    """A piece of a page."""

    text: str

    def _repr_html_(self) -> str:
        return self.text


def download(frame: pd.DataFrame, name: str, label: str) -> Html:
    """A link in the page that saves a table as a CSV file; the file is inside the link."""
    content = b64encode(frame.to_csv(index=False).encode()).decode()
    return Html(
        f'<p><a download="{escape(name)}" href="data:text/csv;base64,{content}">{escape(label)}</a></p>'
    )


def number(value: float, decimals: int = 3) -> str:
    """A number as a page shows it, with a real minus sign.

    Examples
    --------
    >>> number(0.5), number(-0.0001)
    ('0.500', '0.000')
    """
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "\N{MINUS SIGN}")


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", r"\|")
