"""The claims on pages: the number of each verdict, all claims with their verdicts, and the rules."""

from collections import Counter
from collections.abc import Sequence
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
        f'<a class="tile {css_class(word)}" href="{escape(page)}#{css_class(word)}">'
        f"<b>{counts[word]}</b> {escape(word)}</a>"
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


def browse(verdicts: Sequence[Verdict]) -> Html:
    """All claims: verdict, claim and our numbers; the rest unfolds. ``claims.js`` adds the filters."""
    entries = "".join(_entry(one, "claim") for one in verdicts)
    chapters = dict.fromkeys(one.claim.chapter for one in verdicts)
    options = "".join(f'<option value="{escape(c)}">{escape(c)}</option>' for c in chapters)
    buttons = "".join(
        f'<button type="button" id="{css_class(word)}" value="{css_class(word)}">{escape(word)}</button>'
        for word in WORDS.values()
    )
    return Html(
        '<div class="claim-list"><div class="filters" hidden>'
        f'<button type="button" value="">all</button>{buttons}'
        f'<label>chapter <select><option value="">all</option>{options}</select></label>'
        f'<span class="shown" aria-live="polite"></span></div>{entries}</div>'
    )


def of_chapter(verdicts: Sequence[Verdict], where: str = "") -> Html:
    """A box with the claims of a chapter: verdict, claim and our numbers; the rest unfolds.

    Parameters
    ----------
    where
        Show only the claims of this place in the paper, such as ``"figure 2"``.
    """
    shown = [one for one in verdicts if where in ("", one.claim.where)]
    return _box(shown, "".join(_entry(one, "shown") for one in shown))


def overview(verdicts: Sequence[Verdict]) -> Html:
    """The same box for a chapter that decides its claims figure by figure: each line leads there."""
    lines = "".join(
        f'<p class="claim">{mark(one)} <a href="#shown-{escape(one.claim.id)}">'
        f"{escape(one.claim.says)}</a></p>"
        for one in verdicts
    )
    return _box(verdicts, lines)


def _box(verdicts: Sequence[Verdict], lines: str) -> Html:
    counts = Counter(one.word for one in verdicts)
    found = ", ".join(f"{counts[word]} {word}" for word in WORDS.values() if counts[word])
    return Html(
        '<aside class="claim-box" aria-label="The claims and what we find">'
        f"<p><b>What the paper says, and what we find</b>: {found}</p>{lines}</aside>"
    )


def _entry(one: Verdict, prefix: str) -> str:
    """A claim that unfolds; its id begins with "claim" among all claims, with "shown" in its chapter."""
    name, chapter = escape(one.claim.id), escape(one.claim.chapter)
    links = {
        "claim": ("evidence", f"{chapter}.html#shown-{name}", f"the chapter on {chapter}"),
        "shown": ("all claims", f"claims.html#claim-{name}", "this claim among the others"),
    }
    what, address, text = links[prefix]
    facts = {
        "holds if": escape(one.claim.rule),
        "ours": escape(one.here.numbers),
        "the paper's own numbers": escape(_own(one.paper)),
        "in the paper": escape(one.claim.where),
        what: f'<a href="{address}">{text}</a>',
    }
    lines = "".join(f"<dt>{head}</dt><dd>{fact}</dd>" for head, fact in facts.items())
    return (
        f'<details class="claim" id="{prefix}-{name}" data-verdict="{css_class(one.word)}" '
        f'data-chapter="{chapter}"><summary>{mark(one)} '
        f"<span>{escape(one.claim.says)} <small>{escape(one.here.numbers)}</small></span></summary>"
        f"<dl>{lines}</dl></details>"
    )


def mark(verdict: Verdict) -> str:
    """The verdict as every page shows it: an HTML element that carries the claim's id."""
    return (
        f'<span class="verdict {css_class(verdict.word)}" data-claim="{escape(verdict.claim.id)}">'
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


def css_class(word: str) -> str:
    """A verdict's word as the name of its style."""
    return word.replace(" ", "-")


def _link(chapter: str) -> str:
    return f'<a href="{escape(chapter)}.html">{escape(chapter)}</a>'
