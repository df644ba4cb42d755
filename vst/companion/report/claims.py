"""The claims on pages: the number of each verdict, all claims with their verdicts, and the rules."""

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape

import pandas as pd

from vst.companion.paper.claims import WORDS, Judgement, Verdict
from vst.companion.paper.inconsistencies import INCONSISTENCIES
from vst.companion.report.tables import Html, MarkdownTable

#: Placeholder if the paper prints no numbers.
PRINTS_NONE = "prints none"


def scoreboard(verdicts: Sequence[Verdict]) -> Html:
    """Count the verdicts: one screen, one bar."""
    counts = Counter(verdict.word for verdict in verdicts)
    tiles = "".join(
        f'<div class="tile {_class(word)}"><b>{counts[word]}</b> {escape(word)}</div>'
        for word in WORDS.values()
    )
    return Html(f'<div class="scoreboard"><p>{len(verdicts)} claims:</p>{tiles}</div>')


def failed(verdicts: Sequence[Verdict]) -> Html:
    """List the claims that are not reproduced, each with our numbers and a link to its chapter."""
    lines = "".join(
        f"<li>{mark(one)} {escape(one.claim.says)}. Ours: {escape(one.here.numbers)} "
        f"({_link(one.claim.chapter)})</li>"
        for one in verdicts
        if one.word == WORDS["fails"]
    )
    return Html(f'<ul class="failed">{lines}</ul>' if lines else "<p>None.</p>")


def table(verdicts: Sequence[Verdict]) -> Html:
    """All claims, with the verdict first."""
    return _table(
        ("verdict", "the paper says", "ours", "the paper's own numbers", "where"),
        (
            (
                mark(one),
                escape(one.claim.says),
                escape(one.here.numbers),
                escape(_own(one.paper)),
                escape(one.claim.where),
            )
            for one in verdicts
        ),
    )


def of_chapter(verdicts: Sequence[Verdict], where: str = "") -> Html:
    """The claims of a chapter with their rules, as its evidence decides them.

    Parameters
    ----------
    where
        Show only the claims of this place in the paper, such as ``"figure 2"``.
    """
    return _table(
        ("the paper says", "it holds if", "ours", "the paper's own numbers", "verdict"),
        (
            (
                escape(one.claim.says),
                escape(one.claim.rule),
                escape(one.here.numbers),
                escape(_own(one.paper)),
                mark(one),
            )
            for one in verdicts
            if where in ("", one.claim.where)
        ),
    )


def rules(verdicts: Sequence[Verdict]) -> Html:
    """The rule of every claim, and the chapter with its evidence."""
    return _table(
        ("the paper says", "it holds if", "evidence"),
        (
            (escape(one.claim.says), escape(one.claim.rule), _link(one.claim.chapter))
            for one in verdicts
        ),
    )


def mark(verdict: Verdict) -> str:
    """The verdict as every page shows it: an HTML element that carries the claim's id."""
    return (
        f'<span class="verdict {_class(verdict.word)}" data-claim="{escape(verdict.claim.id)}">'
        f"{escape(verdict.word)}</span>"
    )


def frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """All facts about the claims, one row each."""
    return pd.DataFrame(
        {
            "id": one.claim.id,
            "claim": one.claim.says,
            "where": one.claim.where,
            "rule": one.claim.rule,
            "chapter": one.claim.chapter,
            "in the paper's table": "" if one.paper is None else _own(one.paper),
            "here": one.here.numbers,
            "verdict": one.word,
        }
        for one in verdicts
    )


def inconsistencies() -> MarkdownTable:
    """Where the paper's numbers contradict each other, its text, or the data."""
    return MarkdownTable(
        pd.DataFrame(
            {"where": entry.where, "what": entry.what, "evidence": entry.evidence}
            for entry in INCONSISTENCIES
        )
    )


def _own(paper: Judgement | None) -> str:
    return PRINTS_NONE if paper is None else f"{paper.holds}: {paper.numbers}"


def _class(word: str) -> str:
    return word.replace(" ", "-")


def _link(chapter: str) -> str:
    return f'<a href="{escape(chapter)}.html">{escape(chapter)}</a>'


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """A table with HTML cells; each cell names its column, since a phone shows rows as lists."""
    names = [escape(name) for name in heads]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(f"<tr>{''.join(map(_cell, names, row))}</tr>" for row in rows)
    return Html(
        '<div class="claims"><table class="table"><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(name: str, content: str) -> str:
    return f'<td data-column="{name}">{content}</td>'
