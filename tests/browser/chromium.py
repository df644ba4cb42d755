"""A headless Chromium that opens pages of a local server and says what is wrong with them."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest
from rendered_text import accidents, unrendered
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

PROBES = Path(__file__).with_name("probes.js").read_text(encoding="utf-8")

#: Widths of a window in pixels.
WIDTHS = {"desktop": 1400, "tablet": 800, "phone": 400}
THEMES = ("light", "dark")

#: The least contrast of text that WCAG 2 allows at level AA.
CONTRAST = 4.5

#: Messages of the console, and events such as requests.
LOGS = ("browser", "performance")

#: Equations are typeset after the page has loaded.
TYPESET = """
const done = arguments[0];
const ready = window.MathJax && MathJax.startup ? MathJax.startup.promise : Promise.resolve();
ready.then(() => done());
"""


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files and does not print every request."""

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def served(directory: Path) -> Iterator[str]:
    """The address under which a directory can be read while the context is open."""
    handler = partial(QuietHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def start() -> Chrome:
    """Start Chromium without a window and without a network; skip the test if there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
    arguments = (
        "--headless=new",
        "--no-sandbox",  # containers run as root, where Chromium refuses to start otherwise
        "--disable-dev-shm-usage",
        "--no-proxy-server",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    )
    options = ChromeOptions()
    options.binary_location = binary
    options.set_capability("goog:loggingPrefs", dict.fromkeys(LOGS, "ALL"))
    for argument in arguments:
        options.add_argument(argument)
    return Chrome(options=options, service=Service(driver))


def problems(browser: Chrome, url: str) -> list[str]:
    """Open a page in both themes and at all widths, and list what is wrong with it."""
    host = urlsplit(url).netloc
    forget(browser, host)
    resize(browser, WIDTHS["desktop"])
    browser.get(url)
    browser.execute_async_script(TYPESET)
    probe(browser, "unfold()")
    found = rendering_problems(probe(browser, "rendering()"))
    for device, width in WIDTHS.items():
        resize(browser, width)
        found += [f"{device}: {problem}" for problem in layout_problems(probe(browser, "layout()"))]
        for theme in THEMES:
            faint = probe(browser, f"(theme('{theme}'), faint({CONTRAST}))")
            found += [f"{device}, {theme}: contrast of {text}" for text in faint]
    return found + console_errors(browser) + foreign_requests(browser, host)


def forget(browser: Chrome, host: str) -> None:
    """Make the next visit the first one: no stored theme, no messages of pages before."""
    stored = {"origin": f"http://{host}", "storageTypes": "local_storage"}
    browser.execute_cdp_cmd("Storage.clearDataForOrigin", stored)
    for log in LOGS:
        browser.get_log(log)


def probe(browser: Chrome, expression: str) -> Any:
    """The value of an expression in the page that is open; see ``probes.js``."""
    return browser.execute_script(f"{PROBES}\nreturn {expression};")


def resize(browser: Chrome, width: int, height: int = 900) -> None:
    """Give the page a window of a size."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def rendering_problems(page: dict[str, Any]) -> list[str]:
    """What is missing or left over in a page that should be complete."""
    found = unrendered(page["prose"]) + accidents(page["text"])
    if len(page["h1"]) != 1:
        found.append(f"{len(page['h1'])} headings of level 1: {page['h1']}")
    if page["rendered"] != page["equations"]:
        found.append(f"{page['rendered']} of {page['equations']} equations typeset")
    if page["faulty"]:
        found.append(f"{page['faulty']} equations with errors")
    return found


def layout_problems(layout: dict[str, Any]) -> list[str]:
    """What does not fit the window."""
    found = [f"outside the window: {element}" for element in layout["outside"]]
    if layout["excess"] > 0:
        found.append(f"scrolls sideways by {layout['excess']} pixels")
    return found


def console_errors(browser: Chrome) -> list[str]:
    """Errors of scripts and failed loads since the last call."""
    log = browser.get_log("browser")
    return [f"console: {entry['message']}" for entry in log if entry["level"] == "SEVERE"]


def foreign_requests(browser: Chrome, host: str) -> list[str]:
    """Requests to anyone but the host since the last call."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    local = {"data", "blob"}
    return [
        f"request to {url}"
        for url in urls
        if urlsplit(url).scheme not in local and urlsplit(url).netloc != host
    ]
