"""The ladder from Algorithm 1 to stacking: what each rung buys on every data set, and what it costs."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.experiments.ladder import BESIDE, LEVEL, RUNGS
from vst.companion.models import BLUE, GREEN, GREY, ORANGE, VERMILLION
from vst.companion.report.style import styled
from vst.companion.report.tables import Markdown, MarkdownTable, counted, number

#: The colour and the mark of each rung, from the bottom up.
MARKS = dict(
    zip(
        RUNGS,
        ((GREY, "o"), (ORANGE, "s"), (GREEN, "^"), (BLUE, "D"), (VERMILLION, "*")),
        strict=True,
    )
)

BOTTOM, *_, TOP = RUNGS

#: Shown where nothing can be compared.
NOTHING = Markdown(
    "The ladder's results are not there yet: `vst run ladder --profile paper` computes them."
)


def means(results: pd.DataFrame, score: str) -> pd.DataFrame:
    """The mean of a score over folds: one row per data set, one column per rung or side step."""
    wide = results.pivot_table(index="dataset", columns="rung", values=score, sort=False)
    return wide[[name for name in (*RUNGS, *BESIDE) if name in wide]]


def changes(results: pd.DataFrame, score: str, rung: str, below: str) -> pd.Series:
    """The change of a score from one rung to another by data set, over the folds that both have."""
    wide = results.pivot_table(index=["dataset", "fold"], columns="rung", values=score, sort=False)
    if not {rung, below} <= set(wide):
        return pd.Series(dtype=float)
    return (wide[rung] - wide[below]).dropna().groupby("dataset", sort=False).mean()


def steps() -> list[tuple[str, str]]:
    """Each rung with the one below it, then each side step with the rung that it starts from."""
    names = list(RUNGS)
    return [*zip(names[1:], names, strict=False), *BESIDE.items()]


def score_table(
    results: pd.DataFrame, datasets: Sequence[str], score: str = "log_likelihood"
) -> MarkdownTable | Markdown:
    """A score by data set and rung; the best rung is bold."""
    found = means(results, score)
    found = found[[name for name in RUNGS if name in found]]
    if found.empty:
        return NOTHING
    higher = score != "rmse"
    rows = []
    for dataset in (name for name in datasets if name in found.index):
        values = found.loc[dataset]
        best = values.max() if higher else values.min()
        cells = {
            name: "" if np.isnan(value) else _bold(number(value), bold=value == best)
            for name, value in values.astype(float).to_dict().items()
        }
        rows.append({"data set": dataset_label(dataset), **cells})
    return MarkdownTable(pd.DataFrame(rows), choose="rung")


def _bold(text: str, *, bold: bool) -> str:
    return f"**{text}**" if bold else text


def step_table(results: pd.DataFrame) -> MarkdownTable | Markdown:
    """What each step buys over the rung below it, and its coverage and time."""
    rows = []
    covered = means(results, "coverage").median()
    for rung, below in [(BOTTOM, ""), *steps()]:
        if rung not in covered:
            continue
        likelihood = changes(results, "log_likelihood", rung, below)
        error = _relative_error(results, rung, below)
        factor = cost(results, rung)
        rows.append(
            {
                "rung": f"*{rung}*, beside {below}" if rung in BESIDE else rung,
                "log-likelihood": _signed(likelihood.median()) if len(likelihood) else "",
                "better on": f"{(likelihood > 0).sum()} of {len(likelihood)}" if below else "",
                "RMSE": f"{_signed(100 * error.median(), 0)} %" if len(error) else "",
                "smaller on": f"{(error < 0).sum()} of {len(error)}" if below else "",
                f"coverage of {LEVEL:.0%}": f"{covered[rung]:.0%}",
                "time": "" if np.isnan(factor) else f"\N{MULTIPLICATION SIGN} {factor:.2g}",
            }
        )
    return MarkdownTable(pd.DataFrame(rows)) if rows else NOTHING


def _relative_error(results: pd.DataFrame, rung: str, below: str) -> pd.Series:
    """The change of the RMSE as a share of what it was, by data set."""
    change = changes(results, "rmse", rung, below)
    if change.empty:
        return change
    return change / means(results, "rmse")[below].reindex(change.index)


def cost(results: pd.DataFrame, rung: str, other: str = BOTTOM) -> float:
    """A rung's time as a multiple of another's: the median over data sets."""
    seconds = means(results, "seconds")
    if not {rung, other} <= set(seconds):
        return float("nan")
    return float((seconds[rung] / seconds[other]).median())


def _signed(value: float, decimals: int = 3) -> str:
    text = number(value, decimals)
    return f"+{text}" if value > 0 and text.strip("0.") else text


@styled
def rungs(results: pd.DataFrame, datasets: Sequence[str]) -> Figure:
    """Draw the log-likelihood above that of Algorithm 1: a row per data set, a mark per rung."""
    found = means(results, "log_likelihood")
    if BOTTOM not in found:
        found = found.assign(**{BOTTOM: np.nan})
    present = [name for name in list(RUNGS)[1:] if name in found]
    there = set(found.index[found[BOTTOM].notna()])
    shown = [name for name in datasets if name in there]
    figure, axis = plt.subplots(figsize=(7.2, 1.3 + 0.36 * len(shown)))
    gains = {
        name: (found.loc[shown, name] - found.loc[shown, BOTTOM]).to_numpy() for name in present
    }
    places = -np.arange(len(shown))
    for place, every in zip(places, np.array(list(gains.values())).T, strict=False):
        ends = [0.0, *every[~np.isnan(every)]]
        axis.plot([min(ends), max(ends)], [place, place], color="#cccccc", lw=1.2, zorder=1)
    for name, values in gains.items():
        colour, mark = MARKS[name]
        size = 9 if mark == "*" else 5
        axis.plot(values, places, mark, ms=size, color=colour, ls="none", label=name, zorder=3)
    # The bottom rung is the line at zero: it is where all gains start.
    axis.axvline(0, color=GREY, lw=1.2, zorder=0)
    # Most gains are small and a few are nats: linear below a fifth, logarithmic above.
    axis.set_xscale("symlog", linthresh=0.2, linscale=1.0)
    axis.set_yticks(places, [dataset_label(name) for name in shown])
    axis.tick_params(axis="y", length=0)
    axis.grid(axis="x", color="#eeeeee")
    axis.set_axisbelow(True)
    axis.set_ylim(-len(shown) + 0.4, 0.6)
    _label_ticks(axis)
    axis.set_xlabel(f"test log-likelihood above {BOTTOM} (nats per row)")
    if present:
        figure.legend(
            loc="outside upper center", ncols=len(present), fontsize=8.5, handletextpad=0.2
        )
    return figure


def _label_ticks(axis: plt.Axes) -> None:
    """Plain numbers at round places of the axis."""
    low, high = axis.get_xlim()
    ticks = [t for t in (-5, -2, -1, -0.5, -0.2, 0, 0.2, 0.5, 1, 2, 5) if low <= t <= high]
    axis.set_xticks(ticks, [number(t, 0 if t == round(t) else 1) for t in ticks])
    axis.minorticks_off()


def summary(results: pd.DataFrame) -> Markdown:
    """What each step buys and costs, in sentences; also where a step makes things worse."""
    lines = [
        line for rung, below in steps() if (line := _sentence(results, rung, below)) is not None
    ]
    return Markdown("\n".join([*lines, *_whole(results)])) if lines else NOTHING


def _sentence(results: pd.DataFrame, rung: str, below: str) -> str | None:
    change = changes(results, "log_likelihood", rung, below)
    if change.empty:
        return None
    error, up, middle = _relative_error(results, rung, below), change > 0, float(change.median())
    verb = "raises" if middle > 0 else "lowers"
    worse = ", ".join(dataset_label(str(name)) for name in change.index[~up])
    where = f", but not on {worse}" if worse and up.any() else ""
    time = cost(results, rung, below)
    took = "" if np.isnan(time) else f" It takes {_multiple(time)}."
    return (
        f"- **{rung[0].upper()}{rung[1:]}**, compared with {below}, {verb} the log-likelihood by "
        f"{number(abs(middle))} (median), and improves it on {up.sum()} of {_sets(len(change))}{where}. "
        f"It {'cuts' if error.median() < 0 else 'raises'} the error by "
        f"{abs(100 * error.median()):.0f} % (median).{took}"
    )


def _whole(results: pd.DataFrame) -> list[str]:
    """From the bottom to the top, and how often the top is the best rung."""
    whole = changes(results, "log_likelihood", TOP, BOTTOM)
    if whole.empty:
        return []
    found = means(results, "log_likelihood").loc[whole.index]
    first = (found[list(set(RUNGS) & set(found))].idxmax(axis=1) == TOP).sum()
    verb = "gains" if whole.median() > 0 else "loses"
    return [
        "",
        f"The whole ladder, from {BOTTOM} to {TOP}, {verb} {number(abs(whole.median()))} (median), and "
        f"takes {_multiple(cost(results, TOP))}. The top rung is the best on {first} of "
        f"{_sets(len(whole))}.",
    ]


def _sets(count: int) -> str:
    return counted(count, "data set")


def _multiple(factor: float) -> str:
    """A time as a multiple of another, in words."""
    return "as long" if f"{factor:.2g}" == "1" else f"{factor:.2g} times as long"


def answer(results: pd.DataFrame) -> Markdown:
    """The chapter's answer in two sentences: which step buys most, and where the ladder loses."""
    found = {
        rung: change
        for rung, below in steps()
        if rung in RUNGS and len(change := changes(results, "log_likelihood", rung, below))
    }
    whole = changes(results, "log_likelihood", TOP, BOTTOM)
    if not found or whole.empty:
        return NOTHING
    most, *others = sorted(found, key=lambda rung: -float(found[rung].median()))
    buys = "**no step** raises the median log-likelihood"
    if found[most].median() > 0:
        buys = f"**{most}** buys most, {number(float(found[most].median()))} nats per row (median)"
        if others and found[others[0]].median() > 0:
            buys += f", then **{others[0]}**, {number(float(found[others[0]].median()))}"
    better = int((whole > 0).sum())
    return Markdown(
        f"Measured here, {buys}. All steps together beat {BOTTOM} on **{better} of "
        f"{_sets(len(whole))}** and take {_multiple(cost(results, TOP))}."
    )
