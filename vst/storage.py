"""Fitted models as files: a zip archive of plain arrays and a JSON description, never pickle.

A file is not trusted: the description determines the names and shapes of the arrays, and nothing else
is read. Every fault in a file raises ValueError.
"""

import json
import math
import numbers
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.base import ClassifierMixin, is_classifier, is_regressor

from vst.archive import group, read_array, require, write_arrays
from vst.classes import ClassShape
from vst.descriptions import (
    describe_part,
    describe_past,
    is_finite,
    is_integer,
    is_seed,
    memory_arrays,
    n_encoded,
    part_arrays,
    read_class_shape,
    read_classes,
    read_encoder,
    read_past,
    read_results,
    read_shape,
    require_same,
)
from vst.joint import JointShape
from vst.memory import require_memory
from vst.posterior import LowRankGaussian
from vst.preprocessing import Standardiser
from vst.selection import Part

FORMAT = 1

#: Fitted attributes that are one array each; a model has some of them.
ARRAYS = ("elbo_", "thetas_", "noise_scales_")

#: Fitted attributes that are one number each; all but a mixture also have a beta.
NUMBERS = ("seed_", "n_features_in_")

#: Those of a regressor besides: the units of its target.
UNITS = ("target_mean_", "target_scale_")

#: Largest description in bytes, enough for millions of column names or categories.
LONGEST = 2**27

COMMON = {"format", "model", "params", "numbers", "feature_names", "encoder"}

#: Parts that older files do not have.
LATER = {"fitted", "converged", "gaps", "usual_uncertainty", "past"}

POSITIVE = (
    "posterior.scale", "standardiser.scale", "noise_scales_", "memory.weights", "memory.ranks",
)  # fmt: skip


class _WrongFileError(ValueError):
    """A valid file that this version or this class cannot read."""


def save(model: Any, path: str | PathLike) -> None:
    """Write a fitted estimator; if the write fails or is killed, an older file stays intact."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path.parent} is not a directory: create it before saving a model there"
        )
    description = {
        "format": FORMAT,
        "model": type(model).__name__,
        "params": model.get_params() | {"random_state": _random_state(model)},
        "numbers": {name: getattr(model, name) for name in _numbers(model)},
        "feature_names": list(getattr(model, "feature_names_in_", [])) or None,
        "encoder": None if model.encoder_ is None else asdict(model.encoder_),
        "gaps": model.standardiser_.gaps,
        "usual_uncertainty": getattr(model, "usual_uncertainty_", None),
    }
    if is_classifier(model):
        description["classes"] = model.classes_
    if _is_mixture(model):
        description |= {
            "parts": [describe_part(part) for part in model.parts_],
            "results": model.cv_results_,
        }
        arrays = {
            f"part{i}.posterior.{k}": v
            for i, part in enumerate(model.parts_)
            for k, v in part.posteriors._asdict().items()
        }
    else:
        description |= {
            "shape": asdict(model.shape_),
            "fitted": _sizes(model),
            "converged": model.converged_,
            "past": describe_past(model.past_),
        }
        arrays = {name: getattr(model, name) for name in ARRAYS if hasattr(model, name)}
        arrays |= {f"posterior.{k}": v for k, v in model.stacked_posteriors_._asdict().items()}
        arrays |= {f"memory.{k}": v for k, v in model.past_.memory._asdict().items()}
    arrays |= {
        f"standardiser.{k}": v
        for k, v in model.standardiser_._asdict().items()
        if v is not None and k != "gaps"
    }
    text = np.array(json.dumps(description, default=_plain))
    if text.nbytes > LONGEST:
        raise ValueError(
            f"the model cannot be saved: its column names and categories take {text.nbytes} bytes, "
            f"more than {LONGEST}; use fewer columns or categories"
        )
    write_arrays(path, {"description": text} | arrays)


def load(classes: Mapping[str, type], path: str | PathLike) -> Any:
    """Read an estimator back, which must be of one of these classes, given by name."""
    try:
        file = open(path, "rb")  # noqa: SIM115  closed below
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}: name one that holds a model") from None
    except IsADirectoryError:
        raise ValueError(f"{path} is a directory: name the file in it that holds a model") from None
    with file:
        try:
            return _read(classes, file)
        except _WrongFileError as error:
            raise ValueError(f"{path} {error}") from None
        # Damaged bytes can make zipfile, zlib, NumPy and JSON raise almost anything.
        except Exception as error:
            raise ValueError(
                f"{path} is not a model saved by vst, or it is damaged ({_reason(error)}): copy the "
                f"file again, or fit and save the model again"
            ) from error


def _read(classes: Mapping[str, type], file: Any) -> Any:
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        require(len(members) == len(archive.infolist()), "two members have the same name")
        description = _description(classes, archive, members)
        model = _estimator(classes[description["model"]], description)
        shapes = _shapes(model, description, rotated="standardiser.rotation" in members)
        require_same(set(members), set(shapes) | {"description"}, "array")
        total = 8 * sum(map(math.prod, shapes.values()))
        require_memory(total, "this model", "load it on a larger machine")
        arrays = {name: read_array(archive, members[name], shape) for name, shape in shapes.items()}
    for name, array in arrays.items():
        # A tree of an ensemble may have been done earlier than the others.
        known = array[~np.isnan(array)] if name == "elbo_" else array
        require(np.isfinite(known).all(), f"{name} holds values that are not finite")
        positive = name.endswith(POSITIVE)
        require(not positive or (array > 0).all(), f"{name} holds values of 0 or less")
    _set_arrays(model, arrays, description.get("parts", []))
    if not _is_mixture(model):
        model.past_ = read_past(description.get("past"), arrays, len(model.standardiser_.mean))
    return model


def _description(
    classes: Mapping[str, type], archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
) -> dict[str, Any]:
    """The file's JSON, checked for format, class and missing or unknown parts."""
    require("description" in members, "it has no description")
    require(members["description"].file_size <= LONGEST, "its description is too long")
    description = json.loads(str(read_array(archive, members["description"], (), kind="U")))
    require(isinstance(description, dict), "its description is not a JSON object")
    number, name = description.get("format"), description.get("model")
    require(is_integer(number) and number >= 1, f"its format is {number!r}")
    if number > FORMAT:
        raise _WrongFileError(
            f"has format {number}, but this version reads up to {FORMAT}: update vst"
        )
    require(isinstance(name, str) and name.isidentifier(), "it does not name its model")
    if name not in classes:
        raise _WrongFileError(f"holds a {name}: load it with {name}.load")
    cls = classes[name]
    own = {"parts", "results"} if _is_mixture(cls) else {"shape"}
    own |= {"classes"} if issubclass(cls, ClassifierMixin) else set()
    require_same(set(description) - LATER, COMMON | own, "part")
    return description


def _estimator(cls: Any, description: dict[str, Any]) -> Any:
    """The estimator with its settings and all fitted attributes that are not arrays."""
    params, found = description["params"], description["numbers"]
    unknown = set(params) - set(cls._get_param_names())
    require(not unknown, f"{cls.__name__} has no parameter {', '.join(sorted(unknown))}")
    model = cls(**params)
    model._check_params()
    require(isinstance(model.progress, bool), "progress is not true or false")
    require(model.random_state is None or is_seed(model.random_state), "random_state is not a seed")

    require_same(set(found), set(_numbers(model)), "number")
    for name in set(found) - {"seed_"}:
        require(is_finite(found[name]), f"{name} is not a finite number")
    for name in set(found) - {"seed_", "target_mean_"}:
        require(found[name] > 0, f"{name} is not positive")
    require(is_integer(found["n_features_in_"]), "n_features_in_ is not an integer")
    require(is_seed(found["seed_"]), "seed_ is not a seed")
    for name in found:
        setattr(model, name, found[name])

    names = description["feature_names"]
    if names is not None:
        require(all(isinstance(name, str) for name in names), "a feature name is not text")
        require(len(names) == model.n_features_in_, "names and features differ in number")
        model.feature_names_in_ = np.array(names, dtype=object)
    model.encoder_ = read_encoder(description["encoder"], model.n_features_in_)
    gaps = description.get("gaps", [])
    d = model.n_features_in_ if model.encoder_ is None else n_encoded(model.encoder_)
    require(
        isinstance(gaps, list)
        and all(is_integer(gap) and 0 <= gap < d for gap in gaps)
        and gaps == sorted(set(gaps)),
        f"its columns with gaps are {gaps!r}",
    )
    usual = description.get("usual_uncertainty")
    if usual is not None:
        require(is_finite(usual) and usual >= 0, f"its usual uncertainty is {usual!r}")
        model.usual_uncertainty_ = usual
    # The means and scales are set with the other arrays.
    model.standardiser_ = Standardiser.identity(d + len(gaps))._replace(gaps=tuple(gaps))
    if is_classifier(model):
        model.classes_ = read_classes(description["classes"])
    if _is_mixture(model):
        model.cv_results_ = read_results(description["results"])
        return model
    model.converged_ = description.get("converged", False)  # older files do not tell
    require(isinstance(model.converged_, bool), "converged is not true or false")
    if is_classifier(model):
        model.shape_ = read_class_shape(model, description["shape"])
        return model
    model.shape_ = read_shape(model, description["shape"])
    noise = getattr(model.shape_, "noise", "ensemble")
    expected = ("shared", "ensemble") if hasattr(model, "n_trees") else ("leaf",)
    require(noise in expected, f"its trees are not those of a {type(model).__name__}")
    return model


def _is_mixture(model: Any) -> bool:
    """Whether a model, or a class of models, has several parts."""
    return bool(getattr(model, "is_mixture", False))


def _numbers(model: Any) -> tuple[str, ...]:
    units = UNITS if is_regressor(model) else ()
    return (*NUMBERS, *units) if _is_mixture(model) else (*NUMBERS, *units, "beta_")


def _shapes(
    model: Any, description: dict[str, Any], *, rotated: bool
) -> dict[str, tuple[int, ...]]:
    """The shape of every array that this model must have."""
    d = len(model.standardiser_.mean)
    shapes: dict[str, tuple[int, ...]] = {"standardiser.mean": (d,), "standardiser.scale": (d,)}
    if rotated:
        shapes["standardiser.rotation"] = (d, d)
    if _is_mixture(model):
        require(isinstance(description["parts"], list) and description["parts"], "it has no parts")
        for i, part in enumerate(description["parts"]):
            shapes |= part_arrays(i, part, read_shape(model, part["shape"]).n_params)
        return shapes
    p = model.shape_.n_params
    boosted, joint = hasattr(model, "n_trees"), isinstance(model.shape_, JointShape | ClassShape)
    names = [
        "members",
        "rank",
        "steps",
        *(["runs"] * boosted if joint else ["n_trees", "draws"] * boosted),
    ]
    # Files written by the first version do not hold the sizes of the fit.
    sizes = description.get("fitted") or {name: getattr(model, name) for name in names}
    require_same(set(sizes), set(names), "size")
    for name, size in sizes.items():
        require(is_integer(size) and size >= (name != "rank"), f"its {name} is {size!r}")
    require(sizes["rank"] <= p, "its rank is larger than its number of parameters")
    members, steps, rank = sizes["members"], sizes["steps"], sizes["rank"]
    runs = [sizes["runs" if joint else "n_trees"]] if boosted else []
    stack = (members, *([] if joint else runs))
    shapes |= {
        "elbo_": (members, *runs, steps),
        "posterior.mean": (*stack, p),
        "posterior.scale": (*stack, p),
        "posterior.factor": (*stack, p, rank),
    }
    if description.get("past"):  # older files have none
        shapes |= memory_arrays(description["past"], d)
    if boosted and not joint:
        shapes["thetas_"] = (sizes["draws"], sizes["n_trees"], p)
        shapes["noise_scales_"] = (sizes["draws"],)
    return shapes


def _set_arrays(model: Any, arrays: dict[str, np.ndarray], parts: list[dict[str, Any]]) -> None:
    for name in ARRAYS:
        if name in arrays:
            setattr(model, name, arrays[name] if name == "elbo_" else jnp.asarray(arrays[name]))
    model.standardiser_ = model.standardiser_._replace(**group(arrays, "standardiser"))
    if _is_mixture(model):
        model.parts_ = tuple(
            Part(
                part["name"], part["beta"], read_shape(model, part["shape"]),
                _posterior(arrays, f"part{i}.posterior"),
                tuple(part["stretch_weights"]), part["smallest_scale"],
            )
            for i, part in enumerate(parts)
        )  # fmt: skip
        return
    model.stacked_posteriors_ = _posterior(arrays, "posterior")
    model.n_iter_ = model.elbo_.shape[-1]


def _posterior(arrays: dict[str, np.ndarray], prefix: str) -> LowRankGaussian:
    return LowRankGaussian(**{k: jnp.asarray(v) for k, v in group(arrays, prefix).items()})


def _sizes(model: Any) -> dict[str, int]:
    """The settings that determined the shapes of the fitted arrays."""
    members, *trees, _, rank = model.stacked_posteriors_.factor.shape
    sizes = {"members": members, "rank": rank, "steps": model.elbo_.shape[-1]}
    if model.elbo_.ndim == 3 and not trees:
        sizes |= {"runs": model.elbo_.shape[1]}
    elif trees:
        sizes |= {"n_trees": trees[0], "draws": len(model.noise_scales_)}
    return sizes


def _random_state(model: Any) -> Any:
    """The setting if JSON can hold it, otherwise the seed that the fit used."""
    setting = model.random_state
    if isinstance(setting, np.ndarray):
        setting = setting.tolist()
    written = isinstance(setting, numbers.Integral | None | list | tuple)
    return setting if written else model.seed_


def _reason(error: Exception) -> str:
    """An error's message on one line, shortened."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:200] + " ..."


def _plain(value: Any) -> Any:
    """Convert NumPy values to plain Python values."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        f"{value!r} cannot be saved without pickle: use text or numbers for column names, categories "
        f"and parameters"
    )
