"""What can be touched in the book changes what is shown: the soft tree, and the list of claims."""

import chromium
import pytest

from vst.companion.paper.claims import CLAIMS

widths = pytest.mark.parametrize("width", [400, 1400])

#: Move a slider to a value, as a reader does.
SLIDE = """
const input = document.querySelector(`.explorer input[data-setting="${arguments[0]}"]`);
input.value = arguments[1];
input.dispatchEvent(new Event("input", { bubbles: true }));
return [document.querySelector(".explorer .picture svg").outerHTML,
        Number(document.querySelector(".explorer").dataset.spread)];
"""


@pytest.fixture
def explorer(browser, book_url, request):
    def open_page(width):
        chromium.resize(browser, width)
        browser.get(f"{book_url}/book/method.html")
        return lambda name, value: browser.execute_script(SLIDE, name, value)

    return open_page


@widths
@pytest.mark.parametrize("setting", ["depth", "beta", "rank", "kl_weight", "x"])
def test_every_slider_changes_the_picture(browser, explorer, width, setting):
    slide = explorer(width)
    before, _ = slide(setting, 1)
    after, _ = slide(setting, 0)
    assert before != after
    assert chromium.console_errors(browser) == []


def test_functions_spread_where_there_are_no_rows(explorer):
    slide = explorer(1400)
    _, inside = slide("x", 0)
    _, outside = slide("x", 3)
    assert outside > 2 * inside


def test_a_slider_moves_by_key(browser, explorer):
    explorer(400)
    slider = browser.find_element("css selector", '.explorer input[data-setting="x"]')
    slider.send_keys("\ue014")  # the right arrow
    said = browser.find_element("css selector", ".explorer .said").text
    assert said.startswith("At x = 0.05")


def shown(browser):
    script = "return [...document.querySelectorAll('details.claim:not([hidden])')].map(c => c.id)"
    return browser.execute_script(script)


@widths
def test_claims_are_filtered_by_verdict_and_chapter(browser, book_url, width):
    chromium.resize(browser, width)
    browser.get(f"{book_url}/book/claims.html")
    assert len(shown(browser)) == len(CLAIMS)
    counts = {}
    for button in browser.find_elements("css selector", ".claim-list button"):
        button.click()
        counts[button.get_attribute("value")] = len(shown(browser))
    assert counts.pop("") == sum(counts.values()) == len(CLAIMS)
    browser.find_element("css selector", '.claim-list button[value=""]').click()
    script = """
    const chapters = document.querySelector(".claim-list select");
    chapters.value = "bandits";
    chapters.dispatchEvent(new Event("change"));
    """
    browser.execute_script(script)
    expected = {f"claim-{claim.id}" for claim in CLAIMS if claim.chapter == "bandits"}
    assert set(shown(browser)) == expected


def test_a_count_on_the_front_page_leads_to_its_claims(browser, book_url):
    chromium.resize(browser, 1400)
    browser.get(f"{book_url}/book/introduction.html")
    tile = browser.find_element("css selector", "a.tile.reproduced")
    number = int(tile.find_element("css selector", "b").text)
    tile.click()
    assert len(shown(browser)) == number


def test_a_link_opens_the_claim_it_leads_to(browser, book_url):
    browser.get(f"{book_url}/book/claims.html#claim-{CLAIMS[0].id}")
    opened = browser.execute_script(
        "return [...document.querySelectorAll('details[open].claim')].map(c => c.id)"
    )
    assert opened == [f"claim-{CLAIMS[0].id}"]


def test_claims_and_evidence_lead_to_each_other(built_book):
    pages = {path.stem: path.read_text() for path in (built_book / "book").glob("*.html")}
    for claim in CLAIMS:
        assert f'id="claim-{claim.id}"' in pages["claims"]
        assert f'id="shown-{claim.id}"' in pages[claim.chapter], claim.id
