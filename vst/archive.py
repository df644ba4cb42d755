"""Zip archives of plain arrays, as NumPy writes them, read without trust in what they declare."""

import math
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np


def read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...], kind: str = "f"
) -> np.ndarray:
    """Read one member of the archive, which must hold exactly the expected array."""
    name = info.filename
    require(name.endswith(".npy"), f"{name} is not an array")
    with archive.open(info) as member:
        require(np.lib.format.read_magic(member) == (1, 0), f"{name} is not an array")
        found, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
        require(found == shape, f"{name} has shape {found} instead of {shape}")
        require(
            dtype.kind == kind and (kind != "f" or dtype.itemsize in (4, 8)), f"{name}: {dtype}"
        )
        size = math.prod(shape) * dtype.itemsize
        require(
            info.file_size == member.tell() + size, f"{name} does not have the size it declares"
        )
        content = bytearray(member.read(size))
        require(len(content) == size and not member.read(1), f"{name} is cut off")
    flat = np.frombuffer(content, dtype) if size else np.empty(0, dtype)
    array = flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write arrays by name; if that fails or is killed, an older file stays intact."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def group(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix and a dot, by the rest of their names."""
    start = prefix + "."
    return {name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)}


def require(condition: Any, reason: str) -> None:
    """Raise ValueError unless a condition holds."""
    if not condition:
        raise ValueError(reason)
