"""One style for every figure of the book."""

import math
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import matplotlib.pyplot as plt
from matplotlib.axis import Axis
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, StrMethodFormatter
from matplotlib_inline.backend_inline import set_matplotlib_formats

from vst.companion.models import BLUE, FAMILIES, GREEN, GREY, ORANGE, VERMILLION

__all__ = ["BLUE", "COLOURS", "GREEN", "GREY", "ORANGE", "PALE_TO_DARK", "STYLE", "VERMILLION"]

STYLE = Path(__file__).with_name("book.mplstyle")

#: One colour per method, in every figure.
COLOURS = {name: family.colour for name, family in FAMILIES.items()}

#: More is further from the page's colour; ``book.css`` turns figures round on a dark page.
PALE_TO_DARK = LinearSegmentedColormap.from_list("pale to dark", ("#b5d2e8", "#08306b"))

Drawing = ParamSpec("Drawing")


def styled(draw: Callable[Drawing, Figure]) -> Callable[Drawing, Figure]:
    """Make a function draw in the book's style and return its figure closed.

    A notebook shows the value of a cell's last line; it would show an open figure twice.
    """

    @wraps(draw)
    def drawn(*arguments: Drawing.args, **options: Drawing.kwargs) -> Figure:
        with plt.style.context(STYLE):
            figure = draw(*arguments, **options)
        plt.close(figure)
        return figure

    return drawn


def label_logarithmic(axis: Axis) -> None:
    """Label a finished logarithmic axis with plain numbers, far enough apart to read."""
    ticks = round_numbers(*axis.get_view_interval())
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def round_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two positive numbers, evenly spread over a logarithmic axis.

    Examples
    --------
    >>> round_numbers(0.05, 0.35)
    [0.05, 0.1, 0.2]
    >>> round_numbers(0.03, 2)
    [0.03, 0.1, 0.3, 1.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for digits in ("123456789", "125", "13", "1"):
        numbers = [float(f"{digit}e{power}") for power in powers for digit in digits]
        inside = [number for number in numbers if low <= number <= high]
        if len(inside) <= most:
            return inside
    return inside[:: math.ceil(len(inside) / most)]


def show_vectors() -> None:
    """Show figures in a notebook as vector graphics, sharp at any size; thumbnails need pixels too."""
    set_matplotlib_formats("svg", "png")
