import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from models import FAST

from vst import VSGBMRegressor, VSTRegressor
from vst.gates import feature_names, feature_use, gates, node_shares
from vst.tree import SoftTree, TreeShape


def table(rng, n=150):
    """Three features, of which the second decides which of two levels the target has."""
    x = rng.normal(size=(n, 3))
    return x, np.where(x[:, 1] > 0, 3.0, -3.0) + 0.1 * rng.normal(size=n)


@pytest.fixture
def fitted(rng):
    x, y = table(rng)
    return VSTRegressor(**FAST | {"depth": 1}, leaves="constant").fit(x, y), x


def test_the_gate_looks_at_the_feature_that_decides(fitted):
    model, x = fitted
    use = feature_use(model, x)
    assert use.index[0] == "1"
    assert use.iloc[0] > 0.6
    assert use.sum() == pytest.approx(1)


def test_shares_and_means_are_those_of_the_routed_rows(fitted):
    model, x = fitted
    (found,) = gates(model, x)
    assert found.shares == pytest.approx([1.0])
    right = np.mean(x[:, 1] > 0)
    shares = found.leaf_shares if found.weights[0, 1] > 0 else found.leaf_shares[::-1]
    np.testing.assert_allclose(shares, [1 - right, right], atol=0.1)
    means = model.target_mean_ + model.target_scale_ * found.leaf_means
    np.testing.assert_allclose(np.sort(means), [-3, 3], atol=0.5)


@pytest.mark.parametrize("whiten", [False, True])
def test_weights_of_a_turned_model_act_on_the_features_own_directions(whiten, rng):
    x, y = table(rng)
    x[:, 2] = x[:, 1] + 0.3 * rng.normal(size=len(x))
    model = VSTRegressor(**FAST, whiten=whiten).fit(x, y)
    (found,) = gates(model, x)
    z = (x - model.standardiser_.mean) / model.standardiser_.scale
    tree = SoftTree(model.shape_, model.posterior_.mean, model.beta_)
    turned = np.asarray(tree.affine[...])[: model.shape_.n_nodes, :3]
    assert not np.allclose(found.weights, turned, atol=0.1)
    np.testing.assert_allclose(
        z @ found.weights.T, model.standardiser_(x) @ turned.T, rtol=1e-3, atol=1e-4
    )


def test_every_tree_of_every_member_has_its_gates(rng):
    x, y = table(rng, n=60)
    model = VSGBMRegressor(**FAST | {"steps": 50}, n_trees=2, members=3).fit(x, y)
    found = gates(model, x)
    assert len(found) == 6
    for one in found:
        assert one.weights.shape == (3, 3)
        assert one.leaf_shares.sum() == pytest.approx(1, abs=1e-5)


def test_a_gates_share_is_that_of_its_children(rng):
    leaves = rng.dirichlet(np.ones(8))
    shares = np.concatenate([node_shares(TreeShape(1, 3), leaves), leaves])
    for i in range(7):
        assert shares[i] == pytest.approx(shares[2 * i + 1] + shares[2 * i + 2])
    assert len(node_shares(TreeShape(1, 0), np.ones(1))) == 0


def test_features_carry_the_names_of_their_columns(rng):
    x, y = table(rng)
    frame = pd.DataFrame({"a": x[:, 0], "town": np.where(x[:, 2] > 0, "n", "s")})
    model = VSTRegressor(**FAST | {"steps": 50}).fit(frame, y)
    assert feature_names(model) == ["a", "town=n", "town=s"]
    assert set(feature_use(model, frame).index) == set(feature_names(model))


def test_a_single_leaf_has_no_gates(rng):
    x, y = table(rng, n=60)
    model = VSTRegressor(**FAST | {"steps": 50, "depth": 0}).fit(x, y)
    np.testing.assert_array_equal(feature_use(model, x), 0)
    assert jnp.asarray(gates(model, x)[0].weights).shape == (0, 3)
