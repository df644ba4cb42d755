import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from scipy.stats import norm

from vst import VSTRegressor, VSTRegressorCV
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
def mixture(held):
    return experiment.fit(held, VSTRegressorCV(effort=0.1))


@pytest.fixture(scope="module")
def tree(held):
    return experiment.fit(held, VSTRegressor(depth=1, steps=1500))


@pytest.fixture(scope="module")
def fits(mixture, tree):
    return [mixture, tree]


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
    assert list(frame.index) == ["VSTRegressorCV", "VSTRegressor", "no features"]
    errors = frame["RMSE"].astype(float)
    assert (errors[["VSTRegressorCV", "VSTRegressor"]] < 0.6 * errors["no features"]).all()
    assert errors["no features"] == pytest.approx(
        np.sqrt(np.mean((held.y_test - held.y_train.mean()) ** 2)), rel=0.01
    )


def test_scores_are_those_of_the_predictive_distribution(held, mixture):
    found, d, y = own_data.scores(held, mixture), mixture.predicted, held.y_test
    assert found.rmse == pytest.approx(np.sqrt(np.mean((d.mean - y) ** 2)))
    assert found.log_likelihood == pytest.approx(d.log_prob(y).mean())
    low, high = d.quantile(0.05), d.quantile(0.95)
    assert found.inside == pytest.approx(np.mean((low <= y) & (y <= high)))
    assert found.width == pytest.approx(np.mean(high - low), rel=1e-3)


def invented(held, error, scale):
    """A fit whose predictions all miss by ``error`` and have this scale."""
    d = norm(held.y_test + error, scale)
    predicted = SimpleNamespace(mean=d.mean(), log_prob=d.logpdf, interval=d.interval, cdf=d.cdf)
    return OwnFit(VSTRegressorCV(), predicted, 0.0)


@pytest.mark.parametrize(
    ("error", "scale", "compared", "inside", "judged"),
    [
        (0.0, 1.0, "100% less than", "100%", "the intervals are too wide"),
        (1000.0, 1.0, "no less than", "0%", "the intervals are too narrow"),
        (np.where(np.arange(240) % 10 == 0, 9.0, 0.0), 1.0, "% less than", "90%", "as expected"),
    ],
)
def test_the_answer_compares_and_judges(held, error, scale, compared, inside, judged):
    held = replace(held, y_test=np.tile(held.y_test, 10))
    text = own_data.answer(held, invented(held, error, scale)).text
    bold = text.split("**")[1]
    assert "predictions of `price`" in bold
    assert f"{compared} without the features" in bold
    assert bold.endswith(f"hold {inside} of the targets: {judged}.")
    assert text.endswith(own_data.introduction(held).text)


def test_the_answers_errors_are_those_of_the_table(held, fits):
    bold = own_data.answer(held, fits[0]).text.split("**")[1]
    errors = own_data.score_table(held, fits).frame.set_index("model")["RMSE"]
    assert f"error of {errors['VSTRegressorCV']}, " in bold
    assert f"({errors['no features']})" in bold


def test_the_choice_table_has_every_candidate_by_weight(mixture):
    frame = own_data.choice_table(mixture).frame
    weights = mixture.model.weights_
    assert frame["candidate"].tolist() == list(weights.index)
    assert frame["weight"].tolist() == [f"{weight:.0%}" for weight in weights]


def chosen(weights, log_likelihoods, scale=1.0):
    """A fit of candidates a, b, ... with these weights and scores of the standardised target."""
    model = VSTRegressorCV()
    model.cv_results_ = {
        "candidate": list("abcd")[: len(weights)],
        "weight": weights,
        "log_likelihood": log_likelihoods,
        "rmse": [0.5] * len(weights),
    }
    model.target_scale_ = scale
    return OwnFit(model, None, 0.0)


def test_scores_of_candidates_are_in_the_targets_units():
    frame = own_data.choices(chosen([0.2, 0.8], [0.0, 1.0], scale=10.0))
    assert frame["candidate"].tolist() == ["b", "a"]
    # A Normal's log density at its mean falls by log 10 when its scale is ten times as large.
    fall = norm.logpdf(0, scale=10) - norm.logpdf(0)
    np.testing.assert_allclose(frame["log_likelihood"], [1 + fall, fall])
    np.testing.assert_allclose(frame["rmse"], 5)


def test_the_best_candidate_is_named_if_another_has_the_most_weight():
    agreed = own_data.choice(chosen([0.3, 0.7, 0.0], [0.0, 1.0, -1.0])).text
    assert "2 of 3 candidates are in the mixture" in agreed
    assert "*b* got the most weight, 70%, and has the highest log-likelihood alone" in agreed
    other = own_data.choice(chosen([0.3, 0.7], [1.0, 0.0])).text
    assert "*b* got the most weight, 70%, although *a* has a higher log-likelihood alone" in other
    assert own_data.choice(chosen([0.0, 1.0], [0.0, 1.0])).text.startswith("*b* got all the weight")


def test_without_a_choice_there_are_no_scores_to_show():
    fit = chosen([1.0], [0.0])
    fit.model.cv_results_ = {"candidate": ["tree"], "weight": [1.0]}
    assert list(own_data.choice_table(fit).frame.columns) == ["candidate", "weight"]
    assert "too few rows to leave some out: the model is *tree* alone" in own_data.choice(fit).text


def test_a_tree_does_not_choose_and_a_mixture_is_not_drawn(held, fits):
    mixture, tree = fits
    with pytest.raises(TypeError, match="VSTRegressor does not choose"):
        own_data.choice_table(tree)
    for draw in (own_data.features, own_data.learned_tree):
        with pytest.raises(TypeError, match="VSTRegressorCV has no single tree"):
            draw(held, mixture)


def test_bad_parameters_are_refused_in_a_sentence(held):
    with pytest.raises(ValueError, match="effort must be a positive number, got 0"):
        experiment.fit(held, VSTRegressorCV(effort=0))
    with pytest.raises(ValueError, match="depth must be"):
        experiment.fit(held, VSTRegressor(depth=-1))


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
    right = OwnFit(None, SimpleNamespace(cdf=norm.cdf), 0.0)
    levels = np.array([0.1, 0.5, 0.9])
    np.testing.assert_allclose(coverage(pit(right, y), levels), levels, atol=0.002)
    wide = OwnFit(None, SimpleNamespace(cdf=lambda y: norm.cdf(y / 2)), 0.0)
    assert (coverage(pit(wide, y), levels) > levels + 0.05).all()


def test_coverage_is_that_of_the_intervals(held, fits):
    for fit in fits:
        lower, upper = fit.predicted.interval(0.8)
        inside = np.mean((lower <= held.y_test) & (held.y_test <= upper))
        assert coverage(pit(fit, held.y_test), np.array([0.8]))[0] == pytest.approx(inside)


def test_figures_have_a_panel_per_model(held, fits):
    assert len(own_data.fit_figure(held, fits).axes) == 2
    assert len(own_data.rows_figure(held, fits, rows=10).axes) == 2
    *histograms, curves = own_data.calibration(held, fits, bins=5).axes
    assert [axis.get_title(loc="left") for axis in histograms] == [
        "VSTRegressorCV: PIT", "VSTRegressor: PIT",
    ]  # fmt: skip
    for axis in histograms:
        heights = [bar.get_height() for bar in axis.containers[0]]
        assert np.mean(heights) == pytest.approx(1)
    assert len(curves.lines) == 3
    assert len({(line.get_color(), line.get_linestyle()) for line in curves.lines}) == 3
    assert len({line.get_linestyle() for line in curves.lines}) == 3


def test_feature_bars_are_shares_of_all_features(held, tree):
    (axis,) = own_data.features(held, tree).axes
    assert {text.get_text() for text in axis.get_yticklabels()} == {
        "size", "town=north", "town=south",
    }  # fmt: skip
    widths = [bar.get_width() for bar in axis.patches]
    assert sum(widths) == pytest.approx(1)
    assert widths == sorted(widths, reverse=True)


def test_the_drawn_tree_has_every_gate_and_leaf(held, tree):
    (axis,) = own_data.learned_tree(held, tree).axes
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
    assert frame["model"].tolist() == ["VSTRegressorCV", "VSTRegressor"]
    assert "`price`" in own_data.introduction(held).text


def test_rows_with_gaps_are_kept(held, files, tmp_path):
    frame = pd.read_csv(files / "homes.csv")
    for column in ("town", "size"):
        path = tmp_path / "gaps.csv"
        frame.assign(**{column: frame[column].where(frame.index > 6)}).to_csv(path, index=False)
        assert experiment.hold_out(str(path), "price").dataset.n == len(frame)
        assert len(experiment.other_rows(held, str(path))[0]) == len(frame)


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
    tree = experiment.fit(held, VSTRegressor(depth=1, steps=2))
    figures = [
        own_data.fit_figure(held, [tree]),
        own_data.rows_figure(held, [tree]),
        own_data.features(held, tree),
        own_data.learned_tree(held, tree),
    ]
    for figure in figures:
        figure.savefig(StringIO(), format="svg")
    shown = {text.get_text() for text in figures[2].axes[0].get_yticklabels()}
    assert shown == {"cost $a_$ b", "a=u", "a=u (2)", "a=v"}


def test_the_chapters_model_is_the_one_that_chooses():
    root = Path(__file__).parents[2]
    cells = nbformat.read(root / "book" / "own_data.ipynb", as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    assert "experiment.first_model(held, effort, seed)" in code
    held = experiment.hold_out()
    assert isinstance(experiment.first_model(held, 0.3, 0), VSTRegressorCV)
    assert re.search(r"^effort: float = [\d.]+  # \w+", code, re.MULTILINE)
    assert not re.search(r"VST\+|VSGBM\+", "".join(cell.source for cell in cells))
