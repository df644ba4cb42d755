from io import StringIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from scipy.stats import norm

from vst.companion.experiments import own_data as experiment
from vst.companion.experiments.own_data import OwnFit, coverage, pit
from vst.companion.report import own_data
from vst.companion.report.tables import Markdown, MarkdownTable
from vst.errors import UserError
from vst.tables import load_table


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files with the same columns; the second one lies far away from the first."""
    rng = np.random.default_rng(0)
    directory = tmp_path_factory.mktemp("tables")
    frame = pd.DataFrame(
        {"size": rng.normal(size=120), "town": rng.choice(["north", "south"], 120)}
    )
    frame["price"] = 50 + 5 * frame["size"] + 3 * (frame["town"] == "north") + rng.normal(size=120)
    frame.to_csv(directory / "homes.csv", index=False)
    frame.assign(size=frame["size"] + 15).to_csv(directory / "castles.csv", index=False)
    return directory


@pytest.fixture(scope="module")
def held(files):
    return experiment.hold_out(str(files / "homes.csv"), "price")


@pytest.fixture(scope="module")
def fits(held):
    return experiment.fit_both(held, depth=1, members=1, steps=1500)


def test_held_out_rows_are_a_fifth_and_not_among_the_others(held):
    assert (len(held.y_train), len(held.y_test)) == (96, 24)
    assert set(held.y_train) & set(held.y_test) == set()
    np.testing.assert_array_equal(
        sorted([*held.y_train, *held.y_test]), sorted(held.dataset.y.to_numpy())
    )


def test_without_a_file_the_bundled_table_is_used():
    assert experiment.hold_out().dataset.name == experiment.EXAMPLE


def test_half_an_answer_and_tiny_tables_are_refused(files, tmp_path):
    with pytest.raises(UserError, match="table was given without target"):
        experiment.hold_out("homes.csv")
    with pytest.raises(UserError, match="target was given without table"):
        experiment.hold_out(target="price")
    pd.read_csv(files / "homes.csv").head(20).to_csv(tmp_path / "few.csv", index=False)
    with pytest.raises(UserError, match="has 20 rows: at least 30"):
        experiment.hold_out(str(tmp_path / "few.csv"), "price")


def test_both_models_beat_the_mean_in_the_targets_units(held, fits):
    frame = own_data.score_table(held, fits).frame.set_index("model")
    errors = frame["RMSE"].astype(float)
    assert errors["VST+"] < 0.6 * errors["no features"]
    assert errors["VSGBM+"] < 0.6 * errors["no features"]
    assert errors["no features"] == pytest.approx(
        np.sqrt(np.mean((held.y_test - held.y_train.mean()) ** 2)), rel=0.01
    )


def test_rows_far_away_are_found(held, fits, files):
    others, words = experiment.other_rows(held, str(files / "castles.csv"))
    assert words == "the 120 rows of castles.csv"
    assert list(others.columns) == ["size", "town"]
    figure = own_data.outside(held, fits, others)
    for axis in figure.axes:
        assert float(axis.get_title(loc="left").split()[-1]) > 0.9


def test_shuffled_rows_keep_every_columns_values(held):
    others, words = experiment.other_rows(held)
    assert "shuffled" in words
    for name in held.x_test:
        assert sorted(others[name]) == sorted(held.x_test[name])
    assert not others.equals(held.x_test)


def test_a_second_file_needs_the_same_columns(held, tmp_path):
    pd.DataFrame({"size": [1.0, 2.0], "color": ["red", "blue"]}).to_csv(
        tmp_path / "cars.csv", index=False
    )
    with pytest.raises(UserError, match="has no column town"):
        experiment.other_rows(held, str(tmp_path / "cars.csv"))


def test_pit_and_coverage_of_the_right_distribution_are_even():
    y = norm.ppf((np.arange(1000) + 0.5) / 1000)
    right = OwnFit("vst-plus", None, SimpleNamespace(cdf=norm.cdf), 0.0)
    levels = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(coverage(pit(right, y), levels), levels, atol=0.002)
    wide = OwnFit("vst-plus", None, SimpleNamespace(cdf=lambda y: norm.cdf(y / 2)), 0.0)
    assert (coverage(pit(wide, y), levels) > levels + 0.05).all()


def test_coverage_is_that_of_the_intervals(held, fits):
    for fit in fits:
        lower, upper = fit.predicted.interval(0.8)
        inside = np.mean((lower <= held.y_test) & (held.y_test <= upper))
        assert coverage(pit(fit, held.y_test), np.array([0.8]))[0] == pytest.approx(inside)


def test_figures_have_a_panel_per_model(held, fits):
    assert len(own_data.fit_figure(held, fits).axes) == 2
    assert len(own_data.intervals(held, fits, rows=10).axes) == 2
    *histograms, curves = own_data.calibration(held, fits, bins=5).axes
    assert [axis.get_title(loc="left") for axis in histograms] == ["VST+: PIT", "VSGBM+: PIT"]
    for axis in histograms:
        heights = [bar.get_height() for bar in axis.containers[0]]
        assert np.mean(heights) == pytest.approx(1)
    assert len(curves.lines) == 3


def test_feature_bars_are_shares_of_all_features(held, fits):
    (axis,) = own_data.features(held, fits).axes
    assert {text.get_text() for text in axis.get_yticklabels()} == {
        "size", "town=north", "town=south",
    }  # fmt: skip
    for bars in axis.containers:
        assert sum(bar.get_width() for bar in bars) == pytest.approx(1)


def test_the_drawn_tree_has_every_gate_and_leaf(held, fits):
    (axis,) = own_data.learned_tree(held, fits[0]).axes
    gate, *leaves = [text.get_text() for text in axis.texts]
    assert len(gate.splitlines()) == 2
    assert len(leaves) == 2
    assert sum(int(leaf.splitlines()[0].rstrip("%")) for leaf in leaves) == pytest.approx(
        100, abs=1
    )
    assert len(axis.lines) == 2


def test_the_calibration_table_names_what_chance_does_not_explain(held, fits):
    frame = own_data.calibration_table(held, fits).frame
    assert list(frame.columns) == ["model", "50% intervals", "80% intervals", "95% intervals"]
    assert frame["model"].tolist() == ["VST+", "VSGBM+"]
    assert "`price`" in own_data.introduction(held).text


def test_gaps_are_named_before_anything_is_fitted(held, files, tmp_path):
    frame = pd.read_csv(files / "homes.csv")
    for column, fill in (("town", r"'missing'"), ("size", r"df\['size'\]\.median")):
        path = tmp_path / "gaps.csv"
        frame.assign(**{column: frame[column].where(frame.index > 6)}).to_csv(path, index=False)
        message = (
            rf"column '{column}' of gaps(\.csv)? is missing .* in 7 of 120 rows: .*fillna\({fill}"
        )
        with pytest.raises(UserError, match=message):
            experiment.hold_out(str(path), "price")
        with pytest.raises(UserError, match=message):
            experiment.other_rows(held, str(path))


def test_a_second_file_needs_no_numbers_but_rows_without_codes(files, tmp_path):
    towns = pd.read_csv(files / "homes.csv")[["town", "price"]]
    towns.to_csv(tmp_path / "towns.csv", index=False)
    held = experiment.hold_out(str(tmp_path / "towns.csv"), "price")
    towns[["town"]].to_csv(tmp_path / "other.csv", index=False)
    assert len(experiment.other_rows(held, str(tmp_path / "other.csv"))[0]) == 120
    (tmp_path / "other.csv").write_text("town\n")
    with pytest.raises(UserError, match="no rows"):
        experiment.other_rows(held, str(tmp_path / "other.csv"))
    (tmp_path / "other.csv").write_text("town\n1\n?\n")
    with pytest.raises(UserError, match=r"'town' of .* holds numbers, but"):
        experiment.other_rows(held, str(tmp_path / "other.csv"))


def rendered(shown):
    """What a reader sees of a piece of a page, and its tags."""
    html = MarkdownIt("commonmark").enable("table").render(shown._repr_markdown_())
    page = BeautifulSoup(html, "html.parser")
    return page.get_text(), {tag.name for tag in page.find_all()}


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a`<b>`c", "x*y*_z_ [a](b) $q$",
     "<!-- gone", "&lt;", "\\<i>", "a|b"],
)  # fmt: skip
def test_names_of_files_and_columns_are_shown_as_they_are(name, files):
    frame = pd.read_csv(files / "homes.csv")
    data = load_table(frame.rename(columns={"price": name}), target=name, name=name)
    held = SimpleNamespace(dataset=data, y_test=frame["price"])
    text, tags = rendered(own_data.introduction(held))
    assert text.count(name) == 2
    assert tags <= {"p", "em", "code"}


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a`<b>`c", "<!-- gone", "</td><p>"])
def test_tags_in_tables_and_paragraphs_are_text(name):
    table = MarkdownTable(pd.DataFrame({"data set": [name], name: ["[link](page)"]}))
    assert rendered(table)[1] <= {"table", "thead", "tbody", "tr", "th", "td", "a", "code"}
    assert rendered(Markdown(f"Rows of {name}."))[1] <= {"p", "code"}


def test_any_column_name_can_be_drawn(tmp_path):
    rng = np.random.default_rng(0)
    names = {"cost $a_$ b": rng.normal(size=40), "a=u": rng.normal(size=40), "a": ["u", "v"] * 20}
    path = tmp_path / "odd.csv"
    pd.DataFrame(names | {"$y_$": rng.normal(size=40)}).to_csv(path, index=False)
    held = experiment.hold_out(str(path), "$y_$")
    fits = experiment.fit_both(held, depth=1, members=1, steps=2)
    figures = [
        own_data.fit_figure(held, fits),
        own_data.intervals(held, fits),
        own_data.features(held, fits),
        own_data.learned_tree(held, fits[0]),
    ]
    for figure in figures:
        figure.savefig(StringIO(), format="svg")
    shown = {text.get_text() for text in figures[2].axes[0].get_yticklabels()}
    assert shown == {"cost $a_$ b", "a=u", "a=u (2)", "a=v"}
