"""The list of chapters and the contents of a page, opened and closed as a reader does it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from selenium.webdriver import Chrome

#: From these widths on, in pixels, a sidebar is a column of the page; below it opens over the page.
COLUMN_FROM = {"primary": 992, "secondary": 1200}

#: What a sidebar shows first, by which it is seen to be there.
FIRST_LINK = {"primary": ".bd-docs-nav a", "secondary": "#pst-page-toc-nav a"}

#: How long a page may take to answer, in seconds.
PATIENCE = 3

#: What a reader does, its name, and what follows: whether the sidebar is shown, what has the focus.
Step = tuple[Callable[[], None], str, bool, str]

STATE = """
const [side, first] = arguments;
const button = document.querySelector(`.bd-header-article .${side}-toggle`);
const link = document.querySelector(first);
const box = link.getBoundingClientRect();
const holder = link.closest(`#pst-${side}-sidebar, #pst-${side}-sidebar-modal`);
const seen = link.checkVisibility({ visibilityProperty: true, opacityProperty: true });
return {
  shown: seen && box.left >= 0 && box.right <= window.innerWidth,
  expanded: button.getAttribute("aria-expanded"),
  focus: document.activeElement === button ? "button"
    : holder.contains(document.activeElement) ? "sidebar" : "elsewhere",
  controls: document.getElementById(button.getAttribute("aria-controls")) === holder,
  named: Boolean(button.ariaLabel),
};
"""

#: The theme folds a column beside a wide cell when the browser tells it what is in sight, after a frame.
SETTLED = """
const done = arguments[0];
requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100)));
"""

MIDDLE = """
const box = document.querySelector(arguments[0]).getBoundingClientRect();
return [box.x + box.width / 2, box.y + box.height / 2];
"""

KEYS = {
    "Enter": {"code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    " ": {"code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
    "Escape": {"code": "Escape", "windowsVirtualKeyCode": 27},
}


def click(browser: Chrome, x: float, y: float) -> None:
    """Press and release the mouse at a point of the window."""
    for kind in ("mousePressed", "mouseReleased"):
        event = {"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}
        browser.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def tap(browser: Chrome, x: float, y: float) -> None:
    """Touch a point of the window."""
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        event = {"type": kind, "touchPoints": points}
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", event)
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def press(browser: Chrome, key: str) -> None:
    """Press and release a key."""
    for kind in ("keyDown", "keyUp"):
        browser.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": kind, "key": key, **KEYS[key]})


@dataclass(frozen=True)
class Sidebar:
    """One of the two sidebars of the page that is open."""

    browser: Chrome
    side: str

    @property
    def button(self) -> str:
        """Where its button is."""
        return f".bd-header-article .{self.side}-toggle"

    def exists(self) -> bool:
        """Whether the page has it: one without sections has no contents."""
        return bool(self.browser.find_elements("css selector", self.button))

    def is_column(self) -> bool:
        """Whether the window is wide enough for it."""
        return self.browser.execute_script("return innerWidth") >= COLUMN_FROM[self.side]

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of an element."""
        return tuple(self.browser.execute_script(MIDDLE, selector))

    def state(self) -> dict[str, Any]:
        """Whether it is shown, what its button says of it, and what has the focus."""
        return self.browser.execute_script(STATE, self.side, FIRST_LINK[self.side])

    def click(self) -> None:
        """Click on its button."""
        click(self.browser, *self.middle(self.button))

    def problems(self, *ways: str) -> list[str]:
        """Open and close it in some ways, and say which is the first to fail, if one does."""
        known = self._as_column() if self.is_column() else self._over_the_page()
        for act, name, shown, focus in [step for way in ways for step in known[way]]:
            act()
            if found := self.expect(name, shown=shown, focus=focus):
                return found
        return []

    def expect(self, after: str, *, shown: bool, focus: str) -> list[str]:
        """Wait for a state; what is found instead if it does not come."""
        expected = {
            "shown": shown,
            "expanded": str(shown).lower(),
            "focus": focus,
            "controls": True,
            "named": True,
        }
        found: dict[str, Any] = {}
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.state()
            # In a narrow window the button controls a dialog, which is empty while it is closed.
            if found | {"controls": found["controls"] or not shown} == expected:
                return []
        return [f"{self.side}, {after}: expected {expected}, found {found}"]

    def _as_column(self) -> dict[str, list[Step]]:
        # Beside a wide figure or table the theme has folded the column.
        self.browser.execute_async_script(SETTLED)
        shown = bool(self.state()["shown"])
        return {
            "mouse": [
                (self.click, "a click", not shown, "button"),
                (self.click, "a second click", shown, "button"),
            ],
            "keys": [
                (partial(press, self.browser, "Enter"), "Enter", not shown, "button"),
                (partial(press, self.browser, " "), "the space key", shown, "button"),
            ],
            "finger": [
                (self._tap, "a tap", not shown, "button"),
                (self._tap, "a second tap", shown, "button"),
            ],
        }

    def _over_the_page(self) -> dict[str, list[Step]]:
        escape = (partial(press, self.browser, "Escape"), "Escape", False, "button")
        return {
            "mouse": [
                (self.click, "a click", True, "sidebar"),
                (self._click_on_cross, "a click on its cross", False, "button"),
            ],
            "keys": [
                (partial(press, self.browser, "Enter"), "Enter on the button", True, "sidebar"),
                escape,
            ],
            "finger": [
                (self._tap, "a tap", True, "sidebar"),
                (self._tap_beside, "a tap beside it", False, "button"),
                (partial(press, self.browser, " "), "the space key", True, "sidebar"),
                escape,
            ],
        }

    def _click_on_cross(self) -> None:
        click(self.browser, *self.middle("dialog[open] > .sidebar-close"))

    def _tap(self) -> None:
        tap(self.browser, *self.middle(self.button))

    def _tap_beside(self) -> None:
        tap(self.browser, 390 if self.side == "primary" else 10, 450)
