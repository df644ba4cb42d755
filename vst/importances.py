"""How much a fitted model uses each column of its table, by gates and leaves alike.

The measure is the mean absolute slope of the prediction along a standardised feature. It is taken at
made-up rows with independent, standard normal features, since a fitted model does not keep its training
rows.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from vst.classes import AnyClassDraws
from vst.encoding import TableEncoder
from vst.preprocessing import Standardiser

#: Made-up rows.
ROWS = 512


def column_importances(
    draws: Any, standardiser: Standardiser, encoder: TableEncoder | None
) -> Float[np.ndarray, " columns"]:
    """The share of each column of the table in all slopes; shares sum to one.

    The slopes of all categories of a text column are added up, and so is that of the feature that tells
    where a column has gaps.

    Parameters
    ----------
    draws
        Posterior draws of a model.
    standardiser, encoder
        What turned the table into the model's inputs.
    """
    rotation = standardiser.rotation
    d = len(standardiser.mean)
    turn = np.eye(d, dtype=np.float32) if rotation is None else rotation.astype(np.float32)
    features = np.asarray(mean_slopes(draws, jnp.asarray(turn)), float)
    found = np.bincount(feature_columns(standardiser, encoder), features)
    return found / found.sum() if found.sum() > 0 else found


def feature_columns(
    standardiser: Standardiser, encoder: TableEncoder | None
) -> Int[np.ndarray, " features"]:
    """The number of the column that each feature was made of, indicators of gaps included."""
    if encoder is None:
        own = np.arange(standardiser.n_columns)
    else:
        sizes = [1 if known is None else len(known) for known in encoder.categories]
        own = np.repeat(np.arange(len(sizes)), sizes)
    return np.concatenate([own, own[list(standardiser.gaps)]])


@jax.jit
def mean_slopes(draws: Any, rotation: Float[Array, "d axes"]) -> Float[Array, " d"]:
    """The mean absolute slope of the predicted mean, or of the probabilities of all classes."""
    x = jax.random.normal(jax.random.key(0), (ROWS, rotation.shape[0]), rotation.dtype)

    def predicted(number: int, x: Float[Array, "rows d"]) -> Float[Array, ""]:
        """The sum over rows, which do not depend on each other."""
        if isinstance(draws, AnyClassDraws):
            return jnp.sum(jnp.mean(jnp.exp(draws.log_probs(x @ rotation)[:, number]), axis=0))
        return jnp.sum(jnp.mean(draws.means(x @ rotation), axis=0))

    outputs = draws.n_classes if isinstance(draws, AnyClassDraws) else 1
    slopes = jax.lax.map(partial(_gradient, predicted, x), jnp.arange(outputs))
    return jnp.mean(jnp.abs(slopes), axis=(0, 1))


def _gradient(predicted: Any, x: Float[Array, "rows d"], number: Int[Array, ""]) -> Array:
    return jax.grad(predicted, argnums=1)(number, x)
