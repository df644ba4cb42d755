"""What the file of a model says of it, checked before anything is built from it.

Every fault raises ValueError.
"""

import math
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from vst.archive import group, require
from vst.classes import ClassShape
from vst.encoding import TableEncoder
from vst.joint import JointShape
from vst.learning import Memory, Past
from vst.memory import require_depth
from vst.selection import Part
from vst.stacking import STRETCHES
from vst.tree import TreeShape

#: Numbers and text of a part of a mixture.
PART = {"name", "beta", "stretch_weights", "smallest_scale", "members", "rank", "shape"}


def read_encoder(description: dict | None, n_features: int) -> TableEncoder | None:
    """The encoder of text columns, or None for a table of numbers."""
    if description is None:
        return None
    require_same(set(description), {"columns", "categories"}, "part of the encoder")
    columns, categories = description["columns"], description["categories"]
    require(
        len(columns) == len(categories) == n_features, "the encoder has the wrong number of columns"
    )
    known = [category for each in categories if each is not None for category in each]
    require(
        all(name is None or isinstance(name, str | int | float) for name in (*columns, *known)),
        "a column or category is neither text nor a number",
    )
    return TableEncoder(
        tuple(columns), tuple(None if known is None else tuple(known) for known in categories)
    )


def n_encoded(encoder: TableEncoder) -> int:
    """How many columns the encoder makes of a table."""
    return sum(1 if known is None else len(known) for known in encoder.categories)


def read_classes(found: Any) -> np.ndarray:
    """The labels of a classifier."""
    require(isinstance(found, list) and len(found) >= 2, "it has less than two classes")
    known = all(isinstance(label, str | int | float) for label in found)
    require(known, "a class is neither text nor a number")
    classes = np.array(found)
    require(len(np.unique(classes)) == len(found), "two classes are the same")
    return classes


def read_shape(model: Any, description: dict[str, Any]) -> TreeShape | JointShape | ClassShape:
    """The shape of a tree or of an ensemble, checked against the table's features."""
    if "n_classes" in description:
        return read_class_shape(model, description)
    if "tree" not in description:
        return _tree_shape(model, description)
    require_same(set(description), {"tree", "n_trees", "noise_tree", "share"}, "part of the shape")
    n_trees, share, noise = (description[name] for name in ("n_trees", "share", "noise_tree"))
    require(is_integer(n_trees) and n_trees >= 1, "its number of trees is not positive")
    require(is_finite(share) and share > 0, "the trees' share is not a positive number")
    noise_tree = None if noise is None else _tree_shape(model, noise)
    require(noise_tree is None or noise_tree.noise == "leaf", "its noise tree has no noise")
    tree = _tree_shape(model, description["tree"])
    require(not isinstance(tree.noise, str), "its trees have a noise of their own")
    return JointShape(tree, n_trees, noise_tree, share)


def _tree_shape(model: Any, description: dict[str, Any]) -> TreeShape:
    for name in ("in_features", "depth"):
        require(is_integer(description[name]), f"the tree's {name} is not an integer")
    require_depth(description["depth"])
    shape = TreeShape(**description)
    require(
        shape.in_features == len(model.standardiser_.mean),
        "the tree and the table differ in features",
    )
    return shape


def read_class_shape(model: Any, description: dict[str, Any]) -> ClassShape:
    """The shape of trees for classes, checked against the table and the settings."""
    names = {field.name for field in fields(ClassShape)}
    require_same(set(description), names, "part of the shape")
    for name in names - {"leaves"}:
        value = description[name]
        require(is_integer(value) and value >= 0, f"the trees' {name} is not a count")
    require(description["leaves"] in ("constant", "linear"), "its leaves are unknown")
    require_depth(description["depth"])
    shape = ClassShape(**description)
    require(
        shape.in_features == len(model.standardiser_.mean), "trees and table differ in features"
    )
    require(shape.n_classes == len(model.classes_), "its trees have other classes")
    boosted, chosen = hasattr(model, "n_trees"), hasattr(model, "effort")
    require(chosen or (shape.n_trees > 0) == boosted, "it has another number of trees")
    return shape


def describe_part(part: Part) -> dict[str, Any]:
    """What a file says of a part of a mixture."""
    members, _, rank = part.posteriors.factor.shape
    return {
        "name": part.name, "beta": part.beta, "stretch_weights": part.stretch_weights,
        "smallest_scale": part.smallest_scale, "members": members, "rank": rank,
        "shape": asdict(part.shape),  # type: ignore[call-overload]
    }  # fmt: skip


def part_arrays(i: int, part: dict[str, Any], p: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a part's arrays, after its numbers have been checked."""
    require_same(set(part), PART, "part of the mixture")
    require(isinstance(part["name"], str), "the name of a part is not text")
    for name in ("beta", "smallest_scale"):
        require(is_finite(part[name]), f"a part's {name} is not a finite number")
        require(part[name] > 0, f"a part's {name} is {part[name]}")
    weights = part["stretch_weights"]
    require(
        isinstance(weights, list)
        and len(weights) == len(STRETCHES)
        and all(is_finite(weight) and weight >= 0 for weight in weights)
        and sum(weights) > 0,
        f"a part's stretch_weights are {weights!r}",
    )
    for name in ("members", "rank"):
        require(
            is_integer(part[name]) and part[name] >= (name != "rank"),
            f"its {name} is {part[name]!r}",
        )
    require(part["rank"] <= p, "its rank is larger than its number of parameters")
    posterior = {"mean": (p,), "scale": (p,), "factor": (p, part["rank"])}
    return {f"part{i}.posterior.{k}": (part["members"], *shape) for k, shape in posterior.items()}


def describe_past(past: Past) -> dict[str, Any]:
    """What a file says of the rows so far; those in the memory are arrays."""
    return past._replace(memory=len(past.memory.y))._asdict()  # type: ignore[arg-type]


def memory_arrays(past: dict[str, Any], d: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the memory's arrays, after the numbers have been checked."""
    require(isinstance(past, dict), "its past is not a JSON object")
    require_same(set(past), set(Past._fields), "part of the past")
    for name in ("rows", "parts", "memory"):
        require(is_integer(past[name]) and past[name] >= 0, f"its past has {name} {past[name]!r}")
    for name in ("total", "basis", "since"):
        require(is_finite(past[name]) and past[name] >= 0, f"its past has {name} {past[name]!r}")
    rows = (past["memory"],)
    shapes = {"x": (*rows, d), "y": rows, "weights": rows, "ranks": rows}
    return {f"memory.{name}": shape for name, shape in shapes.items()}


def read_past(past: dict[str, Any] | None, arrays: dict[str, np.ndarray], d: int) -> Past:
    """The rows so far; a file that is older than ``partial_fit`` does not tell how many there were."""
    if past is None:
        return Past.of(0, 0.0, Memory.empty(d))
    return Past(**past | {"memory": Memory(**group(arrays, "memory"))})


def read_results(found: Any) -> dict[str, list[Any]]:
    """The scores that decided, which are only shown."""
    require(isinstance(found, dict), "its results are not a table")
    require(all(isinstance(column, list) for column in found.values()), "a result is not a list")
    return found


def require_same(found: set[str], expected: set[str], kind: str) -> None:
    """Raise ValueError for the first name that is in one set alone."""
    for name in sorted(found ^ expected):
        raise ValueError(f"{kind} {name!r} is {'unknown' if name in found else 'missing'}")


def is_integer(value: Any) -> bool:
    """Whether a JSON value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_seed(value: Any) -> bool:
    """Whether a JSON value is a seed, or a list of seeds."""
    several = isinstance(value, list) and len(value) > 0
    return all(is_integer(each) and each >= 0 for each in (value if several else [value]))


def is_finite(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)
