"""The claims chapter: every claim, its rule, the paper's own numbers, ours, and the verdict."""

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from vst.paper.claims import CLAIMS, Claim, Holds
from vst.paper.inconsistencies import INCONSISTENCIES
from vst.paper.tables import printed
from vst.report.scores import WHOLE, scores_of
from vst.report.tables import Markdown, MarkdownTable

#: What our numbers make of a claim, by what its rule says of them.
VERDICTS: Mapping[Holds, str] = {
    "holds": "reproduced",
    "partly": "partly reproduced",
    "fails": "not reproduced",
    "undecided": "not testable here",
}

#: The column of our results behind each of the paper's tables.
COLUMNS = {"log_likelihood": "log_likelihood", "rmse": "rmse", "ood_auroc": "auroc"}


def judged(results: pd.DataFrame, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """Apply every rule to the paper's table and to our results.

    Returns
    -------
    pandas.DataFrame
        One row per claim: claim, where, rule, paper (holds or not), paper's numbers, ours, verdict.
    """
    rows = []
    for claim in claims:
        ours = scores_of(results, COLUMNS[claim.table])
        # A part of a data set counts as that data set; no rule knows it by name.
        ours = ours.assign(dataset=[WHOLE.get(name) or name for name in ours["dataset"]])
        paper, here = claim.judge(printed(claim.table)), claim.judge(ours)
        rows.append(
            {
                "claim": claim.says,
                "where": claim.where,
                "rule": claim.rule,
                "in the paper's table": f"{paper.holds}: {paper.numbers}",
                "here": here.numbers,
                "verdict": VERDICTS[here.holds],
            }
        )
    return pd.DataFrame(rows)


def scoreboard(found: pd.DataFrame) -> Markdown:
    """Count the verdicts, in a line."""
    counts = Counter(found["verdict"])
    parts = (f"**{counts[verdict]}** {verdict}" for verdict in VERDICTS.values())
    return Markdown(f"Of {len(found)} claims: {', '.join(parts)}.")


def table(found: pd.DataFrame) -> MarkdownTable:
    """All claims, with the verdict first."""
    return MarkdownTable(found[["verdict", "claim", "here", "in the paper's table", "where"]])


def rules(found: pd.DataFrame) -> MarkdownTable:
    """The rule of every claim."""
    return MarkdownTable(found[["claim", "rule"]])


def inconsistencies() -> MarkdownTable:
    """Where the paper's numbers contradict each other, its text, or the data."""
    return MarkdownTable(
        pd.DataFrame(
            {"where": entry.where, "what": entry.what, "evidence": entry.evidence}
            for entry in INCONSISTENCIES
        )
    )
