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


def scoreboard(verdicts: Sequence[Verdict], page: str = "") -> Html:
    """Count the verdicts: one screen, one bar; each count leads to its claims on a page."""
    counts = Counter(verdict.word for verdict in verdicts)
    tiles = "".join(
        f'<a class="tile {_class(word)}" href="{escape(page)}#{_class(word)}">'
        f"<b>{counts[word]}</b> {escape(word)}</a>"
        for word in WORDS.values()
    )
    return Html(f'<div class="scoreboard"><p>{len(verdicts)} claims:</p>{tiles}</div>')


def summary(verdicts: Sequence[Verdict]) -> Html:
    """One sentence for a reader who reads no other."""
    decided = [one for one in verdicts if one.word != WORDS["undecided"]]
    counts = Counter(one.word for one in decided)
    hold, partly, fail = (counts[WORDS[name]] for name in ("holds", "partly", "fails"))
    return Html(
        f"<p><b>Of the {len(decided)} claims of the paper that can be tested, {hold} hold here, "
        f"{partly} hold in part, and {fail} do not.</b></p>"
    )


def failed(verdicts: Sequence[Verdict]) -> Html:
    """List the claims that are not reproduced, each with our numbers and a link to its chapter."""
    lines = "".join(
        f"<li>{mark(one)} {escape(one.claim.says)}. Ours: {escape(one.here.numbers)} "
        f"({_link(one.claim.chapter)})</li>"
        for one in verdicts
        if one.word == WORDS["fails"]
    )
    return Html(f'<ul class="failed">{lines}</ul>' if lines else "<p>None.</p>")


def browse(verdicts: Sequence[Verdict]) -> Html:
    """All claims: verdict, claim and our numbers; the rest unfolds. ``claims.js`` adds the filters."""
    entries = "".join(_entry(one) for one in verdicts)
    chapters = dict.fromkeys(one.claim.chapter for one in verdicts)
    options = "".join(f'<option value="{escape(c)}">{escape(c)}</option>' for c in chapters)
    buttons = "".join(
        f'<button type="button" id="{_class(word)}" value="{_class(word)}">{escape(word)}</button>'
        for word in WORDS.values()
    )
    return Html(
        '<div class="claim-list"><div class="filters" hidden>'
        f'<button type="button" value="">all</button>{buttons}'
        f'<label>chapter <select><option value="">all</option>{options}</select></label>'
        f'<span class="shown" aria-live="polite"></span></div>{entries}</div>'
    )


def _entry(one: Verdict) -> str:
    facts = {
        "holds if": escape(one.claim.rule),
        "ours": escape(one.here.numbers),
        "the paper's own numbers": escape(_own(one.paper)),
        "in the paper": escape(one.claim.where),
        "evidence": f'<a href="{escape(one.claim.chapter)}.html#shown-{escape(one.claim.id)}">'
        f"the chapter on {escape(one.claim.chapter)}</a>",
    }
    lines = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items())
    return (
        f'<details class="claim" id="claim-{escape(one.claim.id)}" data-verdict="{_class(one.word)}" '
        f'data-chapter="{escape(one.claim.chapter)}"><summary>{mark(one)} '
        f"<span>{escape(one.claim.says)} <small>{escape(one.here.numbers)}</small></span></summary>"
        f"<dl>{lines}</dl></details>"
    )


def of_chapter(verdicts: Sequence[Verdict], where: str = "") -> Html:
    """The claims of a chapter with their rules, as its evidence decides them.

    Parameters
    ----------
    where
        Show only the claims of this place in the paper, such as ``"figure 2"``.
    """
    shown = [one for one in verdicts if where in ("", one.claim.where)]
    return _table(
        ("the paper says", "it holds if", "ours", "the paper's own numbers", "verdict"),
        (
            (
                escape(one.claim.says),
                escape(one.claim.rule),
                escape(one.here.numbers),
                escape(_own(one.paper)),
                f'{mark(one)} <a class="back" href="claims.html#claim-{escape(one.claim.id)}" '
                'title="this claim among all">#</a>',
            )
            for one in shown
        ),
        [f"shown-{one.claim.id}" for one in shown],
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


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], ids: Sequence[str]) -> Html:
    """A table with HTML cells; each cell names its column, since a phone shows rows as lists."""
    names = [escape(name) for name in heads]
    head = "".join(f"<th>{name}</th>" for name in names)
    body = "".join(
        f'<tr id="{escape(row_id)}">{"".join(map(_cell, names, row))}</tr>'
        for row_id, row in zip(ids, rows, strict=True)
    )
    return Html(
        '<div class="claims"><table class="table"><thead><tr>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cell(name: str, content: str) -> str:
    return f'<td data-column="{name}">{content}</td>'
