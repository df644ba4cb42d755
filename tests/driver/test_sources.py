"""The book's sources are fit to be executed and published."""

import json
from pathlib import Path

import nbformat
import pytest

from vst.companion.driver.chapters import chapters

ROOT = Path(__file__).parents[2]
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
    assert {chapter.source for chapter in chapters(ROOT)} == set(NOTEBOOKS)


def test_chapters_are_in_the_order_of_the_parts():
    names = [chapter.name for chapter in chapters(ROOT)]
    assert names[:3] == ["introduction", "claims", "method"]
    assert names[-2:] == ["own_data", "data"]
