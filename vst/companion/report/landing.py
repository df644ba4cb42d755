"""The front page: the sentence at its top, and a card for each chapter."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import pandas as pd

from vst.companion.paper import ARTEFACTS
from vst.companion.paper.claims import MANY_TREES, ONE_TREE, VSGBM, VST, WORDS, Verdict, count
from vst.companion.paper.claims.claim import Holds
from vst.companion.paper.claims.tables import our_scores, printed_scores
from vst.companion.report.claims import css_class
from vst.companion.report.scores import ROUNDED
from vst.companion.report.tables import Html, listed


@dataclass(frozen=True)
class Finding:
    """A claim that the sentence names, and the two sides that it compares."""

    claim: str
    words: str
    table: str
    ours: Sequence[str]
    rivals: Sequence[str]


#: The claims to know for those who read no others.
FINDINGS = (
    Finding("vst-likelihood", "VST's better log-likelihood", "log_likelihood", VST, ONE_TREE),
    Finding("vsgbm-likelihood", "VSGBM's best log-likelihood", "log_likelihood", VSGBM, MANY_TREES),
    Finding("vst-ood", "VST's better detection of OOD rows", "ood_auroc", VST, ONE_TREE),
    Finding("vsgbm-ood", "VSGBM's best detection of OOD rows", "ood_auroc", VSGBM, MANY_TREES),
)

#: What one claim with a verdict does, and what several do.
VERBS: dict[Holds, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "partly": ("holds in part", "hold in part"),
    "fails": ("does not hold", "do not hold"),
    "undecided": ("cannot be tested", "cannot be tested"),
}


def headline(verdicts: Sequence[Verdict], results: pd.DataFrame) -> Html:
    """One sentence for those who read no other: what the paper claims, and what holds.

    Parameters
    ----------
    verdicts
        The verdicts on all claims.
    results
        The regression results, in which data sets are counted.
    """
    counts = Counter(one.here.holds for one in verdicts)
    decided = [holds for holds in VERBS if holds != "undecided"]
    shares = [f"{counts[holds]} {_verb(holds, counts[holds])}" for holds in decided]
    here = {one.claim.id: one.here.holds for one in verdicts}
    groups = []
    for holds in VERBS:
        found = [_said(one, results) for one in FINDINGS if here.get(one.claim) == holds]
        if found:
            groups.append(f"{listed(found)} <b>{_verb(holds, len(found))}</b>")
    return Html(
        '<p class="headline">The paper claims that soft trees, fitted by variational inference, '
        "predict better distributions than their peers and recognise rows unlike the training data "
        f"(out of distribution, OOD); of its {sum(counts[holds] for holds in decided)} claims that "
        f"can be tested, <b>{listed(shares)}</b> here: {'; '.join(groups)}.</p>"
    )


def _said(finding: Finding, results: pd.DataFrame) -> str:
    """A claim in words that link to it, with the data sets on which its side is better."""
    sides = (finding.table, finding.ours, finding.rivals)
    ours = count(our_scores(results, finding.table), *sides)
    paper = count(printed_scores(finding.table), *sides)
    link = f'<a href="claims.html#claim-{finding.claim}">{escape(finding.words)}</a>'
    if ours is None or paper is None:
        return link
    apart = ""
    if finding.table == "log_likelihood":  # which has no bound where targets are whole numbers
        scores = our_scores(results, finding.table)
        smooth = count(scores[~scores["dataset"].isin(ROUNDED)], *sides)
        if smooth is not None and smooth.total < ours.total:
            apart = f"{smooth.better} of {smooth.total} without <i>{' and '.join(ROUNDED)}</i>, "
    return (
        f"{link} ({ours.better} of {ours.total} data sets, {apart}"
        f"{paper.better} in the paper's table)"
    )


def _verb(holds: Holds, number: int) -> str:
    singular, plural = VERBS[holds]
    return singular if number == 1 else plural


@dataclass(frozen=True)
class Card:
    """A chapter on the front page: its file, its title and what it asks."""

    chapter: str
    title: str
    asks: str


#: The chapters in the order of the table of contents.
CARDS = (
    Card("claims", "The claims", "What does the paper claim, and what decides each claim?"),
    Card("method", "The method", "How does a soft tree work? Move one with sliders."),
    Card("regression", "Regression", "How good are distributions and errors on ten data sets?"),
    Card("ood", "Out-of-distribution detection", "Are rows unlike the training data noticed?"),
    Card("blind", "Blind", "And on splits of the data that no one has scored on?"),
    Card("rank", "The rank of the posterior", "Do more correlations detect more?"),
    Card("uncertainty", "Pictures of uncertainty", "Where does the uncertainty grow?"),
    Card("bandits", "Bandits", "Does the uncertainty lead to good decisions?"),
    Card("beyond", "Beyond the paper", "What makes the models better, step by step?"),
    Card("classification", "Classification", "How good are soft trees for classes?"),
    Card(
        "learning", "Learning on", "Can a model learn from new rows without a fit to all of them?"
    ),
    Card("cost", "Cost", "How much time does the quality take?"),
    Card("scaling", "More machines", "How do I use a GPU, several, or a cluster?"),
    Card("own_data", "Your own data", "How do I run the models on my table?"),
    Card("data", "The data", "What is in each data set, and where is it from?"),
    Card("reference", "Reference", "What are the classes and functions of the package?"),
    Card("execution", "Execution", "When, where and with what were these pages made?"),
)

#: The ids of the places in the chapters that rebuild the paper's tables, figures and algorithms.
PLACES = {
    "algorithm-1": "boosting",
    "table-1": "log-likelihood-the-paper-s-table-1",
    "table-2": "the-paper-s-table-2",
    "table-3": "regret-the-paper-s-table-3",
    "table-4": "the-paper-s-table-4-rebuilt",
    "table-5": "the-settings-the-paper-s-table-5",
    "table-6": "error-the-paper-s-table-6",
    "figure-1": "fig-soft-tree",
    "figure-2": "fig-tails",
    "figure-3": "fig-rank-selected",
    "figure-4": "fig-bandits",
    "figure-5": "fig-gap",
    "figure-6": "fig-step",
    "figure-7": "fig-wavelet",
}


def cards(verdicts: Sequence[Verdict]) -> Html:
    """A card for each chapter: what of the paper it rebuilds, and the number of its claims by verdict.

    `vst.companion.driver.pages` puts a thumbnail of the chapter's main figure into each card.
    """
    made = "".join(
        _card(card, [one for one in verdicts if card.chapter in ("claims", one.claim.chapter)])
        for card in CARDS
    )
    return Html(f'<div class="chapter-cards">{made}</div>')


def _card(card: Card, verdicts: Sequence[Verdict]) -> str:
    page = f"{card.chapter}.html"
    rebuilt = ", ".join(
        f'<a href="{page}#{PLACES[one.id]}" title="{escape(one.title)}">{escape(one.name)}</a>'
        for one in ARTEFACTS
        if one.chapter == card.chapter
    )
    counts = Counter(one.word for one in verdicts)
    found = "".join(
        f'<span class="verdict {css_class(word)}">{counts[word]} {escape(word)}</span>'
        for word in WORDS.values()
        if counts[word]
    )
    return (
        f'<div class="chapter-card"><span class="thumbnail" data-chapter="{card.chapter}"></span>'
        f'<div><a class="chapter" href="{page}">{escape(card.title)}</a>'
        f"<p>{escape(card.asks)}</p>"
        f"{f'<p>{rebuilt}</p>' if rebuilt else ''}{found}</div></div>"
    )
