"""Figures whose marks have tooltips."""

from dataclasses import dataclass, field
from io import BytesIO, StringIO
from xml.etree import ElementTree

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from vst.companion.report.style import STYLE

NAMES = {"": "http://www.w3.org/2000/svg", "xlink": "http://www.w3.org/1999/xlink"}
for prefix, name in NAMES.items():
    ElementTree.register_namespace(prefix, name)


@dataclass(frozen=True)
class Svg:
    """A vector graphic for a notebook, and its pixels for a thumbnail."""

    text: str = field(repr=False)
    pixels: bytes = field(default=b"", repr=False)

    def _repr_svg_(self) -> str:
        return self.text

    def _repr_png_(self) -> bytes | None:
        return self.pixels or None


def hoverable(figure: Figure) -> Svg:
    """The figure with each line's label as its tooltip.

    Browsers show the ``title`` of an SVG element as a tooltip if the graphic is inline in the page;
    ``hover.js`` inlines it in the book's pages.
    """
    said = {}
    for i, line in enumerate(line for axis in figure.axes for line in axis.lines):
        if not str(line.get_label()).startswith("_"):  # matplotlib's own labels do
            line.set_gid(f"mark-{i}")
            said[f"mark-{i}"] = str(line.get_label())
    drawn, pixels = StringIO(), BytesIO()
    with plt.style.context(STYLE):
        figure.savefig(drawn, format="svg", bbox_inches="tight", metadata={"Date": None})
        figure.savefig(pixels, format="png", bbox_inches="tight")
    root = ElementTree.fromstring(drawn.getvalue())
    for group in root.iter(f"{{{NAMES['']}}}g"):
        if group.get("id") in said:
            title = ElementTree.Element(f"{{{NAMES['']}}}title")
            title.text = said[str(group.get("id"))]
            group.insert(0, title)
    return Svg(ElementTree.tostring(root, encoding="unicode"), pixels.getvalue())
