import io
import json
import pickle
import zipfile
from functools import partial

import numpy as np
import pandas as pd
import pytest
from models import BOTH, CHOOSING, JOINT, NOISE_TREE, VST, matrix, name, table
from sklearn.base import clone

from vst import VSGBMRegressor, VSTRegressor, VSTRegressorCV, storage

both = pytest.mark.parametrize("model", BOTH, ids=name)


@pytest.mark.parametrize("model", [*BOTH, JOINT, NOISE_TREE], ids=name)
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


@pytest.mark.parametrize("make", [matrix, table])
def test_a_saved_mixture_predicts_as_before(make, rng, tmp_path):
    x, y = make(rng)
    fitted = clone(CHOOSING).fit(x, y)
    fitted.save(tmp_path / "model.vst")
    loaded = VSTRegressorCV.load(tmp_path / "model.vst")
    np.testing.assert_array_equal(
        fitted.predict_dist(x).log_prob(y), loaded.predict_dist(x).log_prob(y)
    )
    assert loaded.summary() == fitted.summary()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"stretch_weights": [-0.5]}, "a part's stretch_weights are"),
        ({"beta": float("inf")}, "a part's beta is not a finite number"),
        ({"members": 0}, "its members is 0"),
        ({"extra": 1}, "part of the mixture 'extra' is unknown"),
    ],
)
def test_a_damaged_mixture_is_refused(change, reason, rng, tmp_path):
    x, y = matrix(rng)
    clone(CHOOSING).set_params(effort=0.01).fit(x, y).save(tmp_path / "model.vst")
    with np.load(tmp_path / "model.vst", allow_pickle=False) as arrays:
        content = dict(arrays)
    description = json.loads(str(content["description"]))
    description["parts"][0] |= change
    content["description"] = np.array(json.dumps(description))
    with open(tmp_path / "damaged.vst", "wb") as file:
        np.savez_compressed(file, allow_pickle=False, **content)
    with pytest.raises(ValueError, match=reason):
        VSTRegressorCV.load(tmp_path / "damaged.vst")


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
    with pytest.raises(FileNotFoundError, match="nowhere is not a directory"):
        model.save(tmp_path / "nowhere" / "model.vst")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A saved model of each class, as bytes by the class's name."""
    rng = np.random.default_rng(0)
    found = {}
    for model in BOTH:
        path = tmp_path_factory.mktemp("models") / "model.vst"
        options = {"steps": 5, "members": 2, "whiten": True}
        clone(model).set_params(**options).fit(*table(rng)).save(path)
        found[name(model)] = path.read_bytes()
    return found


def contents(data):
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    return json.loads(str(arrays.pop("description"))), arrays


def written(path, description, arrays):
    np.savez_compressed(path, description=np.array(json.dumps(description)), **arrays)
    return path.with_name(path.name + ".npz")


def same(model, other):
    return all(
        np.array_equal(a, b)
        for a, b in zip(
            (*model.stacked_posteriors_, *model.standardiser_, model.elbo_),
            (*other.stacked_posteriors_, *other.standardiser_, other.elbo_),
            strict=True,
        )
    ) and (model.get_params(), model.shape_) == (other.get_params(), other.shape_)


@both
def test_any_flipped_bit_is_noticed_or_changes_nothing(model, files, rng, tmp_path):
    path, data = tmp_path / "model.vst", files[name(model)]
    path.write_bytes(data)
    whole, refused = type(model).load(path), []
    for bit in rng.choice(8 * len(data), 200, replace=False):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        path.write_bytes(flipped)
        try:
            assert same(type(model).load(path), whole)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all(message.startswith(str(path)) for message in refused)


@both
def test_a_file_cut_off_anywhere_is_refused(model, files, rng, tmp_path):
    path, data = tmp_path / "model.vst", files[name(model)]
    for length in (0, 1, 4, 22, *rng.integers(0, len(data), 100), len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(ValueError, match=r"damaged .*copy the file again, or fit and save"):
            type(model).load(path)


def test_files_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "model.vst"
    for data in (b"", b"a,b\n1,2\n", pickle.dumps({"a": 1})):
        path.write_bytes(data)
        with pytest.raises(ValueError, match="not a model saved by vst"):
            VSTRegressor.load(path)
    with pytest.raises(ValueError, match="is a directory"):
        VSTRegressor.load(tmp_path)


def put(place, value):
    """A change of the description: ``place`` is a path of keys."""

    def change(description, arrays):
        *groups, last = place.split("/")
        for group in groups:
            description = description[group]
        description[last] = value

    return change


def drop(place):
    def change(description, arrays):
        *groups, last = place.split("/")
        for group in groups:
            description = description[group]
        del description[last]

    return change


def array(key, function):
    def change(description, arrays):
        arrays[key] = function(arrays.get(key))

    return change


def without(key):
    return lambda description, arrays: arrays.pop(key)


def first(value, a):
    a = a.copy()
    a.flat[0] = value
    return a


WRONG = {
    "format 0": (put("format", 0), "format is 0"),
    "format -1": (put("format", -1), "format is -1"),
    "format 2": (put("format", 2), "has format 2, but this version reads up to 1: update vst"),
    "format text": (put("format", "1"), "format is '1'"),
    "format true": (put("format", True), "format is True"),
    "no format": (drop("format"), "format is None"),
    "model": (put("model", ["VSGBMRegressor"]), "does not name its model"),
    "part": (put("more", 1), "part 'more' is unknown"),
    "no part": (drop("shape"), "part 'shape' is missing"),
    "parameter": (put("params/evil", 1), "no parameter evil"),
    "parameter's value": (put("params/depth", -1), "depth must be"),
    "huge parameter": (put("params/beta", 10**400), "damaged"),
    "parameters": (put("params", 3), "damaged"),
    "random_state": (put("params/random_state", {"a": 1}), "random_state is not a seed"),
    "progress": (put("params/progress", "yes"), "progress"),
    "attribute": (put("numbers/predict", 1), "number 'predict' is unknown"),
    "no attribute": (drop("numbers/seed_"), "number 'seed_' is missing"),
    "target": (put("numbers/target_mean_", float("nan")), "target_mean_ is not a finite number"),
    "target's scale": (put("numbers/target_scale_", 0.0), "target_scale_ is not positive"),
    "seed": (put("numbers/seed_", "3"), "seed_ is not a seed"),
    "features": (put("numbers/n_features_in_", 7), "names and features differ"),
    "names": (put("feature_names", [1, 2, 3]), "name is not text"),
    "encoder": (put("encoder/categories", [None, ["a"], ["b"]]), "differ in features"),
    "no encoder": (put("encoder", None), "differ in features"),
    "encoder's columns": (
        put("encoder/columns", ["size"]),
        "the encoder has the wrong number of columns",
    ),
    "category": (put("encoder/categories", [None, [["a"]], None]), "neither text nor a number"),
    "deep": (put("shape/depth", 10**9), "which no machine can hold"),
    "another depth": (put("shape/depth", 3), "has shape"),
    "leaves": (put("shape/leaves", "odd"), "leaves must be"),
    "tree's part": (put("shape/more", 1), "damaged"),
    "members": (put("fitted/members", 3), "has shape"),
    "rank": (put("fitted/rank", 1), "has shape"),
    "large": (put("fitted/members", 10**12), "larger machine"),
    "rank above p": (put("fitted/rank", 10**6), "rank is larger"),
    "bool": (put("fitted/members", True), "members is True"),
    "NaN": (array("posterior.mean", partial(first, np.nan)), "posterior.mean holds"),
    "inf": (array("posterior.factor", partial(first, np.inf)), "posterior.factor holds"),
    "negative": (array("posterior.scale", partial(first, -1.0)), "posterior.scale holds"),
    "zero": (array("standardiser.scale", partial(first, 0.0)), "standardiser.scale holds"),
    "shape": (array("posterior.mean", lambda a: a[:1]), "has shape"),
    "fewer columns": (array("posterior.factor", lambda a: a[..., :1]), "has shape"),
    "rotation": (array("standardiser.rotation", lambda a: a[:2]), "has shape"),
    "integers": (array("elbo_", lambda a: a.astype(int)), "int64"),
    "unknown array": (array("more", lambda a: np.zeros(10**7)), "array 'more' is unknown"),
    "missing array": (without("elbo_"), "array 'elbo_' is missing"),
    "pickle": (array("elbo_", lambda a: np.array([{}], object)), "has shape|object"),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@both
def test_what_is_wrong_in_a_file_is_said(model, wrong, files, tmp_path):
    change, message = wrong
    description, arrays = contents(files[name(model)])
    change(description, arrays)
    path = written(tmp_path / "model.vst", description, arrays)
    with pytest.raises(ValueError, match=message) as error:
        type(model).load(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_a_relabelled_model_is_refused(files, tmp_path):
    for model, other in (BOTH, BOTH[::-1]):
        description, arrays = contents(files[name(model)])
        description["model"] = name(other)
        path = written(tmp_path / "model.vst", description, arrays)
        with pytest.raises(ValueError, match=r"no parameter|trees are not those of a VSGBM"):
            type(other).load(path)


def test_what_a_boosted_model_needs_is_needed(files, tmp_path):
    for key in ("thetas_", "noise_scales_"):
        description, arrays = contents(files["VSGBMRegressor"])
        kept = arrays.pop(key)
        with pytest.raises(ValueError, match=f"array '{key}' is missing"):
            VSGBMRegressor.load(written(tmp_path / "model.vst", description, arrays))
        description, arrays = contents(files["VSTRegressor"])
        path = written(tmp_path / "model.vst", description, arrays | {key: kept})
        with pytest.raises(ValueError, match=f"array '{key}' is unknown"):
            VSTRegressor.load(path)


def test_an_array_is_not_read_beyond_what_it_should_hold(files, tmp_path):
    """Neither one whose own header promises more, nor one with more behind it."""
    path = tmp_path / "model.vst"
    for more in (1, 2**22):
        with (
            zipfile.ZipFile(io.BytesIO(files["VSTRegressor"])) as old,
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
        ):
            for info in old.infolist():
                padding = bytes(more) if info.filename == "elbo_.npy" else b""
                new.writestr(info.filename, old.read(info) + padding)
        with pytest.raises(ValueError, match=r"elbo_\.npy does not have the size it declares"):
            VSTRegressor.load(path)


def test_a_long_description_is_not_read(files, tmp_path, monkeypatch):
    path = tmp_path / "model.vst"
    path.write_bytes(files["VSTRegressor"])
    monkeypatch.setattr(storage, "LONGEST", 1000)
    with pytest.raises(ValueError, match="description is too long"):
        VSTRegressor.load(path)
    with pytest.raises(ValueError, match="cannot be saved"):
        clone(VST).set_params(steps=5).fit(*matrix(np.random.default_rng(0))).save(path)


@both
def test_a_file_of_the_first_version_loads(model, files, tmp_path):
    """It does not repeat the sizes that the model was fitted with."""
    description, arrays = contents(files[name(model)])
    del description["fitted"]
    loaded = type(model).load(written(tmp_path / "model.vst", description, arrays))
    (tmp_path / "new.vst").write_bytes(files[name(model)])
    assert same(loaded, type(model).load(tmp_path / "new.vst"))


def test_a_seed_of_several_numbers_is_saved(rng, tmp_path):
    fitted = clone(VST).set_params(steps=5).fit(*matrix(rng))
    fitted.random_state, fitted.seed_ = [3, 4], [5, 2**32 - 1]
    fitted.save(tmp_path / "model.vst")
    loaded = VSTRegressor.load(tmp_path / "model.vst")
    assert (loaded.random_state, loaded.seed_) == ([3, 4], [5, 2**32 - 1])
    fitted.random_state = np.random.RandomState(0)
    fitted.save(tmp_path / "model.vst")
    assert VSTRegressor.load(tmp_path / "model.vst").random_state == [5, 2**32 - 1]
