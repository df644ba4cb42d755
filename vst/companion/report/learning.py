"""The chapter on learning on: how well a model keeps up with a stream, and what that costs."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from vst.companion.experiments.experiment import Obtained
from vst.companion.experiments.streams import DRIFT, MEMORY, STRATEGIES
from vst.companion.report.style import BLUE, GREEN, GREY, ORANGE, VERMILLION, styled
from vst.companion.report.tables import Markdown, MarkdownTable, counted, number

#: Colour and line of each strategy.
LINES = {
    "partial_fit": (BLUE, "-"),
    "without a memory": (ORANGE, "-."),
    "with forgetting": (GREEN, (0, (5, 1))),
    "refit": (GREY, "-"),
    "refit, warm start": (VERMILLION, ":"),
}

#: What ``partial_fit`` is compared with, and by how much it may be behind it, in nats per row, at which
#: share of its cost.
REFIT, NEAR, CHEAP = "refit", 0.05, 0.1

#: A stream that drifts is scored over this share of its parts, the last ones.
LATE = 0.5


def availability(obtained: Obtained) -> Markdown:
    """Describe the runs on the page, and what is missing."""
    runs = obtained.results
    text = (
        f"{counted(len(runs), 'run')}: {counted(runs['model'].nunique(), 'way')} to learn, "
        f"{counted(runs['dataset'].nunique(), 'stream')}, "
        f"{counted(runs['seed'].nunique(), 'order')} of the rows."
    )
    if obtained.missing:
        text += (
            f" **{obtained.missing} more are not there yet**; `vst run streams --profile paper` "
            "computes them."
        )
    return Markdown(text)


def answer(obtained: Obtained) -> Markdown:
    """The gap to refitting, and the cost, in sentences."""
    table = scores(obtained)
    if not {"partial_fit", REFIT} <= set(table["model"]):
        return Markdown("`partial_fit` and `refit` are needed for an answer.")
    wide = table.pivot_table("log_likelihood", "dataset", "model", sort=False)
    cost = _shares(obtained)
    gaps = (wide[REFIT] - wide["partial_fit"]).drop(DRIFT, errors="ignore")
    near, cheap = gaps <= NEAR, cost["partial_fit"].drop(DRIFT, errors="ignore") <= CHEAP
    parts = [
        f"{name}: {'behind' if gap > 0 else 'ahead'} by {number(abs(gap))} nats per row, at "
        f"{cost['partial_fit'][str(name)]:.1%} of the cost"
        for name, gap in gaps.to_dict().items()
    ]
    text = (
        f"After the last part, `partial_fit` is within {NEAR} nats per row of a model that is fitted to "
        f"all rows again after every part on **{near.sum()} of {len(near)}** streams that do not drift, "
        f"and costs at most {CHEAP:.0%} of that on **{cheap.sum()} of {len(cheap)}** "
        f"({'; '.join(parts)})."
    )
    if "without a memory" in wide:
        behind = (wide[REFIT] - wide["without a memory"]).drop(DRIFT, errors="ignore")
        text += (
            f" It keeps up to {MEMORY:,} past rows; without a memory it is {number(behind.min())} to "
            f"{number(behind.max())} nats behind."
        )
    if DRIFT in wide.index:
        late = wide.loc[DRIFT].to_dict()
        best = max(late, key=lambda name: late[name])
        text += (
            f" Where the data drift, *{best}* is best ({number(late[best])}; `partial_fit` "
            f"{number(late['partial_fit'])}, *{REFIT}* {number(late[REFIT])})."
        )
    return Markdown(text)


def scores(obtained: Obtained) -> pd.DataFrame:
    """Log-likelihood at the end of each run; of a stream that drifts, over its later parts."""
    after = obtained.parts["after"].merge(
        obtained.results[["key", "dataset", "model", "seed"]], on="key"
    )
    last = after.groupby("key")["part"].transform("max")
    late = after["part"] > (1 - LATE) * last
    kept = after[(after["part"] == last) | ((after["dataset"] == DRIFT) & late)]
    order = ["dataset", "model", "seed"]
    return kept.groupby(order, sort=False)["log_likelihood"].mean().reset_index()


def score_table(obtained: Obtained) -> MarkdownTable:
    """One row per strategy: log-likelihood on each stream, and its cost as a share of refitting."""
    found, cost = scores(obtained), _shares(obtained)
    groups = found.groupby(["model", "dataset"])["log_likelihood"]
    mean, error = groups.mean(), groups.std().fillna(0)
    rows = []
    for name in _present(obtained):
        row = {"what is done with each part": name}
        for stream in obtained.datasets:
            if (name, stream) in mean.index:
                row[stream] = (
                    f"{number(mean[name, stream])} ± {number(error[name, stream])} "
                    f"({_percent(cost[name][stream])})"
                )
        rows.append(row)
    return MarkdownTable(pd.DataFrame(rows).fillna(""), choose="stream")


@styled
def curves(obtained: Obtained) -> Figure:
    """Draw the log-likelihood after each part, one panel per stream."""
    frame = obtained.parts["after"].merge(obtained.results[["key", "dataset", "model"]], on="key")
    streams = [name for name in obtained.datasets if name in set(frame["dataset"])]
    figure, axes = plt.subplots(1, len(streams), figsize=(2.4 * len(streams), 2.9), squeeze=False)
    for axis, name in zip(axes[0], streams, strict=True):
        part = frame[frame["dataset"] == name]
        for model in _present(obtained):
            mean = part[part["model"] == model].groupby("rows")["log_likelihood"].mean()
            colour, line = LINES[model]
            axis.plot(mean.index / 1000, mean, color=colour, ls=line, lw=1.5, label=model)
        low, high = part["log_likelihood"].quantile([0.08, 1])
        axis.set(
            title=name, xlabel="rows so far, thousands", ylim=(low, high + 0.05 * (high - low))
        )
    axes[0, 0].set_ylabel("log-likelihood\n(nats per row)")
    handles, names = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=3, fontsize=8.5)
    return figure


def _shares(obtained: Obtained) -> pd.DataFrame:
    """Seconds of each strategy on each stream, as a share of refitting."""
    seconds = obtained.results.pivot_table("seconds", "dataset", "model")
    return seconds.div(seconds[REFIT], axis=0) if REFIT in seconds else seconds * float("nan")


def _present(obtained: Obtained) -> Sequence[str]:
    there = set(obtained.results["model"])
    return [name for name in STRATEGIES if name in there]


def _percent(share: float) -> str:
    return "no refits" if pd.isna(share) else f"{share:.0%}"
