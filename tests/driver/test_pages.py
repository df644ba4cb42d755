"""Thumbnails on the front page, and what other sites show of a page."""

from io import BytesIO

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from docutils import nodes
from PIL import Image

from vst.companion.driver import driver, pages

FIRST = """\
from IPython.display import HTML
HTML('<span class="thumbnail" data-chapter="second"></span>'
     '<span class="thumbnail" data-chapter="plain"></span>')"""

SECOND = """\
from IPython.display import Image
from PIL import Image as Pixels
from io import BytesIO
packed = BytesIO()
Pixels.new("RGB", (800, 500), "{colour}").save(packed, format="PNG")
Image(packed.getvalue())"""


def png(width, height, colour="red"):
    packed = BytesIO()
    Image.new("RGB", (width, height), colour).save(packed, format="PNG")
    return packed.getvalue()


def colours(image):
    return {colour for _, colour in Image.open(BytesIO(image)).convert("RGB").getcolors()}


def write(path, title, *code, tags=()):
    cells = [nbformat.v4.new_markdown_cell(f"# {title}\n\nWhat {title} says. And more.")]
    cells += [nbformat.v4.new_code_cell(each) for each in code]
    if tags:
        cells[-1].metadata["tags"] = list(tags)
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A book with a front page, a chapter with two figures and one without, as it is published."""
    root = tmp_path_factory.mktemp("book")
    (root / "book").mkdir()
    (root / "data").mkdir()
    chapters = [{"file": "book/second"}, {"file": "book/plain"}]
    contents = {"format": "jb-book", "root": "book/first", "chapters": chapters}
    (root / "_toc.yml").write_text(yaml.safe_dump(contents))
    extensions = {"extra_extensions": ["vst.companion.driver.pages"]}
    config = {"title": "Small", "execute": {}, "sphinx": extensions}
    (root / "_config.yml").write_text(yaml.safe_dump(config))
    write(root / "book" / "first.ipynb", "First", FIRST)
    figures = [SECOND.format(colour=colour) for colour in ("red", "blue")]
    write(root / "book" / "second.ipynb", "Second", *figures, tags=["thumbnail"])
    (root / "book" / "plain.md").write_text("# Plain\n\nNo figures.\n")
    driver.build(root, repository="https://github.com/someone/book")
    return root / "_build" / "html"


def test_a_card_shows_the_chosen_figure_of_its_chapter(built):
    page = BeautifulSoup((built / "book" / "first.html").read_text(), "html.parser")
    with_figure, without = page.select(".thumbnail")
    assert without.find("img") is None
    file = (built / "book" / with_figure.img["src"]).resolve()
    assert colours(file.read_bytes()) == {(0, 0, 255)}
    assert with_figure.img["alt"]


def test_a_page_says_what_other_sites_show_of_it(built):
    def told(name):
        page = BeautifulSoup((built / "book" / f"{name}.html").read_text(), "html.parser")
        tags = page.select("head meta[property], head meta[name]")
        return {tag.get("property") or tag["name"]: tag["content"] for tag in tags}

    first, second, plain = told("first"), told("second"), told("plain")
    assert (first["og:type"], second["og:type"]) == ("website", "article")
    assert second["og:title"] == "Second"
    assert second["og:site_name"] == "Small"
    assert second["description"] == second["og:description"] == "What Second says. And more."
    address = "https://someone.github.io/book"
    assert second["og:url"] == f"{address}/book/second.html"
    assert second["og:image"] == f"{address}/_images/thumbnail-second.png"
    assert (built / "_images" / "thumbnail-second.png").exists()
    assert "og:image" not in plain


@pytest.mark.parametrize("size", [(1200, 400), (600, 314), (400, 900)])
def test_thumbnails_have_one_size_and_few_bytes(size):
    small = pages.shrunk(png(*size))
    assert Image.open(BytesIO(small)).size == pages.SIZE
    assert len(small) < 2000
    ground = {(255, 255, 255)} if size[0] > 2 * size[1] else set()
    assert colours(small) == {(255, 0, 0)} | ground


def described(*sentences):
    page = nodes.document(None, None)
    section = nodes.section("", nodes.paragraph(text=" ".join(sentences)))
    page += section
    return pages.description(page)


def test_a_description_ends_with_a_sentence_or_a_word():
    assert described("One.", "Two.") == "One. Two."
    assert described("As they say [Who et\N{NO-BREAK SPACE}al., 2023].") == "As they say."
    assert described("One.", "long " * 100) == "One."
    assert described("word " * 100).endswith("word …")
    assert pages.description(nodes.document(None, None)) == ""


def test_tags_are_not_read_as_html():
    assert "<i>" not in pages.metatags({"og:description": '"><i>'})
