"""The list of all claims of the paper, with the rule that decides each."""

from collections.abc import Callable, Sequence

import pandas as pd

from vst.companion.paper.artefacts import ARTEFACT_BY_ID
from vst.companion.paper.claims import pictures, rank, timing
from vst.companion.paper.claims.bandits import (
    COMPARABLE,
    NEAR_ZERO,
    comparable_to_random,
    mean_regrets,
    near_zero_at_the_end,
    ranked,
)
from vst.companion.paper.claims.claim import Claim, Judgement, Verdict, verdict
from vst.companion.paper.claims.tables import (
    MANY_TREES,
    ONE_TREE,
    VSGBM,
    VST,
    Rule,
    duel,
    favourable,
    on_sets,
    our_scores,
    printed_scores,
)
from vst.companion.paper.evidence import Evidence
from vst.companion.paper.tables import TABLES
from vst.companion.protocol.synthetic import NOISE


def _scores(name: str, where: str, says: str, rule: str, table: str, judge: Rule) -> Claim:
    """A claim about a table of scores."""
    chapter = ARTEFACT_BY_ID[TABLES[table].artefacts[0]].chapter
    return Claim(
        name, where, says, rule, chapter, ("regression",),
        judge=lambda results: judge(our_scores(results, table)),
        printed=lambda: judge(printed_scores(table)),
    )  # fmt: skip


def _duel(
    name: str,
    where: str,
    says: str,
    table: str,
    ours: Sequence[str],
    rivals: Sequence[str],
    better: int,
    at_least_equal: int,
) -> Claim:
    """A claim about the number of data sets on which one side is better."""
    rule = (
        f"better on at least {better} of the ten data sets, and better or equal on at least "
        f"{at_least_equal}; partly if better more often than worse"
    )
    judge = duel(table, ours, rivals, better=better, at_least_equal=at_least_equal)
    return _scores(name, where, says, rule, table, judge)


def _regret(name: str, where: str, says: str, rule: str, judge: Rule) -> Claim:
    """A claim about the table of regret."""
    return Claim(
        name, where, says, rule, "bandits", ("runs",),
        judge=lambda runs: judge(mean_regrets(runs)),
        printed=lambda: judge(printed_scores("bandit_regret")),
    )  # fmt: skip


def _picture(
    name: str,
    figure: int,
    says: str,
    rule: str,
    judge: Callable[[pd.DataFrame], Judgement],
    printed: Callable[[], Judgement] | None = None,
) -> Claim:
    """A claim of a caption."""
    return Claim(name, f"figure {figure}", says, rule, "uncertainty", ("pictures",), judge, printed)


def _spread(figure: int, picture: str) -> tuple[Claim, ...]:
    """The claims of figures 2 and 5 about places without and with data."""
    place, name = f"in the {picture}", picture.capitalize()
    return (
        _picture(
            f"{picture}-spread", figure,
            f"{name}: VST shows high uncertainty {place}",
            f"its spread {place} is at least {pictures.HIGH:g} times its spread inside the data",
            pictures.on_every_set(
                picture, "ratio", ["vst"], lambda ratio: ratio["vst"] >= pictures.HIGH, "times"
            ),
        ),
        _picture(
            f"{picture}-mean", figure,
            f"{name}: while closely agreeing with the true mean inside the support",
            f"its error there is below the noise, {NOISE:g}",
            pictures.on_every_set(picture, "rmse", ["vst"], lambda error: error["vst"] < NOISE),
        ),
        _picture(
            f"{picture}-diversity", figure,
            f"{name}: more diversity {place} than with XBART and SGLB",
            f"its spread {place} is the widest of the three",
            pictures.on_every_set(picture, "outside", pictures.THREE, pictures.widest),
        ),
    )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (
    _duel(
        "vst-likelihood", "section 5.1, table 1",
        "VST has a better log-likelihood than its peers on 7 of 10 data sets, and an equal one on 1",
        "log_likelihood", VST, ONE_TREE, 7, 8,
    ),
    _duel(
        "vst-rmse", "section 5.1, table 6",
        "VST has a lower error than its peers on 3 of 10 data sets, and an equal one on 3",
        "rmse", VST, ONE_TREE, 3, 6,
    ),
    _duel(
        "vst-linear-likelihood", "section 5.1",
        "VST with linear leaves has a better log-likelihood than with constant ones on 8 of 10",
        "log_likelihood", ["vst-linear"], ["vst-const"], 8, 8,
    ),
    _duel(
        "vst-linear-rmse", "section 5.1",
        "VST with linear leaves has a lower error than with constant ones on 5 of 10",
        "rmse", ["vst-linear"], ["vst-const"], 5, 5,
    ),
    _scores(
        "vst-small-data", "section 5.1",
        "VST is less competitive on the small data sets boston and yacht",
        "worse than the best peer on both; partly if on one",
        "log_likelihood",
        on_sets("log_likelihood", VST, ONE_TREE, {"boston": "worse", "yacht": "worse"}),
    ),
    _duel(
        "vsgbm-likelihood", "section 5.1, table 1",
        "VSGBM has the best log-likelihood on 7 of 10 data sets, and is on par on 2",
        "log_likelihood", VSGBM, MANY_TREES, 7, 9,
    ),
    _scores(
        "vsgbm-sets", "section 5.1",
        "VSGBM is on par with its peers on power and boston, and worse on yacht",
        "these three outcomes; partly if most of them",
        "log_likelihood",
        on_sets(
            "log_likelihood", VSGBM, MANY_TREES,
            {"power": "equal", "boston": "equal", "yacht": "worse"},
        ),
    ),
    _duel(
        "xgboost-rmse", "section 5.1 and supplement",
        "XGBoost has a lower error than VSGBM on all but three data sets, and an equal one on 2",
        "rmse", ["xgboost"], VSGBM, 7, 9,
    ),
    _duel(
        "vsgbm-deep-ensemble", "section 5.1 and supplement",
        "VSGBM has a lower error than the deep ensemble on every data set",
        "rmse", VSGBM, ["deep-ensemble"], 10, 10,
    ),
    _scores(
        "vsgbm-sglb", "section 5.1 and supplement",
        "VSGBM's error compares favourably with SGLB's",
        "better on more data sets than worse; partly if on as many",
        "rmse", favourable("rmse", VSGBM, ["sglb"]),
    ),
    _scores(
        "vsgbm-xbart", "section 5.1 and supplement",
        "VSGBM's error compares favourably with XBART's",
        "better on more data sets than worse; partly if on as many",
        "rmse", favourable("rmse", VSGBM, ["xbart"]),
    ),
    _duel(
        "vsgbm-linear-likelihood", "section 5.1",
        "VSGBM with linear leaves has a better log-likelihood than with constant ones on 4 of 10, "
        "and an equal one on 5",
        "log_likelihood", ["vsgbm-linear"], ["vsgbm-const"], 4, 9,
    ),
    _duel(
        "vsgbm-linear-rmse", "section 5.1",
        "VSGBM with linear leaves has a lower error than with constant ones on 3 of 10, and an equal "
        "one on 6",
        "rmse", ["vsgbm-linear"], ["vsgbm-const"], 3, 9,
    ),
    _duel(
        "boosting-rmse", "section 5.1 and supplement",
        "VSGBM has a lower error than VST on 8 of 10 data sets, and an equal one on the other 2",
        "rmse", VSGBM, VST, 8, 10,
    ),
    _duel(
        "boosting-likelihood", "section 5.1",
        "VST has a better log-likelihood than VSGBM on 5 of 10 data sets, and an equal one on 2",
        "log_likelihood", VST, VSGBM, 5, 7,
    ),
    _duel(
        "vst-ood", "section 5.2, table 2",
        "VST detects OOD rows better than its peers on 6 of 10 data sets, and as well on the others",
        "ood_auroc", VST, ONE_TREE, 6, 10,
    ),
    _duel(
        "vsgbm-ood", "section 5.2, table 2",
        "VSGBM detects OOD rows best on 5 of 10 data sets, and as well as the best on 2",
        "ood_auroc", VSGBM, MANY_TREES, 5, 7,
    ),
    _regret(
        "bandits-lowest", "section 5.3, table 3",
        "VST has the lowest cumulative regret on the financial and the mushroom bandit",
        "first of the paper's three agents on both; partly if on one",
        ranked("vst", ("xbart", "sglb"), {"financial": 1, "mushroom": 1}),
    ),
    _regret(
        "bandits-second", "section 5.3, table 3",
        "VST has the second lowest regret on the exploration and the jester bandit",
        "first or second of the paper's three agents on both; partly if on one",
        ranked("vst", ("xbart", "sglb"), {"exploration": 2, "jester": 2}),
    ),
    _regret(
        "bandits-jester", "section 5.3",
        "All three agents are comparable to the random policy on jester",
        f"each has at least {COMPARABLE:.0%} of its regret; partly if some have",
        comparable_to_random(("vst", "xbart", "sglb"), "jester"),
    ),
    Claim(
        "bandits-financial-end", "section 5.3, figure 4",
        "VST converges to near zero instantaneous regret on the financial bandit",
        f"in the last tenth of the steps, below {NEAR_ZERO:.0%} of the random policy's regret",
        "bandits", ("runs", "histories"), near_zero_at_the_end,
    ),
    Claim(
        "rank-auroc", "section 5.2, figure 3",
        "OOD detection generally improves with the rank of the posterior",
        "rank clearly helps in more than half of the configurations and clearly hurts in fewer "
        "than a tenth; partly if it helps more often than it hurts",
        "rank", ("rank",), rank.generally_helps,
    ),
    Claim(
        "time-small-data", "section 6",
        f"On data below {timing.SMALL_DATA:,} rows, soft trees are slower than standard decision trees",
        "the faster type of leaf takes longer than XBART, SGLB and XGBoost of its group on every "
        "such data set; partly if on at least half",
        "regression", ("regression",), timing.slower_on_few_rows,
    ),
    *_spread(2, "tails"),
    *_spread(5, "gap"),
    _picture(
        "step-fit", 6,
        "Step: VST can fit this non-smooth function",
        f"its error away from the step is below the noise, {NOISE:g}",
        pictures.on_every_set("step", "away", ["vst"], lambda error: error["vst"] < NOISE),
    ),
    _picture(
        "step-away", 6,
        "Step: as well as the hard trees of XBART and SGLB: away from the step",
        "its error is no larger than the larger of theirs",
        pictures.on_every_set("step", "away", pictures.THREE, pictures.no_worse_than_hard_trees),
    ),
    _picture(
        "step-everywhere", 6,
        "Step: as well as the hard trees of XBART and SGLB: everywhere",
        "its error is no larger than the larger of theirs",
        pictures.on_every_set("step", "rmse", pictures.THREE, pictures.no_worse_than_hard_trees),
        pictures.as_printed("step", pictures.THREE, pictures.no_worse_than_hard_trees),
    ),
    _picture(
        "wavelet-underfit", 7,
        "Wavelet: VST and VSGBM underfit this complex function",
        "both errors are larger than both of XBART's and SGLB's",
        pictures.on_every_set("wavelet", "rmse", pictures.FOUR, pictures.underfit),
        pictures.as_printed("wavelet", pictures.FOUR, pictures.underfit),
    ),
    _picture(
        "wavelet-boosting", 7,
        "Wavelet: VSGBM visually improves the fit over a VST",
        f"its error is below {pictures.LESS:.0%} of the VST's",
        pictures.on_every_set("wavelet", "rmse", pictures.SOFT, pictures.boosting_improves),
        pictures.as_printed("wavelet", pictures.SOFT, pictures.boosting_improves),
    ),
    _picture(
        "wavelet-rows", 7,
        "Wavelet: increasing the amount of training data reduces underfitting",
        f"with {pictures.MANY_ROWS:,} rows the error is below {pictures.LESS:.0%} of that with "
        f"{pictures.USUAL_ROWS}: one check for VST, one for VSGBM",
        pictures.more_rows_help,
    ),
    _picture(
        "wavelet-prior", 7,
        "Wavelet: underfitting is hypothesised to be due to the zero-mean Gaussian prior",
        "without the KL term the error is no larger than the larger of XBART's and SGLB's: one "
        "check for VST, one for VSGBM",
        pictures.the_prior_is_to_blame,
    ),
)  # fmt: skip


def verdicts(evidence: Evidence, chapter: str | None = None) -> list[Verdict]:
    """The verdict on every claim, or on those of one chapter.

    A claim whose part of the evidence is missing, or incomplete, is not testable here.

    Parameters
    ----------
    chapter
        The name of a notebook of the book; all chapters by default.
    """
    return [verdict(claim, evidence) for claim in CLAIMS if chapter in (None, claim.chapter)]
