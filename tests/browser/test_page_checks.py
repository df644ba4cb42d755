"""The checks of the book's pages find what they are for, on pages made to fail."""

import chromium
import html_pages
import pytest

from vst.companion.paper import ARTEFACT_BY_ID

SOUND = """
<table style="display: block; overflow-x: auto"><tr><td style="min-width: 2000px">wide</td></tr></table>
<p style="background: rgba(0, 0, 0, 0.8); color: white">light text on a dark ground</p>
<p>a set {a, b} for 5 $, and <code>$$</code></p>
"""

DARK_ON_DARK = "<style>html[data-theme=dark] body { background: #111 }</style><p>black on black</p>"

FAULTS = {
    "a script's error": ("<script>console.error('fault')</script>", "console: "),
    "a failed load": ('<script src="absent.js"></script>', "console: "),
    "a foreign picture": (
        '<img src="http://foreign.test/a.png">',
        "request to http://foreign.test/",
    ),
    "an equation": (r"<p>\(x\)</p>", r"equation: \("),
    "an equation in dollars": ("<p>$x$</p>", "equation: $x$"),
    "an equation not typeset": ('<p class="math">x</p>', "0 of 1 equations typeset"),
    "a faulty equation": ("<mjx-merror>x</mjx-merror>", "1 equations with errors"),
    "a role": ("<p>see {eq}`sum`</p>", "role or directive: {eq}"),
    "a directive": ("<p>:::{note}</p>", "role or directive: :::"),
    "an object": ("<pre>&lt;Figure size 640x480&gt;</pre>", "object instead of its picture"),
    "an empty object": ("<pre>Markdown(text='')</pre>", "object instead of its picture"),
    "a progress bar": ("<pre>predicting: 100%|█| 206/206</pre>", "progress bar"),
    "a traceback": ("<pre>Traceback (most recent call last)</pre>", "traceback"),
    "a second title": ("<h1>Second</h1>", "2 headings of level 1"),
    "a wide page": ('<p style="width: 1000px">wide</p>', "phone: scrolls sideways by"),
    "a cut table": (
        '<div style="overflow: hidden"><p style="width: 2000px">wide</p></div>',
        "desktop: outside the window: p",
    ),
    "faint text": ('<p style="color: #999">faint</p>', "desktop, light: contrast of 2.85"),
    "text faint in the dark": (DARK_ON_DARK, "phone, dark: contrast of 1.11"),
    "text on a translucent ground": (
        '<p style="background: rgba(0, 0, 0, 0.7)">black</p>',
        "desktop, light: contrast of 2.4",
    ),
}


def write_page(directory, body, name="page.html"):
    head = '<meta charset="utf-8"><title>Page</title><link rel="icon" href="data:,">'
    path = directory / name
    path.write_text(f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>")
    return path


def problems(browser, directory, body):
    write_page(directory, f"<h1>Title</h1>{body}")
    with chromium.served(directory) as url:
        return chromium.problems(browser, f"{url}/page.html")


def test_a_sound_page_has_no_problem(browser, tmp_path):
    assert problems(browser, tmp_path, SOUND) == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(browser, tmp_path, fault):
    body, expected = FAULTS[fault]
    found = problems(browser, tmp_path, body)
    assert any(problem.startswith(expected) for problem in found), found


@pytest.mark.parametrize(
    ("body", "broken"),
    [
        ('<a href="absent.html">a</a>', "absent.html"),
        ('<a href="#absent">a</a>', "#absent"),
        ('<a href="other.html#absent">a</a>', "other.html#absent"),
        ('<a href="../outside.html">a</a>', "../outside.html"),
        ('<img src="absent.png">', "absent.png"),
        ('<meta http-equiv="Refresh" content="0; url=absent.html">', "absent.html"),
    ],
)
def test_a_broken_link_is_found(tmp_path, body, broken):
    book = tmp_path / "book"
    book.mkdir()
    write_page(tmp_path, "", "outside.html")
    write_page(book, '<p id="there"></p>', "other.html")
    sound = '<a href="other.html#there">a</a> <a href="#">a</a> <a href="http://foreign.test">a</a>'
    assert html_pages.broken_links(write_page(book, body + sound), book) == [broken]


@pytest.mark.parametrize(
    "picture",
    ['<img src="a.png">', '<img src="a.png" alt=" ">', '<img src="a.png" alt="_images/a.png">'],
)
def test_a_picture_without_text_is_found(tmp_path, picture):
    page = write_page(tmp_path, f'<img src="b.png" alt="a curve">{picture}')
    assert html_pages.images_without_text(page) == ["a.png"]


def test_an_inline_picture_without_text_is_found(tmp_path):
    icons = '<svg aria-hidden="true"></svg><svg><title>a tree</title></svg>'
    page = write_page(tmp_path, f"{icons}<svg></svg>")
    assert html_pages.images_without_text(page) == ["inline svg"]


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<section><h2>The paper's table 1</h2><table></table></section>", True),
        ("<section><h2>The paper's table</h2><table></table></section>", False),
        ("<section><h2>The paper's table 10</h2><table></table></section>", False),
        ("<section><h2>The paper's table 1</h2><p>not here</p></section>", False),
    ],
)
def test_an_artefact_is_shown_under_its_number(tmp_path, body, shown):
    assert html_pages.shows(write_page(tmp_path, body), ARTEFACT_BY_ID["table-1"]) == shown


def test_a_claim_with_two_verdicts_is_found(tmp_path):
    marks = [("a", "reproduced"), ("b", "not reproduced"), ("a", "partly reproduced")]
    body = "".join(f'<span data-claim="{name}">{word}</span>' for name, word in marks)
    assert html_pages.verdicts(write_page(tmp_path, body)) == {
        "a": {"reproduced", "partly reproduced"},
        "b": {"not reproduced"},
    }
