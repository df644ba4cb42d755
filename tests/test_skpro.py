import numpy as np
import pandas as pd
import pytest
from skpro.metrics import CRPS, LogLoss
from skpro.utils import check_estimator

from vst import VSTRegressor
from vst.skpro import SkproRegressor

QUICK = VSTRegressor(depth=1, steps=300, tol=0.0)


@pytest.fixture
def table(rng):
    X = pd.DataFrame({"size": rng.normal(size=60), "rooms": rng.normal(size=60)})
    y = pd.DataFrame({"price": 2 * X["size"] + X["rooms"] + 0.2 * rng.normal(size=60)})
    return X, y


def test_predictions_are_those_of_the_estimator(table):
    X, y = table
    own = QUICK.fit(X, y["price"]).predict_dist(X)
    model = SkproRegressor(QUICK).fit(X, y)
    found = model.predict_proba(X)
    np.testing.assert_allclose(model.predict(X)["price"], own.mean, rtol=1e-6)
    np.testing.assert_allclose(found.var()["price"], own.std**2, rtol=1e-5)
    np.testing.assert_allclose(found.log_pdf(y)["price"], own.log_prob(y["price"]), rtol=1e-4)
    np.testing.assert_allclose(found.cdf(y)["price"], own.cdf(y["price"]), rtol=1e-4)
    lower = model.predict_interval(X, coverage=[0.9])[("price", 0.9, "lower")]
    np.testing.assert_allclose(lower, own.interval(0.9)[0], rtol=1e-4)


def test_rows_can_be_chosen_by_name_and_number(table):
    X, y = table
    X.index = [f"row {i}" for i in range(60)]
    whole = SkproRegressor(QUICK).fit(X, y.set_index(X.index)).predict_proba(X)
    part = whole.loc[["row 7", "row 3"]]
    np.testing.assert_allclose(part.mean()["price"], whole.mean()["price"].iloc[[7, 3]], rtol=1e-6)
    assert whole.iloc[3, 0].mean() == pytest.approx(whole.mean()["price"].iloc[3])
    assert whole.iloc[[0, 1, 2]].ppf(0.5).shape == (3, 1)


@pytest.mark.filterwarnings("ignore:.*energy.*:UserWarning")  # it says that it integrates
def test_skpros_metrics_take_it(table):
    X, y = table
    found = SkproRegressor(QUICK).fit(X, y).predict_proba(X)
    expected = -np.mean(found.log_pdf(y).to_numpy())
    assert LogLoss()(y, found) == pytest.approx(expected, rel=1e-5)
    assert 0 < CRPS()(y, found) < 1


@pytest.mark.filterwarnings("ignore")  # skpro's own
def test_skpros_checks_pass():
    results = check_estimator(SkproRegressor, raise_exceptions=False, verbose=False)
    failed = {name: result for name, result in results.items() if result != "PASSED"}
    assert failed == {}
    assert len(results) > 10
