"""The soft tree that readers can change."""

import json

import numpy as np
import pytest
from bs4 import BeautifulSoup

from vst.companion.experiments import explorer as experiment
from vst.companion.report import explorer
from vst.tree import TreeShape


@pytest.fixture(scope="module")
def found():
    return experiment.fits(steps=25)


def test_there_is_a_posterior_for_every_choice(found):
    assert len(found["fits"]) == np.prod([len(values) for values in found["choices"].values()])
    for name, (mean, scale, *columns) in found["fits"].items():
        depth, _, rank, _ = name.split()
        assert len(mean) == len(scale) == TreeShape(1, int(depth)).n_params
        assert len(columns) == int(rank)


def test_the_page_has_a_slider_for_every_choice_and_a_picture_without_scripts(found):
    page = BeautifulSoup(explorer.widget(found).text, "html.parser")
    sliders = {slider["data-setting"]: slider for slider in page.select("input")}
    assert set(sliders) == {*found["choices"], "x"}
    for name, values in found["choices"].items():
        assert int(sliders[name]["max"]) == len(values) - 1
    assert page.select_one(".picture svg")
    assert json.loads(page.script.string) == json.loads(json.dumps(found))


def test_the_first_choice_is_that_of_the_sliders(found):
    name, shape, q = explorer.first_choice(found)
    assert name == "2 5 5 1"
    assert q.mean.shape == (shape.n_params,)
    np.testing.assert_allclose(q.mean, found["fits"][name][0], atol=1e-6)
