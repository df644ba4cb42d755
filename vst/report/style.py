"""One look for every figure of the book."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib_inline.backend_inline import set_matplotlib_formats

STYLE = Path(__file__).with_name("book.mplstyle")

#: Okabe and Ito's palette, which stays distinct for all common kinds of colour vision.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#6E6E6E"


Drawing = ParamSpec("Drawing")


def styled(draw: Callable[Drawing, Figure]) -> Callable[Drawing, Figure]:
    """Make a function draw in the book's style and return its figure closed.

    A notebook shows the value of a cell's last line; an open figure it would show a second time.
    """

    @wraps(draw)
    def drawn(*arguments: Drawing.args, **options: Drawing.kwargs) -> Figure:
        with plt.style.context(STYLE):
            figure = draw(*arguments, **options)
        plt.close(figure)
        return figure

    return drawn


def show_vectors() -> None:
    """Show figures in a notebook as vector graphics, sharp at any size."""
    set_matplotlib_formats("svg")
