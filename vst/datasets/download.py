"""Downloads a file; a broken download never looks like a good one."""

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlparse

import pooch
import requests
from tqdm import tqdm

from vst.errors import DataError, MissingDataError

#: Seconds to wait for a connection, and then for each piece of the file. Most machines without a
#: network fail at once.
TIMEOUT = (3.0, 30.0)
CHUNK = 1 << 16


def download(
    url: str, target: Path, *, sha256: str | None, check: Callable[[Path], object]
) -> Path:
    """Download a file, and move it to ``target`` only when it is complete and correct.

    ``<name>.part`` collects what arrives, so that the next attempt continues an interrupted one. The
    complete file is checked in a separate directory, against its checksum and by ``check``, and then
    moved to ``target`` in one step.

    Parameters
    ----------
    check
        Called with the complete file's path; raises if the file is wrong.
    """
    incoming = target.parent / "incoming"
    incoming.mkdir(parents=True, exist_ok=True)
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)  # we have a progress bar
    arrived = incoming / target.name
    arrived.unlink(missing_ok=True)
    try:
        pooch.retrieve(
            url,
            known_hash=sha256 and f"sha256:{sha256}",
            fname=target.name,
            path=incoming,
            downloader=ResumingDownloader(incoming / f"{target.name}.part"),
        )
        check(arrived)
        os.replace(arrived, target)
    except requests.RequestException as error:
        raise MissingDataError(_reason(error, url)) from error
    except OSError as error:
        raise MissingDataError(f"{error}") from error
    except DataError:
        raise
    except ValueError as error:  # pooch raises it for a wrong checksum
        raise DataError(
            f"{url} sent a file that is not the expected file and was not kept: {error}"
        ) from error
    finally:
        logger.setLevel(level)
        arrived.unlink(missing_ok=True)
    return target


class ResumingDownloader:
    """A downloader for pooch that continues where an interrupted download stopped.

    Parameters
    ----------
    part
        File that collects the bytes received so far.
    """

    def __init__(self, part: Path) -> None:
        self.part = part

    def __call__(self, url: str, output_file: str | IO[bytes], _: Any) -> None:
        """Download ``url`` to ``output_file`` through the part file."""
        have = self.part.stat().st_size if self.part.exists() else 0
        # Without compression, the lengths below count bytes of the file itself.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
        with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
            if have and not _continues(response, have):
                if response.status_code == requests.codes.requested_range_not_satisfiable:
                    # The part file is not the beginning of this file.
                    self.part.unlink()
                    return self(url, output_file, _)
                have = 0  # the server sends the whole file
            response.raise_for_status()
            length = response.headers.get("Content-Length")
            total = have + int(length) if length is not None else None
            self._receive(response, have, total)
        size = self.part.stat().st_size
        if total is not None and size != total:
            raise requests.ConnectionError(
                f"the connection broke after {size} of {total} bytes of {url}; "
                "the next attempt continues from there"
            )
        os.replace(self.part, str(output_file))
        return None

    def _receive(self, response: requests.Response, have: int, total: int | None) -> None:
        bar = tqdm(total=total, initial=have, unit="B", unit_scale=True, desc=self.part.stem)
        with self.part.open("ab" if have else "wb") as stream, bar:
            try:
                for chunk in response.iter_content(CHUNK):
                    stream.write(chunk)
                    bar.update(len(chunk))
            except requests.exceptions.ChunkedEncodingError:
                if total is None:
                    raise
                # The connection broke: the caller compares the lengths and reports it.


def _continues(response: requests.Response, have: int) -> bool:
    return response.status_code == requests.codes.partial_content and response.headers.get(
        "Content-Range", ""
    ).startswith(f"bytes {have}-")


def _reason(error: requests.RequestException, url: str) -> str:
    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{url} answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return f"{url} did not answer in time"
    if isinstance(error, requests.ConnectionError) and not isinstance(error.args[0], str):
        return f"{urlparse(url).hostname} cannot be reached"
    return str(error)
