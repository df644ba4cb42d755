"""The peers' libraries, imported when a peer is fitted and not before."""

import importlib
from types import ModuleType

from vst.errors import UserError


class MissingLibraryError(UserError, ImportError):
    """A peer's library is not installed."""


def library(name: str) -> ModuleType:
    """Import a library, or say how to get it.

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
            raise  # it is installed, and misses something of its own
        raise MissingLibraryError(
            f'{name} is not installed: the peers and their tuning need pip install "vst[peers]"'
        ) from None
