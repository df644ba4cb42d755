"""Wide tables and figures fit every window, and in the dark figures take the page's ground."""

import base64
from io import BytesIO

import chromium
import pytest
from PIL import Image
from selenium.webdriver.support.select import Select
from test_book_pages import page_names

#: Pages with tables whose columns are data sets, tables, bandits or rungs.
WIDE_PAGES = ("regression", "ood", "classification", "bandits", "beyond", "learning")

wide_pages = pytest.mark.parametrize("name", WIDE_PAGES)
each_page = pytest.mark.parametrize("name", page_names())

#: Boxes with tables that scroll sideways.
SCROLLING = """
const boxes = document.querySelectorAll(".scores, .pst-scrollable-table-container");
return [...boxes].filter((box) => box.scrollWidth > box.clientWidth + 1).map((box) =>
  [box.scrollWidth - box.clientWidth, box.textContent.trim().slice(0, 60)]);
"""

#: Boxes that scroll sideways and do not fade where there is more.
WITHOUT_FADE = """
const fades = (box) => parseFloat(getComputedStyle(box).getPropertyValue("--fade")) > 0;
return [...document.querySelectorAll("article *")].filter((box) =>
  ["auto", "scroll"].includes(getComputedStyle(box).overflowX) &&
  box.clientWidth > 1 && box.scrollWidth > box.clientWidth + 1 && box.checkVisibility() && !fades(box)
).map((box) => `${box.tagName} ${box.className} ${box.textContent.trim().slice(0, 40)}`);
"""

#: What a table shows of its first line: heads of columns.
HEADS = """
const mark = arguments[0].nextElementSibling;
const table = mark.querySelector("table") ?? mark.parentElement.querySelector("table");
return [...table.tHead.rows[0].cells].filter((cell) => cell.checkVisibility())
  .map((cell) => cell.textContent.trim());
"""


def open_page(browser, book_url, name, width, theme="light"):
    chromium.resize(browser, width)
    browser.get(f"{book_url}/{name}.html")
    chromium.probe(browser, f"theme('{theme}')")


@wide_pages
def test_wide_tables_fit_a_desk_whole(browser, book_url, name):
    open_page(browser, book_url, f"book/{name}", 1400)
    assert browser.execute_script(SCROLLING) == []
    lists = browser.find_elements("css selector", ".choice")
    assert lists
    assert not any(one.is_displayed() for one in lists)


@wide_pages
def test_a_phone_shows_the_column_that_is_chosen(browser, book_url, name):
    open_page(browser, book_url, f"book/{name}", 400)
    for choice in browser.find_elements("css selector", ".choice"):
        names = [one.text for one in Select(choice.find_element("css selector", "select")).options]
        *kept, first = browser.execute_script(HEADS, choice)
        assert first == names[0]
        Select(choice.find_element("css selector", "select")).select_by_visible_text(names[-1])
        assert browser.execute_script(HEADS, choice) == [*kept, names[-1]]
    assert browser.execute_script(SCROLLING.replace(", .pst-scrollable-table-container", "")) == []
    assert chromium.console_errors(browser) == []


def test_a_column_is_chosen_by_key(browser, book_url):
    open_page(browser, book_url, "book/regression", 400)
    choice = browser.find_element("css selector", ".choice")
    _, before = browser.execute_script(HEADS, choice)
    choice.find_element("css selector", "select").send_keys("wine")
    _, after = browser.execute_script(HEADS, choice)
    assert (before, after) == ("power", "wine")


def test_without_scripts_a_wide_table_scrolls(browser, book_url):
    disable = "Emulation.setScriptExecutionDisabled"
    browser.execute_cdp_cmd(disable, {"value": True})
    try:
        chromium.resize(browser, 400)
        browser.get(f"{book_url}/book/regression.html")
        assert browser.find_elements("css selector", ".choice") == []
        table = browser.find_element("css selector", ".scores table")
        heads = table.find_elements("css selector", "thead th")
        assert all(head.value_of_css_property("display") == "table-cell" for head in heads)
        assert table.size["width"] > 400
    finally:
        browser.execute_cdp_cmd(disable, {"value": False})


@each_page
@pytest.mark.parametrize("width", [400, 800])
def test_what_scrolls_fades_at_its_edge(browser, book_url, name, width):
    open_page(browser, book_url, name, width)
    assert browser.execute_script(WITHOUT_FADE) == []


def test_a_fade_ends_where_the_table_ends(browser, book_url):
    open_page(browser, book_url, "book/cost", 400)
    fade = """
    const box = [...document.querySelectorAll(".pst-scrollable-table-container, article pre, figure")]
      .find((one) => one.checkVisibility() && one.scrollWidth > one.clientWidth + 40);
    const fade = () => parseFloat(getComputedStyle(box).getPropertyValue("--fade"));
    const done = arguments[0], before = fade();
    box.scrollLeft = box.scrollWidth;
    setTimeout(() => done([before, fade()]), 200);
    """
    before, after = browser.execute_async_script(fade)
    assert before > 20
    assert after < 1


@pytest.mark.parametrize(
    ("name", "picture"),
    [("regression", "object.hoverable"), ("bandits", "figure img"), ("method", "figure img")],
)
def test_a_figure_has_the_ground_of_a_dark_page(browser, book_url, name, picture):
    open_page(browser, book_url, f"book/{name}", 1400, "dark")
    shown = browser.find_element("css selector", picture)
    browser.execute_script("arguments[0].scrollIntoView({ block: 'center' })", shown)
    box = browser.execute_script("return arguments[0].getBoundingClientRect().toJSON()", shown)
    taken = browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"]
    page = Image.open(BytesIO(base64.b64decode(taken))).convert("RGB")
    inside = page.getpixel((round(box["left"]) + 2, round(box["top"]) + 2))
    beside = page.getpixel((round(box["left"]) - 8, round(box["top"]) + 2))
    assert inside == beside
    assert max(inside) < 60
    ink = page.crop((box["left"], box["top"], box["right"], min(box["bottom"], 900))).getextrema()
    assert all(high > 180 for _, high in ink)  # text and axes are pale
