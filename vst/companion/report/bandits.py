"""The bandit chapter: regret beside the paper's, how it grows, what was explored, and what it cost."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from vst.companion.bandits import AGENTS, ENVIRONMENTS, TRIALS
from vst.companion.experiments import BANDIT_TRIALS, obtain
from vst.companion.experiments.bandit_trials import chosen_trials
from vst.companion.experiments.bandits import BINS, PERIODS, summary
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.experiment import Obtained
from vst.companion.models import label
from vst.companion.paper import BANDITS, bold_cells, printed
from vst.companion.paper.claims import NEAR_ZERO
from vst.companion.report.style import COLOURS, label_logarithmic, styled
from vst.companion.report.tables import Markdown, MarkdownTable, counted, listed, number

#: The agents of the paper's table, and all of ours, in the order of the rows.
IN_PAPER = ("random", "vst", "sglb", "xbart")
ORDER = (*IN_PAPER, *(name for name in AGENTS if name not in IN_PAPER))


def availability(loaded: Obtained) -> Markdown:
    """Describe the results on the page, and what is missing."""
    runs = loaded.results
    seeds = runs.groupby(["dataset", "model"])["seed"].nunique()
    text = (
        f"{counted(len(runs), 'run')}: {counted(runs['dataset'].nunique(), 'bandit')}, "
        f"{counted(runs['model'].nunique(), 'agent')}, {_range(seeds)} seeds each."
    )
    if loaded.missing:
        text += (
            f" **{loaded.missing} more are not there yet**, which leaves gaps or fewer seeds below; "
            "`vst run bandits --profile paper` computes them."
        )
    for name in loaded.absent:
        text += f" The data set *{name}* is not on this machine, so its bandit cannot be played."
    return Markdown(text)


def regret_table(loaded: Obtained) -> MarkdownTable:
    """Rebuild table 3: cumulative regret, and in brackets as a share of the random policy's.

    A row for ours, and one below it for the paper's. The lowest regret of each column and all whose
    error bars overlap with it are bold: among the paper's agents in its rows, among all agents in ours.
    """
    ours = _scores(loaded.results)
    paper = printed("bandit_regret").rename(columns={"bandit": "dataset"})
    texts = {"": _texts(ours), ", paper": _texts(paper)}
    rows = [
        {"agent": label(model) + source} | {b: cells.get((model, b), "") for b in BANDITS}
        for model in [name for name in ORDER if name in set(ours["model"]) | set(paper["model"])]
        for source, cells in texts.items()
        if any((model, bandit) in cells for bandit in BANDITS)
    ]
    return MarkdownTable(pd.DataFrame(rows), choose="bandit")


@styled
def cumulative_regret(loaded: Obtained) -> Figure:
    """Rebuild figure 4: cumulative regret over the steps, as a share of the random policy's so far.

    The axis is logarithmic: on the paper's, the random policy's line presses all others together.
    """
    bandits = _bandits(loaded)
    figure, axes = plt.subplots(1, len(bandits), figsize=(2.6 * len(bandits), 3.0), squeeze=False)
    for axis, bandit in zip(axes[0], bandits, strict=True):
        random = _random_per_step(loaded, bandit)
        for model, curves in _histories(loaded, bandit).items():
            steps = curves.index.to_numpy(float)
            _band(axis, steps, curves.to_numpy() / (random * steps)[:, None], model)
        axis.set(title=bandit, xlabel="step", yscale="log", ylim=(None, 1.3))
        label_logarithmic(axis.yaxis)
    axes[0, 0].set_ylabel("cumulative regret\n(share of random)")
    _legend(figure, axes[0, 0])
    return figure


@styled
def instantaneous_regret(loaded: Obtained, windows: int = 20) -> Figure:
    """Regret per step in windows of the run, as a share of the random policy's."""
    bandits = _bandits(loaded)
    figure, axes = plt.subplots(
        1, len(bandits), figsize=(2.6 * len(bandits), 2.8), squeeze=False, sharey=True
    )
    for axis, bandit in zip(axes[0], bandits, strict=True):
        for model, curves in _histories(loaded, bandit).items():
            steps, shares = _windows(loaded, bandit, curves, windows)
            _band(axis, steps, shares, model)
        axis.axhline(NEAR_ZERO, color="0.4", lw=0.8, ls=":")
        axis.set(title=bandit, xlabel="step", ylim=(0, 1.2))
    axes[0, 0].set_ylabel("regret per step\n(share of random)")
    _legend(figure, axes[0, 0])
    return figure


@styled
def explored(loaded: Obtained) -> Figure:
    """Draw each agent's pulls in the exploration bandit: context across, arm up, one column per span."""
    keys = loaded.results.set_index("key")["model"]
    frame = loaded.parts["choices"].assign(model=loaded.parts["choices"]["key"].map(keys))
    models = [name for name in ORDER if name in set(frame["model"])]
    if not models:
        figure = plt.figure(figsize=(8.6, 0.6))
        figure.text(0.5, 0.5, "the exploration bandit was not selected", ha="center", va="center")
        return figure
    arms = int(frame["arm"].max()) + 1
    steps = int(loaded.results.loc[loaded.results["dataset"] == "exploration", "steps"].iloc[0])
    figure, axes = plt.subplots(
        len(models), PERIODS, figsize=(8.6, 1.45 * len(models) + 0.5), squeeze=False,
        sharex=True, sharey=True,
    )  # fmt: skip
    for line, model in zip(axes, models, strict=True):
        for period, axis in enumerate(line):
            part = frame[(frame["model"] == model) & (frame["period"] == period)]
            pulls = np.zeros((arms, BINS))
            pulls[part["arm"].to_numpy(int), part["bin"].to_numpy(int)] = part["pulls"]
            share = pulls / np.maximum(pulls.sum(axis=0), 1)
            image = axis.imshow(
                share, origin="lower", aspect="auto", extent=(-1, 1, -0.5, arms - 0.5),
                vmin=0, vmax=1, cmap="Blues",
            )  # fmt: skip
        line[0].set_ylabel(f"{label(model)}\narm", fontsize=8.5)
    for period, axis in enumerate(axes[0]):
        bounds = (steps * period // PERIODS, steps * (period + 1) // PERIODS)
        axis.set_title("steps {:,} to {:,}".format(*bounds), fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("context")
    figure.colorbar(image, ax=axes, shrink=0.5, label="share of pulls")
    return figure


def time_table(loaded: Obtained) -> MarkdownTable:
    """Processor seconds per 1,000 decisions of every agent."""
    frame = summary(loaded.results)
    seconds = {
        (row["model"], row["dataset"]): float(row["seconds_per_1000"])
        for row in frame.to_dict("records")
    }
    rows = [
        {"agent": label(model)}
        | {bandit: _seconds(seconds.get((model, bandit))) for bandit in _bandits(loaded)}
        for model in ORDER
        if model in set(frame["model"])
    ]
    return MarkdownTable(pd.DataFrame(rows), choose="bandit")


def constants_table() -> MarkdownTable:
    """The bandits' constants, and whether they are the paper's or ours."""
    rows = [
        {"bandit": name, "values": _settings(vars(problem))}
        for name, problem in ENVIRONMENTS.items()
    ]
    return MarkdownTable(pd.DataFrame(rows))


def settings_table(loaded: Obtained) -> MarkdownTable:
    """Every agent's settings on every bandit, as stored with its results."""
    rows = []
    for model in [name for name in ORDER if name != "random"]:
        for bandit in _bandits(loaded):
            runs = loaded.results[
                (loaded.results["model"] == model) & (loaded.results["dataset"] == bandit)
            ]
            if len(runs):
                agent = as_parameters(runs["parameters"].iloc[0])["agent"]
                rows.append(
                    {"agent": label(model), "bandit": bandit, "settings": _settings(_flat(agent))}
                )
    return MarkdownTable(pd.DataFrame(rows))


def flat_note(loaded: Obtained) -> Markdown:
    """Where the chosen soft tree is no tree: verdicts on these bandits say nothing about gates."""
    runs = loaded.results[loaded.results["model"] == "vst"].drop_duplicates("dataset")
    flat = [
        f"*{bandit}*"
        for bandit, parameters in zip(runs["dataset"], runs["parameters"], strict=True)
        if _flat(as_parameters(parameters)["agent"])["depth"] == 0
    ]
    if not flat:
        return Markdown("")
    return Markdown(
        f"On {listed(flat)} the VST that was chosen has depth 0: one linear leaf and no gates, in "
        "effect Bayesian linear regression. There the verdicts say nothing about soft trees."
    )


def trials_table() -> MarkdownTable:
    """Regret of every trial as a share of the best one's, by bandit; the chosen ones are bold."""
    trials = obtain(BANDIT_TRIALS, "paper").results
    if trials.empty:
        return MarkdownTable(pd.DataFrame())
    means = trials.groupby(["model", "dataset", "trial"])["regret"].mean()
    chosen = chosen_trials()
    rows = []
    for name, settings in TRIALS.items():
        for i in range(len(settings)):
            row = {"agent": label(name), "trial": str(i + 1)}
            for bandit in BANDITS:
                if (name, bandit, i) in means.index:
                    ratio = f"{means[name, bandit, i] / means[name, bandit].min():.2f}"
                    row[bandit] = f"**{ratio}**" if chosen.get((name, bandit)) == i else ratio
            rows += [row] if len(row) > 2 else []
    return MarkdownTable(pd.DataFrame(rows).fillna(""), choose="bandit", keep=2)


def random_agreement(loaded: Obtained) -> Markdown:
    """Compare the random policy's regret with the paper's, bandit by bandit."""
    paper = printed("bandit_regret")
    ours = _scores(loaded.results)
    ours = ours[ours["model"] == "random"].set_index("dataset")
    lines = []
    for row in paper[paper["model"] == "random"].to_dict("records"):
        bandit, target, error = str(row["bandit"]), float(row["mean"]), float(row["error"])
        if bandit not in ours.index:
            continue
        mean = float(ours["mean"][bandit])
        inside = abs(mean - target) <= 2 * error
        where = "within" if inside else "not within"
        text = f"*{bandit}*: {mean:,.1f}, {where} two error bars of the paper's {target:,.2f}"
        lines.append(text if inside else f"{text}, {mean / target:.3g} times as much")
    return Markdown("\n".join(f"- {line}" for line in lines))


def _scores(runs: pd.DataFrame) -> pd.DataFrame:
    frame = summary(runs).rename(columns={"regret": "mean"})
    return frame[["model", "dataset", "mean", "error"]]


def _texts(scores: pd.DataFrame) -> dict[tuple[str, str], str]:
    together = dict.fromkeys(scores["model"], "all")
    marks = bold_cells(
        scores.fillna({"error": 0.0}), higher_is_better=False, groups=together, columns="dataset"
    )
    random = scores[scores["model"] == "random"].set_index("dataset")["mean"]
    texts = {}
    for row, bold in zip(scores.to_dict("records"), marks, strict=True):
        if pd.isna(row["mean"]):
            text = str(row["note"])
        else:
            text = f"{row['mean']:.1f}" if pd.isna(row["error"]) else _plus_minus(row)
            text = f"**{text}**" if bold else text
            if row["dataset"] in random.index:
                text += f" ({row['mean'] / random[row['dataset']]:.1%})"
        texts[row["model"], row["dataset"]] = text
    return texts


def _plus_minus(row: dict[Any, Any]) -> str:
    return f"{row['mean']:.1f} ± {row['error']:.1f}"


def _bandits(loaded: Obtained) -> list[str]:
    return [name for name in BANDITS if name in set(loaded.results["dataset"])]


def _histories(loaded: Obtained, bandit: str) -> dict[str, pd.DataFrame]:
    """Each agent's cumulative regret: steps down, seeds across."""
    runs = loaded.results[loaded.results["dataset"] == bandit][["key", "model", "seed"]]
    frame = loaded.parts["histories"].merge(runs, on="key")
    return {
        model: frame[frame["model"] == model].pivot_table("regret", "step", "seed")
        for model in ORDER
        if model in set(frame["model"])
    }


def _windows(
    loaded: Obtained, bandit: str, curves: pd.DataFrame, windows: int
) -> tuple[Float[np.ndarray, " windows"], Float[np.ndarray, "windows seeds"]]:
    """Middle of each window, and its regret per step as a share of the random policy's."""
    per_step = _random_per_step(loaded, bandit)
    start = pd.DataFrame(0.0, index=[0], columns=curves.columns)
    whole = pd.concat([start, curves])
    at = np.unique(np.linspace(0, len(whole) - 1, windows + 1).round().astype(int))
    picked, steps = whole.to_numpy(float)[at], whole.index.to_numpy(float)[at]
    rates = np.diff(picked, axis=0) / np.diff(steps)[:, None]
    return (steps[1:] + steps[:-1]) / 2, rates / per_step


def _random_per_step(loaded: Obtained, bandit: str) -> float:
    """The random policy's expected regret per step."""
    runs = loaded.results[loaded.results["dataset"] == bandit]
    return float((runs["random_regret"] / runs["steps"]).mean())


def _band(
    axis: Axes, steps: np.ndarray, curves: Float[np.ndarray, "steps seeds"], model: str
) -> None:
    mean = curves.mean(axis=1)
    spread = curves.std(axis=1, ddof=1) if curves.shape[1] > 1 else np.zeros(len(mean))
    colour, ours = COLOURS[model], AGENTS[model].together
    low = np.maximum(mean - spread, mean / 2)  # a band must not leave a logarithmic axis
    axis.fill_between(steps, low, mean + spread, color=colour, alpha=0.25, lw=0)
    axis.plot(
        steps,
        mean,
        color=colour,
        lw=2.0 if ours else 1.2,
        ls="-" if ours else "--",
        label=label(model),
    )


def _legend(figure: Figure, axis: Axes) -> None:
    handles, names = axis.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names), fontsize=8.5)


def _seconds(value: float | None) -> str:
    return "" if value is None else number(value, 2 if value >= 0.1 else 3)


def _settings(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    nested = values.pop("peer", {}) | values.pop("tree", {})
    return nested | values


def _range(counts: Sequence[int] | pd.Series) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"
