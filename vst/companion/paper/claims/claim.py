"""What a claim of the paper is, and what its rule makes of the paper's numbers and of ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from vst.companion.paper.evidence import Evidence, Part

Holds = Literal["holds", "partly", "fails", "undecided"]

#: What our numbers make of a claim, by what its rule says of them.
WORDS: Mapping[Holds, str] = {
    "holds": "reproduced",
    "partly": "partly reproduced",
    "fails": "not reproduced",
    "undecided": "not testable here",
}


class Judgement(NamedTuple):
    """What a rule found."""

    holds: Holds
    numbers: str


def decided(numbers: str, *, holds: bool, partly: bool) -> Judgement:
    """A rule that had all it looks at."""
    return Judgement("holds" if holds else "partly" if partly else "fails", numbers)


def undecided(so_far: str = "", nothing: str = "no results") -> Judgement:
    """A rule that lacks some of what it looks at, or all of it.

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
        The chapter whose evidence decides it: a notebook of the book.
    needs
        The parts of the evidence that the rule looks at.
    judge
        The rule, a function of these parts.
    printed
        The same rule on the numbers that the paper prints; None where it prints none.
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
    """What became of a claim.

    Attributes
    ----------
    claim
        The claim.
    paper
        What its rule says of the paper's own numbers; None where the paper prints none.
    here
        What it says of ours.
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
