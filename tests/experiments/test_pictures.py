from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from vst.companion.experiments import pictures
from vst.companion.experiments.pictures import (
    PROBLEMS,
    Sampled,
    Settings,
    flat_rmse,
    measure,
    rmse,
    spread,
)
from vst.companion.paper import ARTEFACT_BY_ID
from vst.companion.protocol.synthetic import Curve
from vst.errors import UserError

TINY = Settings(functions=6, depth=2, rank=2, steps=300, n_trees=2)


def line(support=((-1.0, 1.0),)):
    """The function zero on [-2, 2], observed in part of it."""
    grid = np.linspace(-2, 2, 401)
    return Curve(np.zeros((2, 1)), np.zeros(2), grid[:, None], np.zeros(401), support, 0.1)


def fan(curve, inside=0.1, outside=0.5, n=200):
    """Constants around zero with one spread inside the support and another outside."""
    levels = np.linspace(-1, 1, n) / np.linspace(-1, 1, n).std()
    return levels[:, None] * np.where(curve.inside(), inside, outside)


def test_every_picture_has_the_papers_panels():
    for problem in PROBLEMS.values():
        panels = ARTEFACT_BY_ID[problem.artefact].panels
        assert tuple(name.upper() for name in problem.models) == panels
        assert ARTEFACT_BY_ID[problem.artefact].chapter == "uncertainty"
    assert pictures.printed_rmse("step") == {"vst": 0.2121, "xbart": 0.0982, "sglb": 0.3014}
    assert pictures.printed_rmse("tails") == {}


def test_the_error_is_that_of_the_mean_function_inside_the_data():
    curve = line()
    x = curve.grid[:, 0]
    far_off = np.where(np.abs(x) <= 1, 0.3, 50.0)
    draws = np.stack([far_off - 0.2, far_off + 0.2])
    assert rmse(curve, draws) == pytest.approx(0.3)
    assert rmse(curve, draws, np.abs(x) > 1) == pytest.approx(50)


def test_a_flat_line_has_the_error_of_the_truths_deviation():
    curve = line()._replace(truth=3 + np.sin(np.pi * line().grid[:, 0]))
    inside = curve.truth[curve.inside()]
    assert flat_rmse(curve) == pytest.approx(np.sqrt(0.5), rel=0.01)
    assert flat_rmse(curve) == pytest.approx(rmse(curve, np.full((2, 401), inside.mean())))


@pytest.mark.parametrize(
    ("problem", "support"), [("tails", ((-1.0, 1.0),)), ("gap", ((-2.0, -1.0), (1.0, 2.0)))]
)
def test_the_spread_is_measured_where_there_are_data_and_where_there_are_none(problem, support):
    curve = line(support)
    row = measure(problem, curve, Sampled("vst", fan(curve), 1.5))
    assert row["inside"] == pytest.approx(0.1)
    assert row["outside"] == pytest.approx(0.5)
    assert row["ratio"] == pytest.approx(5)
    assert row["reached"] == 1
    assert row["seconds"] == 1.5


def test_functions_that_all_miss_the_truth_do_not_reach_it():
    curve = line()
    above = np.where(curve.grid[:, 0] > 0, 9.0, 0.0) + fan(curve)
    assert measure("tails", curve, Sampled("vst", above, 0.0))["reached"] == pytest.approx(0.5)


def test_the_strip_around_the_step_is_left_out():
    curve = PROBLEMS["step"].make()
    near = np.abs(curve.grid[:, 0] - 0.5) <= pictures.STRIP
    row = measure("step", curve, Sampled("vst", np.where(near, 0.0, curve.truth)[None], 0.0))
    assert row["away"] == 0
    assert row["rmse"] == pytest.approx(np.sqrt(near.mean()))


@pytest.mark.parametrize("model", pictures.SAMPLERS)
def test_draws_are_functions_on_the_grid_in_the_targets_units(model):
    curve = PROBLEMS["step"].make(n=60)
    moved = curve._replace(y=100 + 10 * curve.y)
    found = pictures.sample(model, moved, TINY, seed=1)
    assert found.draws.shape == (6, len(curve.grid))
    left, right = found.draws[:, 40].mean(), found.draws[:, -40].mean()
    assert left == pytest.approx(90, abs=4)
    assert right == pytest.approx(110, abs=4)
    again = pictures.sample(model, moved, TINY, seed=1)
    np.testing.assert_array_equal(found.draws, again.draws)
    assert spread(found.draws, curve.inside()) > 0


def test_the_best_start_is_the_one_with_the_highest_elbo(monkeypatch):
    curve = PROBLEMS["tails"].make(n=60)
    kept = {}
    original = pictures._best_start

    def spy(model, curve):
        best = original(model, curve)
        kept["elbo"], kept["mean"] = best.elbo_, np.asarray(best.stacked_posteriors_.mean)
        return best

    monkeypatch.setattr(pictures, "_best_start", spy)
    pictures.sample("vst", curve, replace(TINY, starts=3), seed=2)
    best = int(np.argmax(kept["elbo"][:, -pictures.ELBO_STEPS :].mean(axis=1)))
    every = pictures.VSTRegressor(
        depth=2, rank=2, beta=TINY.beta, learning_rate=TINY.learning_rate, steps=300, members=3,
        random_state=2,
    ).fit(curve.x, curve.y)  # fmt: skip
    np.testing.assert_array_equal(kept["mean"], every.stacked_posteriors_.mean[best][None])


def test_repeats_are_different_data_sets_and_the_first_is_returned():
    curve, sampled, measures = pictures.repeat("step", TINY, n=60, repeats=2, seed=5)
    np.testing.assert_array_equal(curve.y, PROBLEMS["step"].make(n=60, seed=5).y)
    assert [one.model for one in sampled] == ["vst", "xbart", "sglb"]
    assert measures.groupby("seed").size().to_dict() == {5: 3, 6: 3}
    first = measures[(measures["seed"] == 5) & (measures["model"] == "sglb")]["rmse"].item()
    assert first == rmse(curve, sampled[2].draws)


def test_a_changed_setting_is_the_only_thing_that_changes():
    known = pd.DataFrame({"model": ["vst", "vst"], "rmse": [7.0, 9.0]})
    options = {"n": 60, "repeats": 1, "seed": 1}
    found = pictures.vary("step", "beta", [1, 20], ["vst"], TINY, known=known, **options)
    assert found.loc["vst", 20] == 8
    curve = PROBLEMS["step"].make(n=60, seed=1)
    expected = rmse(curve, pictures.sample("vst", curve, replace(TINY, beta=1), seed=1).draws)
    assert found.loc["vst", 1] == expected


def test_wrong_names_and_numbers_are_refused():
    with pytest.raises(UserError, match="names are tails, gap, step, wavelet"):
        pictures.repeat("sine")
    with pytest.raises(UserError, match="names are vst, vsgbm"):
        pictures.sample("forest", line())
    with pytest.raises(UserError, match="at least two functions"):
        pictures.sample("vst", line(), replace(TINY, functions=1))
    with pytest.raises(UserError, match="at least 1"):
        pictures.repeat("step", repeats=0)
