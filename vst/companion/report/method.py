"""Figures of the method chapter."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from vst.companion.protocol.synthetic import Curve
from vst.companion.report.style import BLUE, GREEN, GREY, ORANGE, VERMILLION, styled
from vst.companion.report.tables import MarkdownTable
from vst.estimators import VSTRegressor
from vst.posterior import LowRankGaussian
from vst.tree import SoftTree

#: Small text needs darker shades than lines.
TEXT = {BLUE: BLUE, ORANGE: "#8F6200"}


@styled
def standard_and_bayesian_tree(model: VSTRegressor) -> Figure:
    """Draw a tree over one feature twice: its weights as numbers, and as posterior densities."""
    shape = model.shape_
    names = [f"gate {n + 1}" for n in range(shape.n_nodes)]
    names += [f"leaf {leaf + 1}" for leaf in range(shape.n_leaves)]
    # The first affine rows are the gates, then the leaf means: a slope and an offset each.
    means, deviations = (
        np.asarray(part)[: 2 * len(names)].reshape(-1, 2)
        for part in (model.posterior_.mean, np.sqrt(np.diag(model.posterior_.covariance())))
    )
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.9))
    for axis, title in zip(axes, ("Soft tree", "Bayesian soft tree"), strict=True):
        axis.set(xlim=(-0.5, shape.n_leaves - 0.5), ylim=(-0.75, shape.depth + 0.45), title=title)
        axis.axis("off")
        _edges(axis, shape.depth)
    for i, (x, y) in enumerate(_positions(shape.depth)):
        colour = BLUE if i < shape.n_nodes else ORANGE
        for axis in axes:
            _box(axis, x, y, colour)
            axis.text(
                x, y + 0.29, names[i], ha="center", va="bottom", fontsize=8.5, color=TEXT[colour],
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        text = "\n".join(f"{s} = {v:+.2f}" for s, v in zip("wb", means[i], strict=True))
        axes[0].text(x, y, text, ha="center", va="center", fontsize=8.5)
        _densities(axes[1], x, y, means[i], deviations[i], colour)
    return figure


def _positions(depth: int) -> list[tuple[float, float]]:
    """Where to draw each node, breadth-first, the leaves last."""
    width = 2**depth
    return [
        ((i + 0.5) * width / 2**level - 0.5, float(depth - level))
        for level in range(depth + 1)
        for i in range(2**level)
    ]


def _edges(axis: Axes, depth: int) -> None:
    positions = _positions(depth)
    for child in range(1, len(positions)):
        (x0, y0), (x1, y1) = positions[(child - 1) // 2], positions[child]
        axis.plot([x0, x1], [y0 - 0.27, y1 + 0.27], color="0.75", lw=1, zorder=0)


def _box(axis: Axes, x: float, y: float, colour: str) -> None:
    outline = plt.Rectangle((x - 0.42, y - 0.27), 0.84, 0.54, fc="white", ec=colour, lw=1.2)
    axis.add_patch(outline)


def _densities(
    axis: Axes,
    x: float,
    y: float,
    means: Float[np.ndarray, " 2"],
    deviations: Float[np.ndarray, " 2"],
    colour: str,
) -> None:
    """Two small posterior densities inside a box, over the same range of -4 to 4 in every box."""
    weights = np.linspace(-4, 4, 400)
    for i, (mean, deviation) in enumerate(zip(means, deviations, strict=True)):
        density = norm.pdf(weights, mean, deviation)
        centre = x - 0.2 + 0.4 * i
        across = centre + 0.17 * weights / 4
        base = y - 0.17
        axis.fill_between(
            across, base, base + 0.36 * density / density.max(), color=colour, alpha=0.35
        )
        axis.plot(across, base + 0.36 * density / density.max(), color=colour, lw=0.9)
        axis.text(centre, base - 0.015, "wb"[i], ha="center", va="top", fontsize=7.5, color="0.3")


@styled
def routing(model: VSTRegressor, curve: Curve) -> Figure:
    """Leaf probabilities and leaf means over the input, at the posterior's mean parameters."""
    tree = SoftTree(model.shape_, model.posterior_.mean, model.beta)
    leaf = tree(jnp.asarray(model.standardiser_(curve.grid)))
    x = curve.grid[:, 0]
    figure, (top, bottom) = plt.subplots(
        2, 1, sharex=True, figsize=(7.2, 4.2), height_ratios=[1, 1.6]
    )
    for i, probability in enumerate(np.exp(leaf.log_probs)):
        (line,) = top.plot(x, probability)
        top.text(
            x[np.argmax(probability)], probability.max() + 0.05, f"leaf {i + 1}",
            color=line.get_color(), ha="center", fontsize=8.5,
        )  # fmt: skip
        mean = model.target_mean_ + model.target_scale_ * np.asarray(leaf.means[i])
        bottom.plot(
            x, np.where(probability > 0.02, mean, np.nan), color=line.get_color(), lw=2.5, alpha=0.7
        )
    bottom.scatter(curve.x, curve.y, s=6, color=GREY, alpha=0.6, zorder=0)
    top.set(ylabel="Pr(leaf | x)", ylim=(0, 1.18), yticks=[0, 0.5, 1])
    bottom.set(xlabel="x", ylabel="leaf mean", ylim=(curve.y.min() - 1.5, curve.y.max() + 1.5))
    return figure


@styled
def training_curve(model: VSTRegressor, window: int = 50) -> Figure:
    """The ELBO estimate at every step, and its running mean."""
    trace = model.elbo_[0]
    smooth = np.convolve(trace, np.ones(window) / window, mode="valid")
    figure, axis = plt.subplots(figsize=(7.2, 2.8))
    axis.plot(trace, color=BLUE, alpha=0.2, lw=0.5)
    axis.plot(np.arange(window - 1, len(trace)), smooth, color=BLUE)
    low = np.quantile(trace[len(trace) // 20 :], 0.001)
    axis.set(xlabel="step", ylabel="ELBO (nats per row)", ylim=(low, trace.max() + 0.1))
    axis.annotate(f"{smooth[-1]:.2f}", (len(trace), smooth[-1]), color=BLUE, va="center")
    return figure


@styled
def predictive_band(model: VSTRegressor, curve: Curve, functions: int = 30) -> Figure:
    """The predictive distribution over the input, and functions drawn from the posterior."""
    x, predicted = curve.grid[:, 0], model.predict_dist(curve.grid)
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(9.2, 3.4))
    for level, alpha in ((0.98, 0.15), (0.9, 0.2), (0.5, 0.3)):
        left.fill_between(x, *predicted.interval(level), color=BLUE, alpha=alpha, lw=0)
    left.plot(x, predicted.mean, color=BLUE)
    left.set(title="predictive mean; 50, 90 and 98 % intervals", xlabel="x", ylabel="y")
    right.plot(x, model.sample_functions(curve.grid, functions).T, color=GREEN, alpha=0.35, lw=0.8)
    right.set(title=f"{functions} functions from the posterior", xlabel="x")
    for axis in (left, right):
        axis.scatter(curve.x, curve.y, s=6, color=GREY, alpha=0.7)
        axis.plot(x, curve.truth, color=VERMILLION, ls="--", lw=1)
    right.set_ylim(curve.truth.min() - 2, curve.truth.max() + 2)
    right.annotate("true mean", (x[-1], curve.truth[-1]), color=VERMILLION, ha="right", va="top",
                   xytext=(0, -4), textcoords="offset points", fontsize=8.5)  # fmt: skip
    return figure


@styled
def correlations(posteriors: dict[str, LowRankGaussian]) -> Figure:
    """Posterior correlation matrices side by side, on one colour scale."""
    figure, axes = plt.subplots(1, len(posteriors), figsize=(9.2, 2.9))
    for axis, (title, posterior) in zip(axes, posteriors.items(), strict=True):
        covariance = np.asarray(posterior.covariance())
        spread = np.sqrt(np.diag(covariance))
        image = axis.imshow(covariance / np.outer(spread, spread), vmin=-1, vmax=1)
        axis.set(title=title, xticks=[], yticks=[])
    figure.colorbar(image, ax=axes, shrink=0.8, label="correlation")
    return figure


def rank_table(models: dict[str, VSTRegressor], curve: Curve, last: int = 500) -> MarkdownTable:
    """The effect of a richer posterior on the bound, and on the epistemic spread inside and outside."""
    outside = curve.grid[np.abs(curve.grid[:, 0]) > np.abs(curve.x).max() + 0.5]

    def spread(model: VSTRegressor, rows: Float[np.ndarray, "n 1"]) -> str:
        return f"{np.sqrt(model.predict_dist(rows).epistemic_var.mean()):.3f}"

    return MarkdownTable(
        pd.DataFrame(
            {
                "posterior": title,
                f"ELBO, last {last} steps (nats per row)": f"{model.elbo_[0, -last:].mean():.3f}",
                "epistemic std inside the data": spread(model, curve.x),
                "epistemic std outside": spread(model, outside),
            }
            for title, model in models.items()
        )
    )


def dense_kl(posterior: LowRankGaussian, prior_scale: float) -> float:
    """The KL divergence between dense Gaussians, in float64: an independent check of the closed form."""
    mean, scale, factor = (np.asarray(part, float) for part in posterior)
    covariance = np.diag(scale**2) + factor @ factor.T
    trace = (np.trace(covariance) + mean @ mean) / prior_scale**2
    log_ratio = len(mean) * np.log(prior_scale**2) - np.linalg.slogdet(covariance)[1]
    return 0.5 * (trace - len(mean) + log_ratio)
