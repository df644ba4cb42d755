"""Small fits that a chapter makes itself, to show what its tables cannot."""

from collections.abc import Sequence

import numpy as np

from vst.companion.experiments import datasets, regression
from vst.companion.experiments.detection import Detection, epistemic_variance
from vst.companion.experiments.fitting import (
    axes_of,
    fit_folds,
    fit_rows,
    prepared,
    prepared_for,
    score,
)
from vst.companion.experiments.profiles import profile as find_profile
from vst.companion.experiments.trials import tuned_settings
from vst.companion.models import MODEL_BY_ID
from vst.companion.peers.libraries import library
from vst.companion.protocol import OODSet, ood_set, prepare
from vst.errors import MissingDataError

#: The source of OOD rows on a machine without *song* or its part.
BUNDLED_PARTNER = "naval"


def ood_rows(dataset: str, partner: str = "") -> OODSet:
    """The OOD set of a data set; without *song*, its caption names the bundled partner used."""
    data = prepared(dataset)
    if partner:
        return ood_set(data, partner=partner)
    try:
        return ood_set(data)
    except MissingDataError:
        return ood_set(data, partner=BUNDLED_PARTNER)


def detections(
    dataset: str, models: Sequence[str], rows: OODSet, *, profile: str = "paper", fold: int = 0
) -> list[Detection]:
    """Fit models to one fold with their tuned settings, and score the rows of an OOD set."""
    datasets.check([dataset])
    found = []
    for name in regression.chosen_models(models):
        tuned = regression.setting_for(name, dataset, tuned_settings())
        setting = find_profile(profile).limited(tuned)
        data = prepared_for(setting, dataset)
        [model] = fit_folds(setting, data, [fold], [0])
        pair = rows if data.standardiser.rotation is None else ood_set(data, partner=rows.partner)
        inside, outside = (epistemic_variance(model, x) for x in (pair.x_in, pair.x_out))
        if inside is not None and outside is not None:
            found.append(Detection(name, inside, outside))
    return found


def other_splits(model: str, dataset: str, column: str, splits: int = 10) -> list[float]:
    """A model's scores on its first fold, for other choices of the test rows.

    The paper does not say how it chose its test rows. Use a model that fits quickly.
    """
    setting = MODEL_BY_ID[model].setting(tuned_settings().get((dataset, model), {}))
    found = []
    for seed in range(splits):
        data = prepare(datasets.load(dataset), seed=seed, axes=axes_of(setting))
        used = data.folds.train.rows(0)
        fitted = fit_rows(setting, data.x_train[used], data.y_train[used], seed=0)
        found.append(float(score(fitted, data.x_test, data.y_test)[column]))
    return found


def catboost_on_a_constant() -> str:
    """CatBoost's error for a constant target."""
    catboost = library("catboost")
    model = catboost.CatBoostRegressor(
        loss_function="RMSEWithUncertainty", allow_writing_files=False
    )
    try:
        model.fit(np.arange(20.0)[:, None], np.zeros(20), verbose=False)
    except catboost.CatBoostError as error:
        return str(error).rpartition(": ")[2]
    return "no error: the model was fitted"
