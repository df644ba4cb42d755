"""Peers beside what other publications print for the same data."""

from importlib.resources import files

import pandas as pd

from vst.companion.experiments.datasets import label as dataset_label
from vst.companion.models import MODEL_BY_ID, MODELS, label
from vst.companion.paper.scores import scores_of
from vst.companion.report.tables import Markdown, MarkdownTable, number


def printed_elsewhere() -> pd.DataFrame:
    """Log-likelihoods in units of the standardised target: family, dataset, log_likelihood, source.

    Other splits than ours, so small differences mean nothing.
    """
    text = files("vst.companion.report").joinpath("literature.csv").read_text(encoding="utf-8")
    lines = [line.split(",") for line in text.splitlines()]
    frame = pd.DataFrame(lines[1:], columns=lines[0])
    return frame.astype({"log_likelihood": float})


def compared(results: pd.DataFrame) -> pd.DataFrame:
    """Each printed number beside ours: family, dataset, printed, and a column for each of our rows."""
    scores = scores_of(results, "log_likelihood").set_index(["model", "dataset"])["mean"]
    rows = []
    for entry in printed_elsewhere().to_dict("records"):
        ours = {
            model.id: scores.get((model.id, entry["dataset"]))
            for model in MODELS
            if model.family == entry["model"]
        }
        rows.append({"dataset": entry["dataset"], "printed": entry["log_likelihood"], **ours})
    return pd.DataFrame(rows)


def table(results: pd.DataFrame) -> MarkdownTable:
    """The printed numbers beside ours."""
    frame = compared(results)
    models = [name for name in frame.columns if name in MODEL_BY_ID]
    return MarkdownTable(
        pd.DataFrame(
            {
                "data set": frame["dataset"].map(dataset_label),
                "printed elsewhere": frame["printed"].map(lambda value: number(value, 2)),
                **{label(name): frame[name].map(_shown) for name in models},
            }
        )
    )


def summary(results: pd.DataFrame) -> Markdown:
    """On how many of these data sets each of our rows reaches the printed number."""
    frame = compared(results)
    models = [name for name in frame.columns if name in MODEL_BY_ID]
    said = [
        f"{label(name)} reaches it on {int((frame[name] >= frame['printed']).sum())} of {len(frame)}"
        for name in models
    ]
    return Markdown(f"{'; '.join(said)}.")


def _shown(value: float | None) -> str:
    return "\N{EN DASH}" if value is None or pd.isna(value) else number(value, 2)
