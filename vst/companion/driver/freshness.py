"""Digests of a chapter's inputs, which tell whether it would come out the same today."""

import hashlib
import json
import os
from collections.abc import Iterable
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import vst
from vst.datasets.places import cache_directory, named_directory

_PACKAGE = Path(vst.__file__).parent


def of_files(directory: Path, *, without: Iterable[str] = ("__pycache__",)) -> str:
    """A digest of the names and contents of all files in a directory."""
    digest = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file() and not set(without) & set(path.parts):
            digest.update(f"{path.relative_to(directory)}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def of_surroundings(root: Path) -> str:
    """A digest of the inputs that all chapters share: package, data and installed versions."""
    elsewhere = [place for place in (named_directory(), cache_directory()) if place is not None]
    parts = [
        of_files(_PACKAGE),
        of_files(root / "data"),
        [sorted((p.name, p.stat().st_size) for p in place.glob("*")) for place in elsewhere],
        sorted(f"{d.metadata['Name']}=={d.version}" for d in distributions()),
        os.environ.get("JAX_PLATFORMS", ""),
    ]
    return _digest(parts)


def of_chapter(source: Path, values: dict[str, Any], surroundings: str) -> str:
    """A digest of one chapter's inputs."""
    return _digest([source.read_text(), values, surroundings])


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
