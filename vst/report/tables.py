"""Tables that a notebook shows as Markdown, so that links in them work."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True, eq=False)
class MarkdownTable:
    """A DataFrame of text that a notebook renders as a Markdown table; numbers go to the right."""

    frame: pd.DataFrame

    def _repr_markdown_(self) -> str:
        numeric = [pd.api.types.is_numeric_dtype(dtype) for dtype in self.frame.dtypes]
        rows = [
            list(map(str, self.frame.columns)),
            ["---:" if number else "---" for number in numeric],
            *(list(map(_cell, row)) for row in self.frame.itertuples(index=False)),
        ]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", r"\|")
