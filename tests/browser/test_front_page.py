"""What a reader who has only the front page finds within one click, and how fast it is there."""

import chromium
import html_pages
import pytest
from test_book_pages import page_names

from vst.companion.driver import pages

FRONT = "book/introduction"

#: The most bytes of a page's HTML.
LARGEST = 3_000_000

#: What a reader asks, a link of the front page, and what it leads to.
QUESTIONS = {
    "what does the paper claim": ("a.sd-btn[href='claims.html']", ".claim-list details"),
    "which claims hold": ("a.tile.reproduced", ".claim-list .verdict.reproduced"),
    "which claims fail": ("a.tile.not-reproduced", ".claim-list .verdict.not-reproduced"),
    "how do I run it on my table": ("a.sd-btn[href='own_data.html']", ".highlight-bash"),
    "where is the OOD table": (".chapter-card a[href^='ood.html#']", ".scores table"),
    "is VSGBM best": (".headline a[href$='vsgbm-likelihood']", "#claim-vsgbm-likelihood[open] dl"),
}

widths = pytest.mark.parametrize("width", [400, 1400])

IN_SIGHT = """
const box = [...document.querySelectorAll(arguments[0])].find((e) => e.checkVisibility());
return box ? [box.getBoundingClientRect().top, innerHeight] : null;
"""


@widths
@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_one_click_away(browser, book_url, question, width):
    link, answer = QUESTIONS[question]
    chromium.resize(browser, width)
    browser.get(f"{book_url}/{FRONT}.html")
    browser.execute_script("document.querySelector(arguments[0]).click()", link)
    assert browser.execute_script(IN_SIGHT, answer)
    assert chromium.console_errors(browser) == []


def test_a_link_to_a_table_leads_to_the_table(browser, book_url):
    chromium.resize(browser, 1400)
    browser.get(f"{book_url}/{FRONT}.html")
    browser.execute_script("document.querySelector(\".chapter-card a[href^='ood.html#']\").click()")
    browser.execute_async_script(chromium.TYPESET)
    top, height = browser.execute_script(IN_SIGHT, ".scores table")
    assert -height < top < height


@widths
def test_all_of_a_card_leads_to_its_chapter_but_for_its_links(browser, book_url, width):
    chromium.resize(browser, width)
    browser.get(f"{book_url}/{FRONT}.html")
    found = browser.execute_script("""
        const card = [...document.querySelectorAll(".chapter-card")].find((e) => e.querySelector("p a"));
        card.scrollIntoView();
        const at = (element) => {
          const box = element.getBoundingClientRect();
          return document.elementFromPoint(box.left + 4, box.top + box.height / 2).getAttribute("href");
        };
        return [at(card), at(card.querySelector("p")), at(card.querySelector("p a"))];
    """)
    assert found == ["method.html", "method.html", "method.html#boosting"]


def test_every_chapter_with_a_figure_has_its_thumbnail(built_book):
    page = html_pages.parsed(built_book / f"{FRONT}.html")
    for slot in page.select(".thumbnail"):
        chapter = html_pages.parsed(built_book / "book" / f"{slot['data-chapter']}.html")
        assert bool(slot.img) == bool(chapter.select("article .cell_output img")), slot
    total = sum(path.stat().st_size for path in (built_book / "_images").glob("thumbnail-*"))
    assert total < 500_000


@pytest.mark.parametrize("name", page_names())
def test_a_page_is_small(built_book, name):
    assert (built_book / f"{name}.html").stat().st_size < LARGEST


@pytest.mark.parametrize("name", page_names())
def test_a_page_says_what_it_is_about(built_book, name):
    head = html_pages.parsed(built_book / f"{name}.html").head
    description = head.select_one("meta[name=description]")
    if name.startswith("book/"):
        assert 20 < len(description["content"]) <= pages.DESCRIPTION + 2
        assert head.select_one('meta[property="og:title"]')["content"]


def test_the_front_page_names_the_claims_that_matter_most_at_its_top(built_book):
    headline = html_pages.parsed(built_book / f"{FRONT}.html").select_one("h1 ~ .cell .headline")
    assert "VSGBM's best log-likelihood" in headline.get_text()
    assert headline.get_text().count("OOD rows") == 2
    undecided = built_book / "book" / "claims.html"
    shown = html_pages.parsed(undecided).select("details.claim")
    decided = [claim for claim in shown if "not testable here" not in claim.summary.get_text()]
    assert f"of its {len(decided)} claims" in " ".join(headline.get_text().split())
