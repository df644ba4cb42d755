"""A Sphinx extension: thumbnails on the front page's cards, and what other sites show of a page.

The thumbnail of a chapter is the figure of its cell with the tag ``thumbnail``, or else its first
figure. A chapter without figures has none.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from PIL import Image, ImageOps
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

#: Width and height in pixels: twice those of a card, and the proportions of a link's preview.
SIZE = (600, 314)

#: Colours of a thumbnail: few, so that it is small.
COLOURS = 48

#: Characters of a description: other sites cut longer ones off.
DESCRIPTION = 220

SLOT = re.compile(r'(<span class="thumbnail" data-chapter="(\w+)">)[^<]*</span>')


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the events of a build."""
    app.connect("env-updated", make_thumbnails)
    app.connect("html-page-context", complete_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def make_thumbnails(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """Make all thumbnails once the chapters are executed; the front page is to be written again."""
    if app.builder.format != "html":
        return []
    executed = Path(app.outdir).parent / "jupyter_execute"  # where MyST-NB keeps them
    for name in env.found_docs:
        notebook, target = executed / f"{name}.ipynb", thumbnail(app, name)
        figure = main_figure(notebook) if notebook.exists() else None
        if figure is None:
            target.unlink(missing_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(shrunk(figure))
    return [env.config.root_doc]


def thumbnail(app: Sphinx, page: str) -> Path:
    """The file of a page's thumbnail."""
    return Path(app.outdir) / "_images" / f"thumbnail-{page.rpartition('/')[2]}.png"


def main_figure(notebook: Path) -> bytes | None:
    """The figure that stands for an executed chapter, as PNG."""
    cells = nbformat.read(notebook, as_version=4).cells
    chosen = [cell for cell in cells if "thumbnail" in cell.metadata.get("tags", [])]
    for cell in chosen or cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                return b64decode(output["data"]["image/png"])
    return None


def shrunk(figure: bytes) -> bytes:
    """The upper part of a figure, whole if it is wide, as a small PNG."""
    width, height = SIZE
    image = Image.open(BytesIO(figure)).convert("RGB")
    image = image.resize(
        (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
    )
    image = image.crop((0, 0, width, min(height, image.height)))
    image = ImageOps.pad(image, SIZE, color="white").quantize(COLOURS)
    packed = BytesIO()
    image.save(packed, format="PNG", optimize=True)
    return packed.getvalue()


def complete_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document
) -> None:
    """Put the thumbnails into a page, and its description into its head."""
    if doctree is None:  # a search page, an index
        return
    image, title = thumbnail(app, pagename), app.env.titles[pagename].astext()
    facts = {
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:site_name": app.config.html_title,
        "og:title": title,
        "og:description": description(doctree) or f"{title}: {app.config.html_title}",
    }
    if address := app.config.html_baseurl:  # other sites need whole addresses
        facts["og:url"] = f"{address.rstrip('/')}/{pagename}.html"
        if image.exists():
            facts["og:image"] = f"{address.rstrip('/')}/_images/{image.name}"
    context["metatags"] = metatags(facts) + context.get("metatags", "")
    context["body"] = SLOT.sub(
        lambda found: found[1] + picture(thumbnail(app, found[2])) + "</span>",
        context.get("body", ""),
    )


def picture(file: Path) -> str:
    """A thumbnail on a page in the folder of the chapters; nothing if there is none."""
    width, height = SIZE
    alt = "the main figure of this chapter"
    size = f'width="{width}" height="{height}" loading="lazy"'
    return f'<img src="../_images/{file.name}" alt="{alt}" {size}>' if file.exists() else ""


def metatags(facts: Mapping[str, str]) -> str:
    """The tags in a page's head that search engines and other sites read."""
    tags = [f'<meta property="{name}" content="{escape(text)}">' for name, text in facts.items()]
    tags.append(f'<meta name="description" content="{escape(facts["og:description"])}">')
    tags.append('<meta name="twitter:card" content="summary_large_image">')
    return "\n".join(["", *tags, ""])


def description(page: nodes.document) -> str:
    """The beginning of a page's first paragraph, up to the end of a sentence if there is one."""
    sections = (
        one for one in page.findall(nodes.paragraph) if isinstance(one.parent, nodes.section)
    )
    text = " ".join(next(sections, nodes.paragraph()).astext().split())
    text = re.sub(r" \[[^]]*\d{4}\]", "", text)  # citations
    if len(text) <= DESCRIPTION:
        return text
    end = text.rfind(". ", 0, DESCRIPTION)
    return text[: end + 1] if end > 0 else text[:DESCRIPTION].rsplit(" ", 1)[0] + " …"
