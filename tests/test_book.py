"""The book's sources are fit to be executed and published."""

import json
from pathlib import Path

import nbformat
import pytest
import yaml

from vst.book import driver
from vst.cli import main
from vst.errors import UserError

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@each
def test_source_notebooks_carry_no_outputs(path):
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@each
def test_source_notebooks_can_be_executed_and_rendered(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.language_info.name == "python"


@each
def test_parameters_say_their_type_and_meaning(path):
    tagged = [
        cell
        for cell in nbformat.read(path, as_version=4).cells
        if "parameters" in cell.metadata.get("tags", [])
    ]
    assert len(tagged) == 1
    for line in tagged[0].source.splitlines():
        name, _, rest = line.partition(":")
        assert name.isidentifier()
        assert " = " in rest
        assert "  # " in rest


def test_every_figure_has_a_caption_and_alternative_text():
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text())["cells"]:
            options = cell["metadata"].get("mystnb", {})
            if "figure" in options:
                assert options["figure"]["caption"]
                assert options["image"]["alt"]


def test_every_chapter_is_in_the_table_of_contents():
    assert set(driver.chapters(ROOT)) == set(NOTEBOOKS)


def small_book(root, code):
    (root / "book").mkdir()
    (root / "_toc.yml").write_text("format: jb-book\nroot: book/chapter\n")
    (root / "_config.yml").write_text(
        yaml.safe_dump({"title": "small", "execute": {"execute_notebooks": "auto"}})
    )
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell("# Chapter"), nbformat.v4.new_code_cell(code)],
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}
        },
    )
    nbformat.write(notebook, root / "book" / "chapter.ipynb")
    return root


def test_a_book_is_executed_and_built(tmp_path, capfd):
    root = small_book(tmp_path, "print(6 * 7)")
    assert main(["book", "build", "--root", str(root)]) == 0
    page = (root / "_build" / "html" / "book" / "chapter.html").read_text()
    assert "42" in page
    assert str(root / "_build" / "html" / "index.html") in capfd.readouterr().out
    source = nbformat.read(root / "book" / "chapter.ipynb", as_version=4)
    assert not source.cells[1].outputs


def test_a_failing_cell_ends_the_build_with_its_traceback(tmp_path, capfd):
    root = small_book(tmp_path, "1 / 0")
    assert main(["book", "build", "--root", str(root)]) == 1
    err = capfd.readouterr().err
    assert "chapter.ipynb failed" in err
    assert "ZeroDivisionError" in err


def test_a_sphinx_warning_ends_the_build(tmp_path):
    root = small_book(tmp_path, "1")
    (root / "_config.yml").write_text(
        yaml.safe_dump({"title": "small", "execute": {}, "bibtex_bibfiles": ["absent.bib"]})
    )
    with pytest.raises(UserError, match="jupyter-book failed"):
        driver.build(root)


def test_a_directory_without_a_book_is_refused(tmp_path, capsys):
    assert main(["book", "build", "--root", str(tmp_path)]) == 1
    assert "holds no book" in capsys.readouterr().err
