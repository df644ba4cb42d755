"""The book can be walked through from its list of chapters, in any window, by hand and by key."""

import time
from itertools import pairwise

import chromium
import html_pages
import pytest
from sidebars import FIRST_LINK, PATIENCE, Sidebar
from test_book_pages import GENERATED, page_names

#: Widths of a window in pixels: a phone, a tablet, a desktop.
WIDTHS = (400, 800, 1400)

#: Movements take time and are not looked at.
STILL = """
const style = document.createElement("style");
style.textContent = "* { transition: none !important; scroll-behavior: auto !important; }";
document.head.append(style);
"""

each_width = pytest.mark.parametrize("width", WIDTHS)


@pytest.fixture
def visit(browser, book_url):
    """Open a page in a window of some width, as on a first visit."""

    def open_page(name, width):
        chromium.forget(browser, book_url.removeprefix("http://"))
        chromium.resize(browser, width)
        browser.get(f"{book_url}/{name}.html")
        browser.execute_script(STILL)

    return open_page


def sidebars_of(browser):
    both = [Sidebar(browser, side) for side in FIRST_LINK]
    return [sidebar for sidebar in both if sidebar.exists()]


def problems(browser):
    found = []
    for sidebar in sidebars_of(browser):
        for theme, way in zip(chromium.THEMES, ("mouse", "keys"), strict=True):
            chromium.probe(browser, f"theme('{theme}')")
            found += [f"{theme}: {problem}" for problem in sidebar.problems(way)]
    return found + chromium.console_errors(browser)


def open_sidebar(sidebar):
    if not sidebar.is_column():
        sidebar.click()
        assert sidebar.expect("a click", shown=True, focus="sidebar") == []


def follow(browser, selector):
    """Click on a link and wait until the page is there that it names, and can be used."""
    link = browser.find_element("css selector", selector)
    target = link.get_property("href")
    link.click()
    there = "return [location.href, document.readyState]"
    end = time.monotonic() + PATIENCE
    while (found := browser.execute_script(there)) != [target, "complete"]:
        assert time.monotonic() < end, f"expected {target}, found {found}"
        time.sleep(0.01)


@each_width
def test_every_chapter_is_reached_from_the_one_before(browser, visit, width):
    first, *others = [name for name in page_names() if name not in GENERATED]
    visit(first, width)
    found = {first: problems(browser)}
    for name in others:
        open_sidebar(Sidebar(browser, "primary"))
        follow(browser, f'.bd-docs-nav a[href$="{name.removeprefix("book/")}.html"]')
        browser.execute_script(STILL)
        found[name] = problems(browser)
    assert {name: some for name, some in found.items() if some} == {}


@each_width
@pytest.mark.parametrize("name", GENERATED)
def test_chapters_are_reached_from_pages_that_are_none(browser, visit, width, name):
    visit(name, width)
    assert problems(browser) == []
    open_sidebar(Sidebar(browser, "primary"))
    follow(browser, '.bd-docs-nav a[href$="introduction.html"]')


@each_width
@pytest.mark.parametrize("theme", chromium.THEMES)
def test_sidebars_open_and_close_in_all_ways(browser, visit, width, theme):
    visit("book/method", width)
    chromium.probe(browser, f"theme('{theme}')")
    for sidebar in sidebars_of(browser):
        assert sidebar.problems("mouse", "keys", "finger") == []


@each_width
def test_a_section_is_reached_from_the_contents(browser, visit, width):
    visit("book/regression", width)
    contents = Sidebar(browser, "secondary")
    open_sidebar(contents)
    follow(browser, "#pst-page-toc-nav li:nth-child(3) a")
    if not contents.is_column():
        assert contents.expect("a link", shown=False, focus="elsewhere") == []
    top = "return document.querySelector(location.hash).getBoundingClientRect().top"
    assert 0 <= browser.execute_script(top) < 200
    assert chromium.console_errors(browser) == []


@each_width
@pytest.mark.parametrize("side", FIRST_LINK)
def test_an_open_sidebar_can_be_read(browser, visit, width, side):
    visit("book/regression", width)
    open_sidebar(Sidebar(browser, side))
    assert chromium.layout_problems(chromium.probe(browser, "layout()")) == []
    for theme in chromium.THEMES:
        faint = f"(theme('{theme}'), faint({chromium.CONTRAST}))"
        assert chromium.probe(browser, faint) == [], theme


def test_contents_that_the_theme_folds_beside_a_wide_table_can_be_asked_for(browser, visit):
    visit("book/regression", 1400)
    contents = Sidebar(browser, "secondary")
    browser.execute_script("document.querySelector('.tag_full-width').scrollIntoView()")
    assert contents.expect("a wide table", shown=False, focus="elsewhere") == []
    contents.click()
    assert contents.expect("a click", shown=True, focus="button") == []
    contents.click()
    assert contents.expect("a second click", shown=False, focus="button") == []


def test_a_list_over_the_page_goes_when_there_is_room_beside_it(browser, visit):
    visit("book/regression", 800)
    chapters = Sidebar(browser, "primary")
    open_sidebar(chapters)
    chromium.resize(browser, 1400)
    assert chapters.expect("a wider window", shown=True, focus="button") == []
    assert browser.find_elements("css selector", "dialog[open]") == []


def test_links_to_the_next_page_follow_the_chapters(built_book):
    chapters = [name for name in page_names() if name not in GENERATED]
    for name, after in pairwise([*chapters, None]):
        link = html_pages.parsed(built_book / f"{name}.html").select_one("a.right-next")
        assert (link and f"book/{link['href']}") == (after and f"{after}.html")
