import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from vst.companion.experiments.detection import auroc, auroc_of_one_node, detect, epistemic_variance
from vst.companion.experiments.fitting import prepared
from vst.companion.models import MODEL_BY_ID
from vst.companion.protocol import ood_set


def pairs(inside, outside):
    """AUROC by its definition: over all pairs."""
    differences = np.asarray(outside)[:, None] - np.asarray(inside)[None, :]
    return np.mean((differences > 0) + 0.5 * (differences == 0))


def test_auroc_is_the_share_of_pairs_in_the_right_order():
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(0, 9, 40).astype(float), rng.integers(3, 12, 30).astype(float)
    assert auroc(inside, outside) == pytest.approx(pairs(inside, outside))


def test_a_constant_score_tells_nothing_apart():
    assert auroc(np.ones(5), np.ones(7)) == 0.5
    assert auroc_of_one_node(np.ones(5), np.ones(7)) == 0.5


def test_a_variance_that_overflowed_is_the_largest():
    assert auroc(np.array([0.1, 0.2]), np.array([np.inf, np.nan])) == 1.0


def test_one_node_is_the_best_single_threshold():
    rng = np.random.default_rng(1)
    inside, outside = rng.gamma(2.0, 1.0, 200), rng.gamma(4.0, 1.0, 150)
    labels = np.repeat([0, 1], [200, 150])
    scores = np.concatenate([inside, outside])
    rates = [roc_auc_score(labels, scores > threshold) for threshold in scores]
    found = auroc_of_one_node(inside, outside)
    assert found <= max(rates) + 1e-12  # Gini's threshold need not be the one of the best rates
    assert found == pytest.approx(max(rates), abs=0.02)


def test_scores_may_be_tiny():
    inside, outside = np.array([1e-12, 2e-12]), np.array([3e-12, 4e-12])
    assert auroc(inside, outside) == auroc_of_one_node(inside, outside) == 1.0


class Lines:
    """Mean functions that fan out from the origin."""

    def mean_draws(self, x):
        return np.array([[-1.0], [0.0], [1.0]]) * np.abs(x).sum(axis=1)


def test_detection_looks_at_the_variance_of_the_mean(monkeypatch):
    data = prepared("yacht")
    from vst.companion.experiments import detection

    rows = ood_set(data, partner="boston")
    monkeypatch.setattr(detection, "ood_set", lambda data: rows)
    inside, outside = (np.abs(x).sum(axis=1) ** 2 * 2 / 3 for x in (rows.x_in, rows.x_out))
    np.testing.assert_allclose(epistemic_variance(Lines(), rows.x_in), inside, rtol=1e-5)
    found = detect(Lines(), data)
    assert found["auroc"] == pytest.approx(pairs(inside, outside), abs=1e-4)
    assert found["ood"] == "boston"


def test_a_model_with_one_mean_function_has_no_score():
    data = prepared("yacht")
    fitted = MODEL_BY_ID["xgboost-1"].settings.fit(data.x_train, data.y_train, seed=0)
    assert detect(fitted, data)["auroc"] is None


def test_without_ood_rows_there_is_no_score(monkeypatch):
    from vst.companion.experiments import detection
    from vst.errors import MissingDataError

    def absent(data):
        raise MissingDataError("song is not here")

    monkeypatch.setattr(detection, "ood_set", absent)
    assert detect(Lines(), prepared("yacht")) == {"auroc": None, "auroc_node": None, "ood": None}
