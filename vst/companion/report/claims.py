"""The claims chapter: every claim, its rule, the paper's own numbers, ours, and the verdict."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from vst.companion.experiments import bandits, picture_runs
from vst.companion.experiments.obtain import rank_results, regression_results
from vst.companion.experiments.pictures import PROBLEMS
from vst.companion.experiments.profiles import profile as find_profile
from vst.companion.paper import ARTEFACT_BY_ID
from vst.companion.paper.claims import (
    CLAIMS,
    MANY_TREES,
    ONE_TREE,
    VSGBM,
    VST,
    Claim,
    Holds,
    printed_scores,
)
from vst.companion.paper.inconsistencies import INCONSISTENCIES
from vst.companion.report import rank
from vst.companion.report.scores import WHOLE, scores_of
from vst.companion.report.tables import Html, MarkdownTable
from vst.datasets import CATALOGUE

#: What our numbers make of a claim, by what its rule says of them.
VERDICTS: Mapping[Holds, str] = {
    "holds": "reproduced",
    "partly": "partly reproduced",
    "fails": "not reproduced",
    "undecided": "not testable here",
}

#: The column of our results behind each of the paper's tables of regression scores.
COLUMNS = {"log_likelihood": "log_likelihood", "rmse": "rmse", "ood_auroc": "auroc"}

#: What a row about a claim holds.
FIELDS = ("claim", "where", "rule", "in the paper's table", "here", "verdict")

#: Data sets below this many rows are those on which the paper calls its models slower.
FEW_ROWS = 10_000

#: Instantaneous regret below this share of the random policy's is near zero.
NEAR_ZERO = 0.05


def everything(profile: str = "paper") -> pd.DataFrame:
    """Every claim, decided by a profile's results; those of ``paper`` are published."""
    regression, ranks = regression_results(profile), rank_results(profile)
    played = bandits.results(profile)
    pictures = picture_runs.obtain(find_profile(profile), compute=profile != "paper")
    scores = regression_scores(regression.results) | bandit_scores(played.runs)
    parts = [
        judged(scores),
        about_rank(ranks.results),
        about_instantaneous_regret(played.histories, played.runs),
        about_time(regression.results, {name: info.rows for name, info in CATALOGUE.items()}),
        about_pictures(pictures),
    ]
    return pd.concat(parts, ignore_index=True)


def regression_scores(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Our scores by the paper's table. A part of a data set counts as that data set."""
    found = {}
    for table, column in COLUMNS.items():
        ours = scores_of(results, column)
        found[table] = ours.assign(dataset=[WHOLE.get(d) or d for d in ours["dataset"]])
    return found


def bandit_scores(runs: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Our mean regrets, in the form of the paper's table."""
    return {"bandit_regret": bandits.summary(runs).rename(columns={"regret": "mean"})}


def judged(scores: Mapping[str, pd.DataFrame], claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """Apply every rule to the paper's table and to our scores, by table.

    Returns
    -------
    pandas.DataFrame
        One row per claim, with the columns of `FIELDS`.
    """
    rows = []
    for claim in claims:
        paper, here = claim.judge(printed_scores(claim.table)), claim.judge(scores[claim.table])
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
    return pd.DataFrame(rows, columns=list(FIELDS))


def about_rank(results: pd.DataFrame) -> pd.DataFrame:
    """Figure 3: whether detection gets better with the rank, by the rank chapter's rule."""
    found = rank.slopes(results)
    helps, hurts = (int((found["verdict"] == kind).sum()) for kind in ("helps", "hurts"))
    return _rows(
        claim="OOD detection generally improves with the rank of the posterior",
        where="section 5.2, figure 3",
        rule="rank clearly helps in more than half of the configurations and clearly hurts in fewer "
        "than a tenth; partly if it helps more often than it hurts",
        here=f"helps in {helps}, hurts in {hurts} of {len(found)}" if len(found) else "",
        verdict=rank.judge(found),
    )


def about_instantaneous_regret(histories: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Figure 4: the regret per step at the end of the financial bandit."""
    share = final_share(histories, runs, "vst", "financial")
    return _rows(
        claim="VST converges to near zero instantaneous regret on the financial bandit",
        where="section 5.3, figure 4",
        rule=f"in the last tenth of the steps, below {NEAR_ZERO:.0%} of the random policy's regret",
        here="" if share is None else f"{share:.1%} of the random policy's",
        verdict=_verdict(None if share is None else share < NEAR_ZERO),
    )


def final_share(
    histories: pd.DataFrame, runs: pd.DataFrame, agent: str, bandit: str
) -> float | None:
    """Regret in the last tenth of the steps as a share of the random policy's, mean over runs."""
    shares = []
    chosen = runs[(runs["model"] == agent) & (runs["dataset"] == bandit)]
    for row in chosen.to_dict("records"):
        history = histories[histories["key"] == row["key"]].set_index("step")["regret"]
        start = history.index[history.index <= 0.9 * row["steps"]].max()
        steps = row["steps"] - start
        late = (history[row["steps"]] - history[start]) / steps
        shares.append(late / (row["random_regret"] / row["steps"]))
    return float(sum(shares) / len(shares)) if shares else None


def about_time(results: pd.DataFrame, sizes: Mapping[str, int]) -> pd.DataFrame:
    """The discussion: on few rows, soft trees are slower than tree libraries.

    Parameters
    ----------
    sizes
        Rows of each data set.
    """
    seconds = results.pivot_table(index="dataset", columns="model", values="seconds")
    few = seconds[[sizes.get(str(name), FEW_ROWS) < FEW_ROWS for name in seconds.index]]
    pairs = {
        "VST": (VST, ONE_TREE[1:]),
        "VSGBM": (VSGBM, MANY_TREES[1:]),
    }
    slower, total, words = 0, 0, []
    for name, (ours, rivals) in pairs.items():
        both = few.reindex(columns=[*ours, *rivals]).dropna()
        if len(both):
            times = int((both[list(ours)].min(axis=1) > both[list(rivals)].max(axis=1)).sum())
            slower, total = slower + times, total + len(both)
            words.append(f"{name} on {times} of {len(both)}")
    share = slower / total if total else None
    return _rows(
        claim=f"On data below {FEW_ROWS:,} rows, soft trees are slower than standard decision trees",
        where="section 6",
        rule="the faster type of leaf takes longer than XBART, SGLB and XGBoost of its group on every "
        "such data set; partly if on at least half",
        here=", ".join(words),
        verdict=_verdict(None if share is None else share == 1, partly=(share or 0) >= 0.5),
    )


def about_pictures(found: pd.DataFrame) -> pd.DataFrame:
    """What the captions of the pictures say, as decided by the experiment itself."""
    rows: list[dict[str, Any]] = []
    for row in found.to_dict("records"):
        figure = ARTEFACT_BY_ID[PROBLEMS[str(row["picture"])].artefact]
        printed = {"True": "holds", "False": "fails"}.get(str(row["printed"]), "")
        rows.append(
            {
                "claim": f"{str(row['picture']).capitalize()}: {row['says']}",
                "where": f"{figure.kind} {figure.number}",
                "rule": row["rule"],
                "in the paper's table": printed,
                "here": row["measured"],
                "verdict": row["verdict"],
            }
        )
    return pd.DataFrame(rows, columns=list(FIELDS))


def scoreboard(found: pd.DataFrame) -> Html:
    """Count the verdicts: one screen, one bar."""
    counts = Counter(found["verdict"])
    tiles = "".join(
        f'<div class="tile {verdict.replace(" ", "-")}"><b>{counts[verdict]}</b> {verdict}</div>'
        for verdict in VERDICTS.values()
    )
    return Html(f'<div class="scoreboard"><p>{len(found)} claims:</p>{tiles}</div>')


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


def _verdict(holds: bool | None, *, partly: bool = False) -> str:
    if holds is None:
        return VERDICTS["undecided"]
    return VERDICTS["holds" if holds else "partly" if partly else "fails"]


def _rows(**fields: str) -> pd.DataFrame:
    return pd.DataFrame([{"in the paper's table": "", **fields}], columns=list(FIELDS))
