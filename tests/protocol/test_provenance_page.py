"""The provenance page is made from the catalogue."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from vst.companion.report import data as report
from vst.datasets import CATALOGUE, load_dataset
from vst.tables import load_table

NOTEBOOK = Path(__file__).parents[2] / "book" / "data.ipynb"


def test_the_papers_table_has_its_ten_sets_and_one_disagreement():
    text = report.paper_table()._repr_markdown_()
    assert len(text.splitlines()) == 2 + 10
    (disagreement,) = [line for line in text.splitlines() if "| no:" in line]
    assert "514,345" in disagreement
    assert "515,345" in disagreement


@pytest.mark.parametrize(
    "table", [report.overview_table, report.source_table, report.checksum_table]
)
def test_tables_name_every_data_set(table):
    text = table()._repr_markdown_()
    assert all(f"`{name}`" in text for name in CATALOGUE)
    columns = {line.count(" | ") for line in text.splitlines()}
    assert len(columns) == 1


def test_a_clean_machine_has_the_bundled_ones_only():
    text = report.overview_table()._repr_markdown_()
    bundled = sum(info.bundled for info in CATALOGUE.values())
    assert text.count("| bundled |") == bundled
    assert text.count("| no |") == len(CATALOGUE) - bundled


def test_every_regression_set_that_is_here_has_a_histogram():
    datasets = report.regression_sets()
    wanted = [i for i in CATALOGUE.values() if i.bundled and i.task == "regression"]
    assert [dataset.name for dataset in datasets] == [info.name for info in wanted]
    figure = report.target_histograms(datasets)
    drawn = [axis for axis in figure.axes if axis.get_visible()]
    assert [axis.get_title("left").split(" ")[0] for axis in drawn] == [d.name for d in datasets]
    assert all(axis.get_xlabel() for axis in drawn)
    for axis, dataset in zip(drawn, datasets, strict=True):
        assert sum(bar.get_height() for bar in axis.patches) == dataset.n


def test_a_target_of_few_values_has_a_bar_for_each():
    (axis,) = report.target_histograms([load_dataset("wine")]).axes
    assert [bar.get_height() for bar in axis.patches] == [10, 53, 681, 638, 199, 18]


def test_a_table_of_ones_own_has_a_histogram_too():
    frame = pd.DataFrame({"a": np.arange(5), "t": [1.0] * 5})
    (axis,) = report.target_histograms([load_table(frame, target="t")]).axes
    assert axis.get_xlabel() == "t"
    assert sum(bar.get_height() for bar in axis.patches) == 5


def test_the_chapter_has_no_outputs_and_one_cell_of_parameters():
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in code)
    tags = [tag for cell in code for tag in cell["metadata"].get("tags", [])]
    assert tags.count("parameters") == 1
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert notebook["metadata"]["language_info"]["name"] == "python"
