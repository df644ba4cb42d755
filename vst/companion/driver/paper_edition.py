"""The built pages as one HTML document for paper: no buttons, no folds, links that stay inside."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from vst.errors import UserError

#: What has no meaning on paper: scripts, buttons, filters, files to save, code that is folded away.
#: A claim is unfolded among all claims, so that its chapter need not repeat the rule.
DROPPED = (
    "script, style, button, form, dialog, .headerlink, .filters, .controls, .book-pdf, "
    "section:has(> h2):has(.chapter-cards), .no-print, details.hide.above-input, .tag_parameters, "
    ".tag_injected-parameters, .output.stderr, details[id^=shown-] dl, .sd-container-fluid:has(.sd-btn)"
)

#: Tables wider than the paper are made smaller, the widest on a page that lies on its side.
FIT = """
addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  document.querySelectorAll("article table").forEach((table) => {
    const room = table.closest("section, article").clientWidth, width = table.scrollWidth;
    const box = table.closest(".scores");
    if (width > 1.4 * room && box) box.classList.add("lying");
    const wide = box?.matches(".lying") ? box.clientWidth : room;
    if (width > wide) table.style.zoom = wide / width;
  });
});
"""


class Part(NamedTuple):
    """A part of the book: its caption, and its pages without suffix, such as ``book/claims``."""

    caption: str
    pages: Sequence[str]


def key(name: str) -> str:
    """The id of a page in the document."""
    return name.rpartition("/")[2]


def paper_edition(
    pages: Path, title: str, parts: Sequence[Part], numbers: Mapping[str, int]
) -> str:
    """The document: a title page, the contents, then every page as a chapter.

    Parameters
    ----------
    pages
        The directory of the built pages.
    title
        The title of the book.
    parts
        The pages in the order of the book.
    numbers
        The page of the paper on which each chapter begins, by `key`, as far as known.
    """
    names = [name for part in parts for name in part.pages]
    soups = {name: _parsed(pages / f"{name}.html") for name in names}
    chapters = {name: _chapter(soup, name, pages, names) for name, soup in soups.items()}
    first = chapters[names[0]]
    sentence = first.select_one(".headline")
    return (
        '<!DOCTYPE html><html lang="en" class="paper" data-theme="light" data-mode="light">'
        f'<head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"{_head(soups[names[0]], pages / names[0])}</head><body>"
        f'<header class="title-page"><p class="title">{escape(title)}</p>'
        '<p class="subtitle">The paper, rebuilt and tested in Python and JAX</p>'
        f"{sentence.extract() if sentence else ''}</header>"
        f"{_contents(parts, chapters, numbers)}"
        f"{''.join(map(str, chapters.values()))}<script>{FIT}</script></body></html>"
    )


def page_numbers(pdf: bytes) -> dict[str, int]:
    """The pages on which the named places of a PDF of Chromium's are; none of another's."""
    objects = [int(one) for one in re.findall(rb"(\d+) 0 obj\s*<</Type /Page\b", pdf)]
    places = re.findall(rb"/([\w-]+) \[(\d+) 0 R /XYZ", pdf)
    order = {number: i for i, number in enumerate(sorted(objects), start=1)}
    return {name.decode(): order[int(page)] for name, page in places if int(page) in order}


def _parsed(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def _head(page: BeautifulSoup, path: Path) -> str:
    """The page's styles, and what typesets its equations."""
    kept = []
    for tag in page.select("link[rel=stylesheet], script"):
        source = "href" if tag.name == "link" else "src"
        if tag.has_attr(source):
            tag[source] = _absolute(str(tag[source]), path)
        tag.attrs.pop("media", None)  # styles for paper are for all of this document
        if tag.name == "link" or "mathjax" in str(tag).lower():
            kept.append(str(tag))
    return "".join(kept)


def _chapter(page: BeautifulSoup, name: str, pages: Path, names: Sequence[str]) -> Tag:
    """A page's article without what paper cannot do, and with ids that are unique in the book."""
    article = page.select_one("article.bd-article")
    if article is None:
        raise UserError(f"{name}.html has no article that could be printed")
    for tag in article.select(DROPPED):
        tag.decompose()
    for tag in article.select("a[download]"):
        tag.replace_with(f"{tag.get_text()} [on the book's web page]")
    for tag in article.select("details"):
        if "claim" in tag.get_attribute_list("class"):
            tag["open"] = ""
        elif tag.summary:  # what a page folds away, without the frame and its button
            tag.summary.decompose()
            tag.unwrap()
    for tag in article.select("[id]"):
        tag["id"] = f"{key(name)}--{tag['id']}"
    for tag in article.select("a[href]"):
        tag["href"] = _link(str(tag["href"]), name, pages, names)
    for tag in article.select("img[src]"):
        tag["src"] = _absolute(str(tag["src"]), pages / name)
        tag.attrs.pop("loading", None)  # all pictures are on paper
    article["id"] = key(name)
    return article


def _link(target: str, name: str, pages: Path, names: Sequence[str]) -> str:
    """Where a link of a page leads in the document; what is not in it leads to its own chapter."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return target
    path = (pages / name).parent / unquote(parts.path) if parts.path else pages / f"{name}.html"
    there = path.resolve().with_suffix("").relative_to(pages.resolve()).as_posix()
    if there not in names:
        return f"#{key(name)}"
    return f"#{key(there)}--{parts.fragment}" if parts.fragment else f"#{key(there)}"


def _absolute(target: str, page: Path) -> str:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return target
    return (page.parent / unquote(parts.path)).resolve().as_uri()


def _contents(
    parts: Sequence[Part], chapters: Mapping[str, Tag], numbers: Mapping[str, int]
) -> str:
    lines = []
    for part in parts:
        lines.append(f'<p class="part">{escape(part.caption)}</p>' if part.caption else "")
        for name in part.pages:
            heading = chapters[name].find("h1")
            text = heading.get_text(" ", strip=True) if heading else key(name)
            lines.append(
                f'<p class="entry" data-page="{numbers.get(key(name), "")}">'
                f'<a href="#{key(name)}">{escape(text)}</a><span></span></p>'
            )
    return f'<article class="contents"><h1>Contents</h1>{"".join(lines)}</article>'
