"""Fitted models as files: one zip archive of plain arrays and a JSON description, never pickle."""

import json
import numbers
import os
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import jax.numpy as jnp
import numpy as np

from vst.posterior import LowRankGaussian
from vst.preprocessing import Standardiser, TableEncoder
from vst.tree import TreeShape

FORMAT = 1

#: Fitted attributes that are one array each; a model has some of them.
ARRAYS = ("elbo_", "thetas_", "noise_scales_")

#: Fitted attributes that are one number each.
NUMBERS = ("target_mean_", "target_scale_", "seed_", "beta_", "n_features_in_")


def save(model: Any, path: str | PathLike) -> None:
    """Write a fitted estimator; a write that fails or is killed leaves an older file as it was."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path.parent} is no directory: make it before saving a model there"
        )
    params = model.get_params()
    if not isinstance(params["random_state"], numbers.Integral | None):
        params["random_state"] = model.seed_ if isinstance(model.seed_, int) else 0
    description = {
        "format": FORMAT,
        "model": type(model).__name__,
        "params": params,
        "numbers": {name: getattr(model, name) for name in NUMBERS},
        "feature_names": list(getattr(model, "feature_names_in_", [])) or None,
        "shape": asdict(model.shape_),
        "encoder": None if model.encoder_ is None else asdict(model.encoder_),
    }
    arrays = {name: getattr(model, name) for name in ARRAYS if hasattr(model, name)}
    arrays |= {f"posterior.{k}": v for k, v in model.stacked_posteriors_._asdict().items()}
    arrays |= {
        f"standardiser.{k}": v for k, v in model.standardiser_._asdict().items() if v is not None
    }
    text = json.dumps(description, default=_plain)
    _write(path, {"description": np.array(text)} | arrays)


def load(cls: type, path: str | PathLike) -> Any:
    """Read an estimator of class ``cls`` back."""
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        description = json.loads(str(arrays.pop("description")))
    except (BadZipFile, ValueError, KeyError, EOFError) as error:
        raise ValueError(f"{path} is not a model saved by vst, or it is damaged: {error}") from None
    if description["format"] > FORMAT:
        raise ValueError(
            f"{path} has format {description['format']}, this version reads up to {FORMAT}: update vst"
        )
    if description["model"] != cls.__name__:
        raise ValueError(
            f"{path} holds a {description['model']}: load it with {description['model']}.load"
        )
    model = cls(**description["params"])
    for name, value in description["numbers"].items():
        setattr(model, name, value)
    if description["feature_names"] is not None:
        model.feature_names_in_ = np.array(description["feature_names"], dtype=object)
    model.shape_ = TreeShape(**description["shape"])
    model.encoder_ = _encoder(description["encoder"])
    for name in ARRAYS:
        if name in arrays:
            setattr(model, name, arrays[name] if name == "elbo_" else jnp.asarray(arrays[name]))
    model.standardiser_ = Standardiser(**_group(arrays, "standardiser"))
    posterior = {name: jnp.asarray(value) for name, value in _group(arrays, "posterior").items()}
    model.stacked_posteriors_ = LowRankGaussian(**posterior)
    return model


def _write(path: Path, arrays: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _encoder(description: dict | None) -> TableEncoder | None:
    if description is None:
        return None
    categories = (None if known is None else tuple(known) for known in description["categories"])
    return TableEncoder(tuple(description["columns"]), tuple(categories))


def _group(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    start = prefix + "."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def _plain(value: Any) -> Any:
    """NumPy scalars as the Python numbers they stand for."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"{value!r} cannot be saved without pickle; column names, categories and parameters must be "
        f"text or numbers"
    )
