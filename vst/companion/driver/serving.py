"""Serves the built book over HTTP, on this machine only."""

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from vst.errors import UserError

LAST_PORT = 2**16 - 1


def server(pages: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server for a directory of pages; port 0 means any free port."""
    if not (pages / "index.html").exists():
        raise UserError(f"there is no book in {pages}: build one with `vst book build`")
    if not 0 <= port <= LAST_PORT:
        raise UserError(f"--port must be a number from 0 to {LAST_PORT}, got {port}")
    handler = partial(SimpleHTTPRequestHandler, directory=str(pages))
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise UserError(
            f"port {port} cannot be used ({error.strerror}): choose another with --port"
        ) from None


def serve(pages: Path, port: int) -> None:
    """Serve a directory until interrupted."""
    with server(pages, port) as running:
        print(f"The book is at http://127.0.0.1:{running.server_port} (stop with Ctrl-C)")
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            print()
