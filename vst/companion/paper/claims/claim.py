"""A claim of the paper, and its rule's judgement of the paper's numbers and of ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from vst.companion.paper.evidence import Evidence, Part

Holds = Literal["holds", "partly", "fails", "undecided"]

#: The verdict on a claim, by its rule's judgement of our numbers.
WORDS: Mapping[Holds, str] = {
    "holds": "reproduced",
    "partly": "partly reproduced",
    "fails": "not reproduced",
    "undecided": "not testable here",
}


class Judgement(NamedTuple):
    """The outcome of a rule."""

    holds: Holds
    numbers: str


def decided(numbers: str, *, holds: bool, partly: bool) -> Judgement:
    """The judgement of a rule that had all its evidence."""
    return Judgement("holds" if holds else "partly" if partly else "fails", numbers)


def undecided(so_far: str = "", nothing: str = "no results") -> Judgement:
    """The judgement of a rule that lacks some or all of its evidence.

    Examples
    --------
    >>> undecided("financial first").numbers, undecided().numbers
    ('so far financial first', 'no results')
    """
    return Judgement("undecided", f"so far {so_far}" if so_far else nothing)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, and the rule that decides it.

    Attributes
    ----------
    id
        A short name.
    where
        The place in the paper.
    says
        The claim, in our words.
    rule
        When it holds, in words.
    chapter
        The chapter (a notebook of the book) whose evidence decides it.
    needs
        The parts of the evidence that the rule uses.
    judge
        The rule, a function of these parts.
    printed
        The same rule on the paper's printed numbers; None if it prints none.
    """

    id: str
    where: str
    says: str
    rule: str
    chapter: str
    needs: tuple[Part, ...]
    judge: Callable[..., Judgement]
    printed: Callable[[], Judgement] | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on a claim.

    Attributes
    ----------
    claim
        The claim.
    paper
        Its rule's judgement of the paper's own numbers; None if the paper prints none.
    here
        Its rule's judgement of ours.
    """

    claim: Claim
    paper: Judgement | None
    here: Judgement

    @property
    def word(self) -> str:
        """One of `WORDS`."""
        return WORDS[self.here.holds]


def verdict(claim: Claim, evidence: Evidence) -> Verdict:
    """Apply a claim's rule to the paper's numbers and to ours."""
    parts = [getattr(evidence, name) for name in claim.needs]
    missing = any(part is None or part.empty for part in parts)
    paper = claim.printed() if claim.printed else None
    return Verdict(claim, paper, undecided() if missing else claim.judge(*parts))
