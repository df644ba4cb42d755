from dataclasses import replace

import numpy as np
import pytest

from vst.companion.experiments import pictures
from vst.companion.experiments.cells import as_parameters
from vst.companion.experiments.experiment import obtain
from vst.companion.experiments.pictures import PROBLEMS, flat_rmse, measure, rmse, sample, spread
from vst.companion.experiments.profiles import PROFILES
from vst.companion.paper import ARTEFACT_BY_ID
from vst.companion.peers.sglb import SGLB
from vst.companion.peers.xbart import XBART
from vst.companion.protocol.synthetic import Curve
from vst.errors import UserError
from vst.estimators import estimator

TREE = replace(pictures.TREE, depth=2, rank=2, steps=300)
SETTINGS = {
    "vst": TREE,
    "vsgbm": replace(TREE, n_trees=2),
    "xbart": XBART(draws=6),
    "sglb": SGLB(members=6),
}


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
        artefact = ARTEFACT_BY_ID[problem.figure]
        assert tuple(name.upper() for name in problem.models) == artefact.panels
        assert artefact.chapter == "uncertainty"


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
    row = measure(problem, curve, fan(curve))
    assert row["inside"] == pytest.approx(0.1)
    assert row["outside"] == pytest.approx(0.5)
    assert row["ratio"] == pytest.approx(5)
    assert row["reached"] == 1


def test_functions_that_all_miss_the_truth_do_not_reach_it():
    curve = line()
    above = np.where(curve.grid[:, 0] > 0, 9.0, 0.0) + fan(curve)
    assert measure("tails", curve, above)["reached"] == pytest.approx(0.5)


def test_the_strip_around_the_step_is_left_out():
    curve = PROBLEMS["step"].make()
    near = np.abs(curve.grid[:, 0] - 0.5) <= pictures.STRIP
    row = measure("step", curve, np.where(near, 0.0, curve.truth)[None])
    assert row["away"] == 0
    assert row["rmse"] == pytest.approx(np.sqrt(near.mean()))


def test_a_picture_is_measured_by_what_its_caption_speaks_of():
    curve = line(((-2.0, -1.0), (1.0, 2.0)))
    measured = {picture: set(measure(picture, curve, fan(curve))) for picture in PROBLEMS}
    both = {"rmse", "inside", "outside", "ratio", "reached"}
    assert measured == {
        "tails": both,
        "gap": both,
        "step": {"rmse", "away"},
        "wavelet": {"rmse"},
    }
    assert set().union(*measured.values()) == set(pictures.MEASURES)


@pytest.mark.parametrize("model", SETTINGS)
def test_draws_are_functions_on_the_grid_in_the_targets_units(model):
    curve = PROBLEMS["step"].make(n=60)
    moved = curve._replace(y=100 + 10 * curve.y)
    draws = sample(SETTINGS[model], moved, 6, seed=1)
    assert draws.shape == (6, len(curve.grid))
    left, right = draws[:, 40].mean(), draws[:, -40].mean()
    assert left == pytest.approx(90, abs=4)
    assert right == pytest.approx(110, abs=4)
    again = sample(SETTINGS[model], moved, 6, seed=1)
    np.testing.assert_array_equal(draws, again)
    assert spread(draws, curve.inside()) > 0


def test_the_best_start_is_the_one_with_the_highest_elbo(monkeypatch):
    curve = PROBLEMS["tails"].make(n=60)
    kept = {}
    original = pictures._keep_best_start

    def spy(model):
        original(model)
        kept["elbo"], kept["mean"] = model.elbo_, np.asarray(model.stacked_posteriors_.mean)

    monkeypatch.setattr(pictures, "_keep_best_start", spy)
    setting = replace(TREE, members=3)
    sample(setting, curve, 6, seed=2)
    best = int(np.argmax(kept["elbo"][:, -pictures.ELBO_STEPS :].mean(axis=1)))
    every = estimator(setting, random_state=2).fit(curve.x, curve.y)
    np.testing.assert_array_equal(kept["mean"], every.stacked_posteriors_.mean[best][None])


def test_repeats_are_different_data_sets_and_the_first_is_drawn(tiny, tmp_path):
    obtained = obtain(
        pictures.PICTURES,
        "tiny",
        out=tmp_path,
        workers=0,
        pictures=["step"],
        rows=60,
        functions=6,
        repeats=2,
        seed=5,
    )
    assert obtained.missing == 0
    usual = obtained.results[obtained.results["variant"] == "usual"]
    assert usual.groupby("seed").size().to_dict() == {5: 3, 6: 3}
    assert usual.groupby("model")["rmse"].nunique().eq(2).all()
    curve = pictures.curve_of(obtained.results, "step")
    np.testing.assert_array_equal(curve.y, PROBLEMS["step"].make(n=60, seed=5).y)
    shown = pictures.drawn(obtained, "step")
    assert [fit.model for fit in shown] == ["vst", "xbart", "sglb"]
    for fit in shown:
        row = usual[(usual["seed"] == 5) & (usual["model"] == fit.model)]
        assert fit.rmse == row["rmse"].item()
        assert fit.draws.shape == (6, len(fit.x))
        points = curve._replace(grid=fit.x[:, None], truth=curve.truth[:: pictures.EVERY])
        assert rmse(points, fit.draws) == pytest.approx(fit.rmse, rel=0.05)
    assert set(obtained.parts["functions"]["key"]) == set(usual[usual["seed"] == 5]["key"])


def test_panels_are_in_the_papers_order_whichever_fit_ended_first():
    obtained = obtain(pictures.PICTURES, "paper", compute=False, pictures=["wavelet"])
    backwards = replace(obtained, results=obtained.results[::-1])
    for variant in ("usual", "rows 16000"):
        shown = pictures.drawn(backwards, "wavelet", variant)
        assert [fit.model for fit in shown] == ["vst", "vsgbm", "xbart", "sglb"]


def test_a_changed_setting_is_the_only_thing_that_changes():
    described = {}
    for job in pictures.jobs(PROFILES["paper"], repeats=1):
        [cell] = job.cells
        parameters = as_parameters(cell.parameters)
        setting = parameters.pop("setting")
        described[cell.dataset, parameters["variant"], cell.model] = setting, parameters
    for beta in (5.0, 50.0):
        usual, _ = described["step", "usual", "vst"]
        changed, parameters = described["step", f"beta {beta:g}", "vst"]
        assert changed == usual | {"beta": beta}
        assert parameters["rows"] == 250
    for model in ("vst", "vsgbm"):
        usual, _ = described["wavelet", "usual", model]
        for weight in (1.0, 0.0):
            changed, _ = described["wavelet", f"kl_weight {weight:g}", model]
            assert changed == usual | {"kl_weight": weight, "members": 1}  # of one start
    for rows in PROFILES["paper"].sizes:
        changed, parameters = described["wavelet", f"rows {rows}", "vst"]
        assert changed == described["wavelet", "usual", "vst"][0]
        assert (parameters["rows"], parameters["functions"]) == (rows, pictures.FEWER)


def test_the_step_is_fitted_with_other_temperatures_but_its_own():
    notes = {job.note for job in pictures.jobs(PROFILES["paper"], pictures=["step"], beta=5.0)}
    assert notes == {"usual", "beta 50"}


def test_wrong_names_and_numbers_are_refused():
    with pytest.raises(UserError, match="there is no picture sine: choose from tails, gap, step"):
        pictures.jobs(PROFILES["smoke"], pictures=["sine"])
    with pytest.raises(UserError, match="an integer >= 2"):
        pictures.jobs(PROFILES["smoke"], functions=1)
