"""What chapters fit on the spot."""

from types import SimpleNamespace

import numpy as np
import pytest

from vst.companion.experiments import examples
from vst.companion.experiments.detection import auroc
from vst.companion.protocol import prepare
from vst.datasets import load_dataset
from vst.errors import DataError, UserError


def test_without_song_a_bundled_partner_gives_the_rows(clean_machine):
    rows = examples.ood_rows("yacht")
    assert rows.partner == examples.BUNDLED_PARTNER
    assert "not the paper's partner" in rows.caption
    with pytest.raises(DataError, match="naval cannot be its own OOD partner"):
        examples.ood_rows("naval")


def test_a_partner_may_be_named(clean_machine):
    assert examples.ood_rows("yacht", "boston").partner == "boston"


def test_detections_are_of_models_that_draw_several_functions(clean_machine):
    rows = examples.ood_rows("yacht", "boston")
    models = ["sglb-1", "xgboost-1", "vst-linear"]
    found = examples.detections("yacht", models, rows, profile="smoke")
    assert [detection.model for detection in found] == ["sglb-1", "vst-linear"]
    for detection in found:
        assert detection.inside.shape == (len(rows.x_in),)
        assert detection.outside.shape == (len(rows.x_out),)
        assert (detection.inside >= 0).all()
        assert 0 <= auroc(detection.inside, detection.outside) <= 1


@pytest.mark.parametrize("axes", ["principal", "whitened"])
def test_a_model_with_turned_inputs_sees_turned_outside_rows(axes, clean_machine, monkeypatch):
    seen = {}

    class Fitted:
        def mean_draws(self, x):
            seen[len(seen)] = x
            return np.stack([np.zeros(len(x)), x[:, 0]])

    monkeypatch.setattr(examples, "fit_folds", lambda setting, data, folds, seeds: [Fitted()])
    monkeypatch.setattr(
        examples.regression, "setting_for", lambda *names: SimpleNamespace(axes=axes)
    )
    monkeypatch.setattr(
        examples, "find_profile", lambda name: SimpleNamespace(limited=lambda setting: setting)
    )
    rows = examples.ood_rows("yacht", "boston")
    examples.detections("yacht", ["vsgbm-joint"], rows)
    rotation = examples.prepared("yacht", axes).standardiser.rotation
    np.testing.assert_allclose(seen[0], rows.x_in @ rotation, atol=1e-4)
    np.testing.assert_allclose(seen[1], rows.x_out @ rotation, atol=1e-4)


def test_a_data_set_that_is_not_here_is_a_sentence(clean_machine):
    rows = examples.ood_rows("yacht", "boston")
    with pytest.raises(UserError, match="atlantis"):
        examples.detections("atlantis", ["sglb-1"], rows)


def test_other_test_rows_give_other_errors():
    errors = examples.other_splits("xgboost", "yacht", "rmse", splits=3)
    assert len(set(errors)) == 3
    assert errors[:2] == examples.other_splits("xgboost", "yacht", "rmse", splits=2)
    assert all(0 < error < 1 for error in errors)


@pytest.mark.parametrize(("model", "axes"), [("vst-linear", "principal"), ("sglb", "features")])
def test_every_split_is_turned_to_the_models_own_axes(model, axes, monkeypatch):
    seen = []
    monkeypatch.setattr(examples, "fit_rows", lambda setting, x, y, seed: seen.append(x))
    monkeypatch.setattr(examples, "score", lambda model, x, y: {"rmse": 0.0})
    examples.other_splits(model, "yacht", "rmse", splits=2)
    for seed, x in enumerate(seen):
        data = prepare(load_dataset("yacht"), seed=seed, axes=axes)
        np.testing.assert_array_equal(x, data.x_train[data.folds.train.rows(0)])


def test_catboost_refuses_a_constant_and_says_so():
    assert "equal" in examples.catboost_on_a_constant()
