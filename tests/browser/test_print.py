"""A page that is printed has light colours, is unfolded, and fits the paper."""

import chromium
import pytest
from test_book_pages import page_names

#: The width of the text on A4, in CSS pixels.
PAPER = 642

STATE = """
return {
  theme: document.documentElement.dataset.theme,
  zooms: [...document.querySelectorAll("article table")].map((table) => table.style.zoom),
  frame: document.querySelectorAll(".bd-sidebar-primary, .bd-header-article, .bd-footer").length,
  seen: [...document.querySelectorAll(".bd-sidebar-primary, .bd-header-article, .headerlink")]
    .filter((one) => one.checkVisibility()).length,
  rules: [...document.querySelectorAll("details.claim dl")]
    .filter((one) => one.getBoundingClientRect().height < 5).length,
};
"""


def event(browser, name):
    browser.execute_script(f"dispatchEvent(new Event('{name}'))")


@pytest.fixture
def on_paper(browser, book_url):
    """Open a page as it is printed from a dark screen; in the end it is as before."""

    def open_page(name):
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
        chromium.resize(browser, 1400)
        browser.get(f"{book_url}/{name}.html")
        chromium.probe(browser, "theme('dark')")
        event(browser, "beforeprint")
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        chromium.resize(browser, PAPER)
        return browser.execute_script(STATE)

    yield open_page
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("name", [name for name in page_names() if name.startswith("book/")])
def test_a_printed_page_fits_the_paper_and_is_all_there(browser, on_paper, name):
    state = on_paper(name)
    assert state["theme"] == "light"
    assert state["frame"] > 0
    assert state["seen"] == state["rules"] == 0
    assert chromium.probe(browser, "layout()") == {"excess": 0, "outside": []}
    assert chromium.probe(browser, f"faint({chromium.CONTRAST})") == []


def test_the_screen_is_as_before_when_a_page_has_been_printed(browser, on_paper):
    assert any(float(zoom) < 1 for zoom in on_paper("book/regression")["zooms"])
    event(browser, "afterprint")
    state = browser.execute_script(STATE)
    assert state["theme"] == "dark"
    assert set(state["zooms"]) == {""}
