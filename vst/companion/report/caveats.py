"""What a reader has to know of counts: which data sets they compare, and which say little."""

from collections.abc import Sequence

import pandas as pd

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import label
from vst.companion.paper.claims import count
from vst.companion.report.regression import RIVALS
from vst.companion.report.scores import ROUNDED, WHOLE, best, reached, scores_of
from vst.companion.report.tables import Markdown, counted, number

#: Whose log-likelihoods are counted against the paper's.
PEERS = ("deep-ensemble", "xbart-1", "sglb-1", "xbart", "sglb")


def denominators(results: pd.DataFrame) -> Markdown:
    """Why counts have different totals."""
    fitted = list(dict.fromkeys(results["dataset"]))
    parts = [name for name in fitted if name in WHOLE]
    each = reached(scores_of(results, "log_likelihood"), "log_likelihood", PEERS)
    text = f"We fit on {counted(len(fitted), 'data set')}: counts among our own models are out of these."
    if parts:
        named = " and ".join(f"*{dataset_label(name)}*" for name in parts)
        text += (
            f" Counts against the paper's numbers are out of {len(fitted) - len(parts)}, since {named} "
            "is only a part of the paper's data set."
        )
    if len(each):
        text += (
            f" With {counted(each['model'].nunique(), 'peer')} that makes "
            f"{counted(len(each), 'score')} to compare."
        )
    return Markdown(text)


#: A mean so far below the median of its folds, in nats per row, is that of few bad folds.
OUTLYING = 1.0


def outlier_note(results: pd.DataFrame) -> Markdown:
    """Means that a single fold drags far down, with the median beside them."""
    groups = results.dropna(subset=["log_likelihood"]).groupby(["model", "dataset"], sort=False)
    found = groups["log_likelihood"].agg(["mean", "median", "min"])
    dragged = found[found["median"] - found["mean"] > OUTLYING].reset_index()
    parts = [
        f"{label(row['model'])} on *{dataset_label(row['dataset'])}* has one fold at "
        f"{number(row['min'], 1)}, and a median of {number(row['median'])}"
        for row in dragged.to_dict("records")
    ]
    if not parts:
        return Markdown("")
    return Markdown(f"A mean far below the others can be that of one bad fold: {'; '.join(parts)}.")


def rounded_note(results: pd.DataFrame) -> Markdown:
    """The counts of the log-likelihood without the data sets whose targets are whole numbers."""
    scores = scores_of(results, "log_likelihood")
    left_out = [name for name in ROUNDED if name in set(scores["dataset"])]
    if not left_out:
        return Markdown("")
    smooth = scores[~scores["dataset"].isin(ROUNDED)]
    duels = "; ".join(_duels(smooth))
    winners = best(smooth, higher_is_better=True)["model"].value_counts()
    firsts = ", ".join(f"{label(str(name))} on {number}" for name, number in winners.items())
    named = " and ".join(f"*{dataset_label(name)}*" for name in left_out)
    return Markdown(
        f"The log-likelihood of {named} counts here, as in the paper, but says little: its targets are "
        "a few whole numbers, and a density that spikes at them scores as high as one likes. Without "
        f"{named}, {duels}; the best of all models is {firsts}."
    )


def _duels(scores: pd.DataFrame) -> Sequence[str]:
    found = {
        name: count(scores, "log_likelihood", ours, rivals)
        for name, (ours, rivals) in RIVALS.items()
    }
    return [
        f"{name} is better on {each.better}, equal on {each.equal} and worse on {each.worse}"
        for name, each in found.items()
        if each is not None
    ]
