"""The book on paper: one document, whose links stay inside, printed by Chromium."""

import re
import shutil
import subprocess

import pytest
import yaml
from bs4 import BeautifulSoup

from vst.cli import main
from vst.companion.driver import driver, printing
from vst.companion.driver.paper_edition import Part, page_numbers, paper_edition

PAGE = """<!DOCTYPE html><html data-theme="dark"><head><title>Page</title>
<link rel="stylesheet" href="../_static/book.css?v=1">
<link rel="stylesheet" media="print" href="../_static/print.css">
<script>window.MathJax = {{}}</script><script src="../_static/claims.js"></script></head>
<body><nav>sidebar</nav><article class="bd-article"><section id="top"><h1>{title}
<a class="headerlink" href="#top">#</a></h1>{body}</section></article></body></html>"""

FIRST = """
<p class="headline">What holds.</p>
<p class="book-pdf"></p>
<p><a href="second.html#part">there</a> <a href="#top">here</a> <a href="second.html">chapter</a>
<a href="https://example.org/">elsewhere</a> <a href="../genindex.html">index</a></p>
<img src="../_images/a.svg" loading="lazy">
"""

SECOND = """
<div class="cell"><details class="admonition hide above-input"><summary>Code</summary>
<pre>plumbing()</pre></details></div>
<details class="hide below-input"><summary>Show</summary><p>a long table</p></details>
<details class="claim" id="claim-a"><summary>says</summary><dl><dd>a rule</dd></dl></details>
<details class="claim" id="shown-a"><summary>says</summary><dl><dd>again</dd></dl></details>
<button>Press</button><h2 id="part">Part</h2>
<p><a download="x.csv" href="data:text/csv;base64,YQ==">All scores</a></p>
"""


@pytest.fixture
def root(tmp_path):
    """A built book of two pages."""
    pages = tmp_path / "_build" / "html"
    (pages / "book").mkdir(parents=True)
    (pages / "index.html").write_text("")
    (pages / "book" / "first.html").write_text(PAGE.format(title="First", body=FIRST))
    (pages / "book" / "second.html").write_text(PAGE.format(title="Second", body=SECOND))
    parts = [{"caption": "Later", "chapters": [{"file": "book/second"}]}]
    contents = {"format": "jb-book", "root": "book/first", "parts": parts}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(contents))
    (tmp_path / "_config.yml").write_text(yaml.safe_dump({"title": "The <Book>"}))
    return tmp_path


@pytest.fixture
def paper(root):
    """The document for paper."""
    parts = [Part("", ["book/first"]), Part("Later", ["book/second"])]
    text = paper_edition(root / "_build" / "html", "The <Book>", parts, {"second": 4})
    return BeautifulSoup(text, "html.parser")


def test_links_stay_in_the_document(paper):
    links = [link["href"] for link in paper.select("#first a")]
    assert links == [
        "#second--part",
        "#first--top",
        "#second",
        "https://example.org/",
        "#first",  # a page that is not printed
    ]
    inside = [link.removeprefix("#") for link in links if link.startswith("#")]
    assert all(paper.find(id=name) for name in inside)


def test_files_are_found_from_anywhere(paper):
    sources = [paper.img["src"], *(link["href"] for link in paper.select("link"))]
    assert all(re.match("file:///.*/_build/html/_(static|images)/", source) for source in sources)
    assert not paper.img.has_attr("loading")
    assert not any(link.has_attr("media") for link in paper.select("link"))


def test_nothing_is_left_that_paper_cannot_do(paper):
    assert paper.select("nav, button, .headerlink, a[download], summary:-soup-contains(Show)") == []
    assert "claims.js" not in str(paper)
    said = paper.get_text()
    assert "plumbing" not in said
    assert "a long table" in said
    assert "All scores [on the book's web page]" in said
    assert paper.html["data-theme"] == "light"


def test_a_claim_is_unfolded_among_all_claims_only(paper):
    assert all(claim.has_attr("open") for claim in paper.select("details"))
    assert [fact.get_text() for fact in paper.select("dd")] == ["a rule"]


def test_the_title_page_has_the_first_sentence_and_the_contents_have_page_numbers(paper):
    assert paper.select_one(".title-page .title").get_text() == "The <Book>"
    assert len(paper.select(".headline")) == 1
    assert paper.select_one(".title-page .headline").get_text() == "What holds."
    entries = [(entry.a["href"], entry["data-page"]) for entry in paper.select(".contents .entry")]
    assert entries == [("#first", ""), ("#second", "4")]
    assert paper.select_one(".contents .part").get_text() == "Later"


def test_page_numbers_are_read_from_a_pdf():
    pdf = b"""2 0 obj\n<</Type /Page\n>>\n7 0 obj\n<</Type /Page\n>>\n9 0 obj\n<</Type /Pages\n>>
    <</first [2 0 R /XYZ 0 1 0]\n/second [7 0 R /XYZ 0 1 0]\n/gone [8 0 R /XYZ 0 1 0]>>"""
    assert page_numbers(pdf) == {"first": 1, "second": 2}
    assert page_numbers(b"%PDF of another program") == {}


def test_without_chromium_the_command_says_what_to_install(root, monkeypatch, capsys):
    monkeypatch.setattr(printing.shutil, "which", lambda name: None)
    assert main(["book", "pdf", "--root", str(root)]) == 1
    assert "apt install chromium" in capsys.readouterr().err


def test_a_book_that_is_not_built_is_not_printed(root, monkeypatch, capsys):
    monkeypatch.setattr(printing, "find_browser", lambda: "chromium")
    shutil.rmtree(root / "_build")
    assert main(["book", "pdf", "--root", str(root)]) == 1
    assert "vst book build" in capsys.readouterr().err


def test_a_browser_that_does_not_print_is_named(root, monkeypatch, capsys):
    monkeypatch.setattr(printing, "find_browser", lambda: shutil.which("true"))
    assert main(["book", "pdf", "--root", str(root)]) == 1
    assert "could not print the book" in capsys.readouterr().err
    assert not (root / "_build" / "html" / printing.PDF).exists()


@pytest.fixture
def unprinted(root, monkeypatch):
    """The book, as the driver leaves it before it is printed."""
    page = root / "_build" / "html" / "index.html"
    monkeypatch.setattr(driver, "build", lambda *arguments, **options: page)
    return root


@pytest.mark.parametrize("browser", [None, "false"])
def test_a_book_is_built_without_a_browser_that_prints(unprinted, monkeypatch, capsys, browser):
    found = browser and shutil.which(browser)
    monkeypatch.setattr(printing, "find_browser", lambda: found)
    assert main(["book", "build", "--root", str(unprinted)]) == 0
    said = capsys.readouterr().out
    assert "The book is at" in said
    assert ("has no PDF" in said) == bool(browser)
    first = unprinted / "_build" / "html" / "book" / "first.html"
    assert '<p class="book-pdf"></p>' in first.read_text()


def test_a_printed_book_is_linked_from_its_first_page(unprinted, capsys):
    if printing.find_browser() is None:
        pytest.skip("needs chromium")
    assert main(["book", "build", "--root", str(unprinted)]) == 0
    pdf = unprinted / "_build" / "html" / printing.PDF
    assert str(pdf) in capsys.readouterr().out
    assert set(page_numbers(pdf.read_bytes())) >= {"first", "second", "second--part"}
    page = BeautifulSoup((pdf.parent / "book" / "first.html").read_text(), "html.parser")
    link = page.select_one(".book-pdf a")["href"]
    assert (pdf.parent / "book" / link).resolve() == pdf.resolve()
    made = pdf.stat().st_mtime_ns
    assert main(["book", "build", "--root", str(unprinted)]) == 0
    assert pdf.stat().st_mtime_ns == made
    assert main(["book", "build", "--root", str(unprinted), "--no-pdf"]) == 0
    assert main(["book", "pdf", "--root", str(unprinted)]) == 0
    page = BeautifulSoup((pdf.parent / "book" / "first.html").read_text(), "html.parser")
    assert len(page.select(".book-pdf a")) == 1


def test_pages_that_are_built_again_lose_their_pdf(tmp_path, monkeypatch):
    (tmp_path / "source").mkdir()
    (tmp_path / "_build" / "html").mkdir(parents=True)
    old = tmp_path / "_build" / "html" / printing.PDF
    old.write_text("of the pages before")
    done = subprocess.CompletedProcess([], 0, "", "")
    monkeypatch.setattr(driver.subprocess, "run", lambda *arguments, **options: done)
    driver.build_html(tmp_path / "source", tmp_path / "_build")
    assert not old.exists()
