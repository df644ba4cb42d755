"""Fitted models as files: a zip archive of plain arrays and a JSON description, never pickle.

A file is not trusted: the description determines the names and shapes of the arrays, and nothing else
is read. Every fault in a file raises ValueError.
"""

import json
import math
import numbers
import os
import zipfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from vst.memory import require_depth, require_memory
from vst.posterior import LowRankGaussian
from vst.preprocessing import Standardiser, TableEncoder
from vst.tree import TreeShape

FORMAT = 1

#: Fitted attributes that are one array each; a model has some of them.
ARRAYS = ("elbo_", "thetas_", "noise_scales_")

#: Fitted attributes that are one number each.
NUMBERS = ("target_mean_", "target_scale_", "seed_", "beta_", "n_features_in_")

#: Settings that determine array shapes. The estimator's own may have changed after its fit.
SIZES = ("members", "rank", "steps", "n_trees", "draws")

#: Largest description in bytes, enough for millions of column names or categories.
LONGEST = 2**27

PARTS = {"format", "model", "params", "numbers", "feature_names", "shape", "encoder"}

POSITIVE = ("posterior.scale", "standardiser.scale", "noise_scales_")


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
        "numbers": {name: getattr(model, name) for name in NUMBERS},
        "feature_names": list(getattr(model, "feature_names_in_", [])) or None,
        "shape": asdict(model.shape_),
        "encoder": None if model.encoder_ is None else asdict(model.encoder_),
        "fitted": _sizes(model),
        "converged": model.converged_,
    }
    arrays = {name: getattr(model, name) for name in ARRAYS if hasattr(model, name)}
    arrays |= {f"posterior.{k}": v for k, v in model.stacked_posteriors_._asdict().items()}
    arrays |= {
        f"standardiser.{k}": v for k, v in model.standardiser_._asdict().items() if v is not None
    }
    text = np.array(json.dumps(description, default=_plain))
    if text.nbytes > LONGEST:
        raise ValueError(
            f"the model cannot be saved: its column names and categories take {text.nbytes} bytes, "
            f"more than {LONGEST}; use fewer columns or categories"
        )
    _write(path, {"description": text} | arrays)


def load(cls: type, path: str | PathLike) -> Any:
    """Read an estimator of class ``cls`` back."""
    try:
        file = open(path, "rb")  # noqa: SIM115  closed below
    except IsADirectoryError:
        raise ValueError(f"{path} is a directory: name the file in it that holds a model") from None
    with file:
        try:
            return _read(cls, file)
        except _WrongFileError as error:
            raise ValueError(f"{path} {error}") from None
        # Damaged bytes can make zipfile, zlib, NumPy and JSON raise almost anything.
        except Exception as error:
            raise ValueError(
                f"{path} is not a model saved by vst, or it is damaged ({_reason(error)}): copy the "
                f"file again, or fit and save the model again"
            ) from error


def _read(cls: type, file: Any) -> Any:
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        _require(len(members) == len(archive.infolist()), "two members have the same name")
        description = _description(cls, archive, members)
        model = _estimator(cls, description)
        shapes = _shapes(model, description, rotated="standardiser.rotation" in members)
        _require_same(set(members), set(shapes) | {"description"}, "array")
        total = 8 * sum(map(math.prod, shapes.values()))
        require_memory(total, "this model", "load it on a larger machine")
        arrays = {name: _array(archive, members[name], shape) for name, shape in shapes.items()}
    for name, array in arrays.items():
        # A tree of an ensemble may have been done earlier than the others.
        known = array[~np.isnan(array)] if name == "elbo_" else array
        _require(np.isfinite(known).all(), f"{name} holds values that are not finite")
        _require(name not in POSITIVE or (array > 0).all(), f"{name} holds values of 0 or less")
    _set_arrays(model, arrays)
    return model


def _description(
    cls: type, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]
) -> dict[str, Any]:
    """The file's JSON, checked for format, class and missing or unknown parts."""
    _require("description" in members, "it has no description")
    _require(members["description"].file_size <= LONGEST, "its description is too long")
    description = json.loads(str(_array(archive, members["description"], (), kind="U")))
    _require(isinstance(description, dict), "its description is not a JSON object")
    number, name = description.get("format"), description.get("model")
    _require(_is_integer(number) and number >= 1, f"its format is {number!r}")
    if number > FORMAT:
        raise _WrongFileError(
            f"has format {number}, but this version reads up to {FORMAT}: update vst"
        )
    _require(isinstance(name, str) and name.isidentifier(), "it does not name its model")
    if name != cls.__name__:
        raise _WrongFileError(f"holds a {name}: load it with {name}.load")
    _require_same(set(description) - {"fitted", "converged"}, PARTS, "part")
    return description


def _estimator(cls: Any, description: dict[str, Any]) -> Any:
    """The estimator with its settings and all fitted attributes that are not arrays."""
    params, found = description["params"], description["numbers"]
    unknown = set(params) - set(cls._get_param_names())
    _require(not unknown, f"{cls.__name__} has no parameter {', '.join(sorted(unknown))}")
    model = cls(**params)
    model._check_params()
    _require(isinstance(model.progress, bool), "progress is not true or false")
    _require(
        model.random_state is None or _is_seed(model.random_state), "random_state is not a seed"
    )

    _require_same(set(found), set(NUMBERS), "number")
    for name in ("target_mean_", "target_scale_", "beta_"):
        _require(_is_finite(found[name]), f"{name} is not a finite number")
    for name in ("target_scale_", "beta_", "n_features_in_"):
        _require(found[name] > 0, f"{name} is not positive")
    _require(_is_integer(found["n_features_in_"]), "n_features_in_ is not an integer")
    _require(_is_seed(found["seed_"]), "seed_ is not a seed")
    for name in NUMBERS:
        setattr(model, name, found[name])
    model.converged_ = description.get("converged", False)  # older files do not tell
    _require(isinstance(model.converged_, bool), "converged is not true or false")

    names = description["feature_names"]
    if names is not None:
        _require(all(isinstance(name, str) for name in names), "a feature name is not text")
        _require(len(names) == model.n_features_in_, "names and features differ in number")
        model.feature_names_in_ = np.array(names, dtype=object)
    model.encoder_ = _encoder(description["encoder"], model.n_features_in_)
    model.shape_ = _tree_shape(model, description["shape"])
    return model


def _encoder(description: dict | None, n_features: int) -> TableEncoder | None:
    if description is None:
        return None
    _require_same(set(description), {"columns", "categories"}, "part of the encoder")
    columns, categories = description["columns"], description["categories"]
    _require(
        len(columns) == len(categories) == n_features, "the encoder has the wrong number of columns"
    )
    known = [category for each in categories if each is not None for category in each]
    _require(
        all(name is None or isinstance(name, str | int | float) for name in (*columns, *known)),
        "a column or category is neither text nor a number",
    )
    return TableEncoder(
        tuple(columns), tuple(None if known is None else tuple(known) for known in categories)
    )


def _tree_shape(model: Any, description: dict[str, Any]) -> TreeShape:
    for name in ("in_features", "depth"):
        _require(_is_integer(description[name]), f"the tree's {name} is not an integer")
    require_depth(description["depth"])
    shape = TreeShape(**description)
    features = model.n_features_in_ if model.encoder_ is None else _n_encoded(model.encoder_)
    _require(shape.in_features == features, "the tree and the table differ in features")
    _require(
        shape.noise == ("shared" if hasattr(model, "n_trees") else "leaf"),
        f"its trees are not those of a {type(model).__name__}",
    )
    return shape


def _n_encoded(encoder: TableEncoder) -> int:
    return sum(1 if known is None else len(known) for known in encoder.categories)


def _shapes(
    model: Any, description: dict[str, Any], *, rotated: bool
) -> dict[str, tuple[int, ...]]:
    """The shape of every array that this model must have."""
    d, p = model.shape_.in_features, model.shape_.n_params
    boosted = hasattr(model, "n_trees")
    # Files written by the first version do not hold the sizes of the fit.
    settings = {name: getattr(model, name) for name in SIZES if hasattr(model, name)}
    sizes = description.get("fitted", settings)
    _require_same(set(sizes), set(settings), "size")
    for name, size in sizes.items():
        _require(_is_integer(size) and size >= (name != "rank"), f"its {name} is {size!r}")
    _require(sizes["rank"] <= p, "its rank is larger than its number of parameters")
    stack = (sizes["members"], *([sizes["n_trees"]] if boosted else []))
    shapes: dict[str, tuple[int, ...]] = {
        "elbo_": (*stack, sizes["steps"]),
        "posterior.mean": (*stack, p),
        "posterior.scale": (*stack, p),
        "posterior.factor": (*stack, p, sizes["rank"]),
        "standardiser.mean": (d,),
        "standardiser.scale": (d,),
    }
    if rotated:
        shapes["standardiser.rotation"] = (d, d)
    if boosted:
        shapes["thetas_"] = (sizes["draws"], sizes["n_trees"], p)
        shapes["noise_scales_"] = (sizes["draws"],)
    return shapes


def _array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...], kind: str = "f"
) -> np.ndarray:
    """Read one member of the archive, which must hold exactly the expected array."""
    name = info.filename
    _require(name.endswith(".npy"), f"{name} is not an array")
    with archive.open(info) as member:
        _require(np.lib.format.read_magic(member) == (1, 0), f"{name} is not an array")
        found, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
        _require(found == shape, f"{name} has shape {found} instead of {shape}")
        _require(
            dtype.kind == kind and (kind != "f" or dtype.itemsize in (4, 8)), f"{name}: {dtype}"
        )
        size = math.prod(shape) * dtype.itemsize
        _require(
            info.file_size == member.tell() + size, f"{name} does not have the size it declares"
        )
        content = bytearray(member.read(size))
        _require(len(content) == size and not member.read(1), f"{name} is cut off")
    flat = np.frombuffer(content, dtype) if size else np.empty(0, dtype)
    array = flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _set_arrays(model: Any, arrays: dict[str, np.ndarray]) -> None:
    for name in ARRAYS:
        if name in arrays:
            setattr(model, name, arrays[name] if name == "elbo_" else jnp.asarray(arrays[name]))
    model.standardiser_ = Standardiser(**_group(arrays, "standardiser"))
    posterior = {name: jnp.asarray(value) for name, value in _group(arrays, "posterior").items()}
    model.stacked_posteriors_ = LowRankGaussian(**posterior)
    model.n_iter_ = model.elbo_.shape[-1]


def _sizes(model: Any) -> dict[str, int]:
    """The settings that determined the shapes of the fitted arrays."""
    members, *trees, _, rank = model.stacked_posteriors_.factor.shape
    sizes = {"members": members, "rank": rank, "steps": model.elbo_.shape[-1]}
    if trees:
        sizes |= {"n_trees": trees[0], "draws": len(model.noise_scales_)}
    return sizes


def _random_state(model: Any) -> Any:
    """The setting if JSON can hold it, otherwise the seed that the fit used."""
    setting = model.random_state
    if isinstance(setting, np.ndarray):
        setting = setting.tolist()
    written = isinstance(setting, numbers.Integral | None | list | tuple)
    return setting if written else model.seed_


def _require(condition: Any, reason: str) -> None:
    if not condition:
        raise ValueError(reason)


def _require_same(found: set[str], expected: set[str], kind: str) -> None:
    for name in sorted(found ^ expected):
        raise ValueError(f"{kind} {name!r} is {'unknown' if name in found else 'missing'}")


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_seed(value: Any) -> bool:
    several = isinstance(value, list) and len(value) > 0
    return all(_is_integer(each) and each >= 0 for each in (value if several else [value]))


def _is_finite(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def _reason(error: Exception) -> str:
    """An error's message on one line, shortened."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else text[:200] + " ..."


def _write(path: Path, arrays: dict[str, Any]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _group(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    start = prefix + "."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def _plain(value: Any) -> Any:
    """Convert NumPy values to plain Python values."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        f"{value!r} cannot be saved without pickle: use text or numbers for column names, categories "
        f"and parameters"
    )
