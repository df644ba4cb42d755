"""What the book's HTML says without a browser: links, pictures, the paper's artefacts."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from vst.companion.paper import Artefact

#: What names an artefact: a heading, a caption, the title of a box.
NAMES = "h1, h2, h3, figcaption, p.admonition-title"

#: What an artefact of each kind contains.
CONTENT = {"algorithm": "li", "figure": "img", "table": "table"}


@cache
def parsed(path: Path) -> BeautifulSoup:
    """A page's elements."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def html_pages(book: Path) -> list[Path]:
    """All pages of the book; the theme keeps templates in ``_static``."""
    return sorted(p for p in book.rglob("*.html") if "_static" not in p.relative_to(book).parts)


def broken_links(path: Path, book: Path) -> list[str]:
    """Links and sources of a page that lead to no file of the book, or to no place in one."""
    return [target for target in _targets(parsed(path)) if not _exists(target, path, book)]


def images_without_text(path: Path) -> list[str]:
    """Pictures that say nothing to a reader who cannot see them; a file's name says nothing."""
    page = parsed(path)
    silent = [str(image.get("src")) for image in page.find_all("img") if not _described(image)]
    return silent + [
        "inline svg"
        for svg in page.find_all("svg")
        if not (svg.get("aria-hidden") == "true" or svg.get("aria-label") or svg.find("title"))
    ]


def shows(path: Path, artefact: Artefact) -> bool:
    """Whether a page has an artefact of the paper, under its number."""
    name = re.compile(rf"\b{artefact.kind}\s+{artefact.number}\b", re.IGNORECASE)
    named = [tag for tag in parsed(path).select(NAMES) if name.search(tag.get_text())]
    return any(_place(tag).find(CONTENT[artefact.kind]) for tag in named)


def verdicts(path: Path) -> dict[str, set[str]]:
    """What a page says of each claim that it shows: one word, unless it contradicts itself."""
    found: dict[str, set[str]] = {}
    for mark in parsed(path).select("[data-claim]"):
        found.setdefault(str(mark["data-claim"]), set()).add(mark.get_text(" ", strip=True))
    return found


def _place(name: Tag) -> Tag:
    """What a caption, a title or a heading belongs to."""
    return name.find_parent(["figure", "div", "section"]) or name


def _described(image: Tag) -> bool:
    text = str(image.get("alt", "")).strip()
    return bool(text) and not text.endswith((".png", ".svg", ".jpg"))


def _targets(page: BeautifulSoup) -> list[str]:
    links = [str(tag["href"]) for tag in page.select("a[href], link[href]")]
    sources = [str(tag["src"]) for tag in page.select("[src]")]
    moved = page.select("meta[http-equiv=Refresh]")
    return links + sources + [str(tag["content"]).partition("url=")[2] for tag in moved]


def _exists(target: str, page: Path, book: Path) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return True  # the world's, not the book's
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not (file.is_file() and file.is_relative_to(book.resolve())):
        return False
    if not parts.fragment or file.suffix != ".html":
        return True
    return parsed(file).find(id=unquote(parts.fragment)) is not None
