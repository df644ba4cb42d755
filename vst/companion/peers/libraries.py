"""Imports a peer's library only when the peer is fitted."""

import importlib
from types import ModuleType

from vst.errors import UserError


class MissingLibraryError(UserError, ImportError):
    """A peer's library is not installed."""


def library(name: str) -> ModuleType:
    """Import a library, or raise an error that says how to install it.

    Examples
    --------
    >>> library("no_such_library")
    Traceback (most recent call last):
        ...
    vst.companion.peers.libraries.MissingLibraryError: no_such_library is not installed: ...
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise  # it is installed, but one of its own dependencies is missing
        raise MissingLibraryError(
            f'{name} is not installed: run pip install "vst[peers]"'
        ) from None
