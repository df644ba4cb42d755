"""The whole book as one PDF: its pages in one document, printed by Chromium."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from vst.companion.driver.paper_edition import Part, page_numbers, paper_edition
from vst.errors import UserError

#: The PDF's name among the pages.
PDF = "variational-boosted-soft-trees.pdf"

#: Names of the program, in the order of preference.
BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip

#: Seconds after which printing counts as stuck.
PATIENCE = 600

#: The place on the front page that leads to the PDF, empty while there is none.
SLOT = re.compile('(<p class="book-pdf">).*?(</p>)')


def find_browser() -> str | None:
    """The Chromium of this machine, or a relative that prints as it does."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def print_book(root: Path) -> Path:
    """Print the built book in ``root`` as one PDF beside its pages, to which the first page links."""
    browser = find_browser()
    if browser is None:
        raise UserError(
            "printing the book needs Chromium or Google Chrome: install one (Debian and Ubuntu: "
            "apt install chromium; macOS: brew install --cask chromium)"
        )
    pages = root / "_build" / "html"
    contents = yaml.safe_load((root / "_toc.yml").read_text())
    first = pages / f"{contents['root']}.html"
    if not first.exists():
        raise UserError(f"there is no book in {pages}: build one with `vst book build`")
    title = yaml.safe_load((root / "_config.yml").read_text())["title"]
    parts = parts_of(contents)
    target = pages / PDF
    with tempfile.TemporaryDirectory() as directory:
        document, printed = Path(directory) / "book.html", Path(directory) / PDF
        numbers: dict[str, int] = {}
        for _ in range(2):  # the contents show page numbers, which the first time tells
            document.write_text(paper_edition(pages, title, parts, numbers), encoding="utf-8")
            _print(browser, document, printed, Path(directory) / "profile")
            numbers = page_numbers(printed.read_bytes())
        # Whole or not at all, also if this is killed; a link without its PDF is made good next time.
        replace_file(first, linked(first.read_text(encoding="utf-8"), printed).encode())
        replace_file(target, printed.read_bytes())
    return target


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside its place, then put it there."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_bytes(content)
    beside.replace(path)


def parts_of(contents: Mapping[str, Any]) -> list[Part]:
    """The pages of a table of contents, in order."""
    groups = [contents, *contents.get("parts", [])]
    parts = [
        Part(group.get("caption", ""), [entry["file"] for entry in group.get("chapters", [])])
        for group in groups
    ]
    return [Part("", [contents["root"], *parts[0].pages]), *parts[1:]]


def linked(page: str, pdf: Path) -> str:
    """The first page, one folder below the PDF, with a link to it."""
    size = f"{pdf.stat().st_size / 1e6:.0f} MB"
    link = f'<a href="../{PDF}">The whole book as a PDF</a>, made for paper ({size})'
    return SLOT.sub(rf"\1{link}\2", page)


def _print(browser: str, document: Path, target: Path, profile: Path) -> None:
    command = [
        browser,
        "--headless=new",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--allow-file-access-from-files",  # fonts beside the pages
        "--no-first-run",
        f"--user-data-dir={profile}",  # not that of a reader's open browser
        "--virtual-time-budget=120000",  # equations are typeset after the page has loaded
        "--no-pdf-header-footer",
        "--generate-pdf-document-outline",
        f"--print-to-pdf={target}",
        document.as_uri(),
    ]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        command.insert(1, "--no-sandbox")  # as root Chromium refuses to start with one
    target.unlink(missing_ok=True)
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UserError(f"{browser} could not print the book: {error}") from None
    if result.returncode or not target.exists():
        raise UserError(f"{browser} could not print the book:\n{result.stderr.strip()[-2000:]}")
