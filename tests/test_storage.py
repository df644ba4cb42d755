import json
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from models import BOTH, VST, matrix, name, table
from sklearn.base import clone

from vst import VSGBMRegressor, VSTRegressor, storage

both = pytest.mark.parametrize("model", BOTH, ids=name)


@both
@pytest.mark.parametrize("make", [matrix, table])
def test_a_saved_model_predicts_as_before(model, make, rng, tmp_path):
    x, y = make(rng)
    fitted = clone(model).set_params(members=2, whiten=True).fit(x, y)
    fitted.save(tmp_path / "model.vst")
    loaded = type(model).load(tmp_path / "model.vst")
    assert loaded.get_params() == fitted.get_params()
    before, after = fitted.predict_dist(x), loaded.predict_dist(x)
    np.testing.assert_array_equal(before.mean, after.mean)
    np.testing.assert_array_equal(before.log_prob(y), after.log_prob(y))
    np.testing.assert_array_equal(fitted.sample_functions(x, 3), loaded.sample_functions(x, 3))
    np.testing.assert_array_equal(fitted.elbo_, loaded.elbo_)
    if isinstance(x, pd.DataFrame):
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(x[["town", "size", "kind"]])


def test_the_file_holds_arrays_and_json_and_no_pickle(rng, tmp_path):
    x, y = table(rng)
    clone(VST).set_params(steps=5).fit(x, y).save(tmp_path / "model.vst")
    with zipfile.ZipFile(tmp_path / "model.vst") as archive:
        assert all(member.endswith(".npy") for member in archive.namelist())
    with np.load(tmp_path / "model.vst", allow_pickle=False) as arrays:
        description = json.loads(str(arrays["description"]))
    assert description["format"] == storage.FORMAT
    assert description["model"] == "VSTRegressor"


def test_others_may_read_a_saved_model(rng, tmp_path):
    x, y = matrix(rng)
    clone(VST).set_params(steps=5).fit(x, y).save(tmp_path / "model.vst")
    (tmp_path / "plain").write_text("")
    modes = [(tmp_path / name).stat().st_mode for name in ("model.vst", "plain")]
    assert modes[0] == modes[1]


def test_a_numpy_seed_is_saved_as_it_is(rng, tmp_path):
    x, y = matrix(rng)
    clone(VST).set_params(steps=5, random_state=np.int64(3)).fit(x, y).save(tmp_path / "model.vst")
    assert VSTRegressor.load(tmp_path / "model.vst").random_state == 3


def test_estimators_can_be_pickled_too(rng):
    x, y = matrix(rng)
    fitted = clone(VST).set_params(steps=5).fit(x, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(fitted.predict(x), again.predict(x))


def test_files_that_cannot_be_read_say_why(rng, tmp_path, monkeypatch):
    x, y = matrix(rng)
    path = tmp_path / "model.vst"
    fitted = clone(VST).set_params(steps=5).fit(x, y)
    fitted.save(path)
    with pytest.raises(ValueError, match=r"holds a VSTRegressor: load it with VSTRegressor.load"):
        VSGBMRegressor.load(path)
    monkeypatch.setattr(storage, "FORMAT", 0)
    with pytest.raises(ValueError, match="update vst"):
        VSTRegressor.load(path)
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match="damaged"):
        VSTRegressor.load(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="not a model saved by vst"):
        VSTRegressor.load(path)
    with pytest.raises(FileNotFoundError):
        VSTRegressor.load(tmp_path / "nothing.vst")


def test_a_failed_save_keeps_the_older_file(rng, tmp_path, monkeypatch):
    x, y = matrix(rng)
    path = tmp_path / "model.vst"
    fitted = clone(VST).set_params(steps=5).fit(x, y)
    fitted.save(path)
    before = path.read_bytes()

    def full(*arguments, **options):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="no space"):
        fitted.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_saving_to_a_missing_directory_names_it(rng, tmp_path):
    model = clone(VST).fit(*matrix(rng))
    with pytest.raises(FileNotFoundError, match="nowhere is no directory"):
        model.save(tmp_path / "nowhere" / "model.vst")
