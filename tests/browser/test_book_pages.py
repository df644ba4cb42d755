"""Every page of the built book: complete, linked, and readable in both themes and on a phone."""

import re
from pathlib import Path

import chromium
import html_pages
import pytest
import yaml

from vst.companion.paper import ARTEFACTS
from vst.companion.paper.claims import CLAIMS, WORDS

ROOT = Path(__file__).parents[2]

#: Pages that Sphinx adds to the chapters.
GENERATED = ("genindex", "search")


def page_names() -> list[str]:
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text())
    groups = [contents, *contents.get("parts", [])]
    chapters = [entry["file"] for group in groups for entry in group.get("chapters", [])]
    return [contents["root"], *chapters, *GENERATED]


each_page = pytest.mark.parametrize("name", page_names())


def test_all_pages_are_known(built_book):
    pages = {str(path.relative_to(built_book)) for path in html_pages.html_pages(built_book)}
    assert pages == {f"{name}.html" for name in [*page_names(), "index"]}


def test_the_first_page_leads_to_the_introduction(browser, book_url):
    browser.get(f"{book_url}/index.html")
    assert "Variational Boosted Soft Trees" in browser.title


@each_page
def test_a_page_is_complete_and_readable(browser, book_url, name):
    assert chromium.problems(browser, f"{book_url}/{name}.html") == []


def test_no_link_is_broken(built_book):
    for page in html_pages.html_pages(built_book):
        assert html_pages.broken_links(page, built_book) == [], page.name


@each_page
def test_every_picture_has_alternative_text(built_book, name):
    assert html_pages.images_without_text(built_book / f"{name}.html") == []


@pytest.mark.parametrize("artefact", ARTEFACTS, ids=lambda artefact: artefact.id)
def test_every_artefact_of_the_paper_is_shown(built_book, artefact):
    assert html_pages.shows(built_book / "book" / f"{artefact.chapter}.html", artefact)


def test_a_claim_has_one_verdict_wherever_it_is_shown(built_book):
    words: dict[str, set[str]] = {}
    for page in html_pages.html_pages(built_book):
        for claim, shown in html_pages.verdicts(page).items():
            words.setdefault(claim, set()).update(shown)
    assert set(words) == {claim.id for claim in CLAIMS}
    assert {claim: shown for claim, shown in words.items() if len(shown) > 1} == {}
    assert set().union(*words.values()) <= set(WORDS.values())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_a_claim_is_shown_with_all_others_and_in_its_chapter(built_book, claim):
    for chapter in ("claims", claim.chapter):
        assert claim.id in html_pages.verdicts(built_book / "book" / f"{chapter}.html"), chapter


def test_a_table_is_sorted_by_a_click_and_put_back_by_the_third(browser, book_url):
    browser.get(f"{book_url}/book/regression.html")
    column = """
        const [head, ...others] = document.querySelectorAll(".scores table th:nth-child(4)");
        if (arguments[0]) head.click();
        const cells = head.closest("table").querySelectorAll("tbody td:nth-child(4)");
        return [...cells].map((cell) => cell.firstChild.textContent.replace("\u2212", "-"));
    """
    printed = browser.execute_script(column, False)
    numbers = sorted((float(n.split()[0]) for n in printed if n != "\u2013"), reverse=True)
    for expected in (numbers, numbers[::-1]):
        found = browser.execute_script(column, True)
        assert [float(n.split()[0]) for n in found if n != "\u2013"] == expected
    assert browser.execute_script(column, True) == printed


def test_a_mark_of_the_big_picture_can_be_pointed_at(browser, book_url):
    browser.get(f"{book_url}/book/regression.html")
    found = browser.execute_script("""
        const picture = document.querySelector("object.hoverable").contentDocument;
        const titles = [...picture.querySelectorAll("title")];
        const title = titles.find((one) => one.textContent.startsWith("VST (CV), this book: "));
        const box = title.parentElement.getBoundingClientRect();
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        return [title.textContent, picture.elementFromPoint(x, y).closest("g[id]:has(title)").id,
                title.parentElement.id];
    """)
    assert re.match(r"VST \(CV\), this book: \S+ ± \S+", found[0])
    assert found[1] == found[2]
