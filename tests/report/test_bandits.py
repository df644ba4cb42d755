"""What the bandit chapter says follows from the runs."""

from dataclasses import replace

import pandas as pd

from vst.companion.bandits import AGENTS
from vst.companion.bandits.agents import parameters
from vst.companion.experiments import Obtained
from vst.companion.experiments.cells import as_text
from vst.companion.report import bandits as report

STEPS = 1000


def made_up(regrets):
    """Runs whose regret is given, two seeds each; it grows evenly."""
    runs, histories = [], []
    for (model, bandit), regret in regrets.items():
        for seed in (0, 1):
            key = f"{model}-{bandit}-{seed}"
            total = regret + seed
            runs.append(
                {
                    "key": key, "dataset": bandit, "model": model, "seed": seed, "steps": STEPS,
                    "regret": total, "random_regret": 1000.0, "seconds": 3.0,
                    "parameters": as_text({"agent": parameters(AGENTS[model])}),
                }
            )  # fmt: skip
            histories += [
                {"key": key, "step": step, "regret": total * step / STEPS}
                for step in range(10, STEPS + 1, 10)
            ]
    choices = pd.DataFrame(columns=["key", "period", "bin", "arm", "pulls"])
    return Obtained(
        results=pd.DataFrame(runs),
        parts={"histories": pd.DataFrame(histories), "choices": choices},
        datasets=list({bandit: 0 for _, bandit in regrets}),
        models=list({model: 0 for model, _ in regrets}),
        missing=0,
        absent=[],
    )


def column(table, name, by="agent"):
    return table.frame.set_index(by)[name]


def test_the_table_has_the_papers_number_ours_and_the_share_of_random():
    regrets = {("random", "financial"): 999.5, ("vst", "financial"): 249.5}
    table = report.regret_table(made_up(regrets)).frame.set_index("agent")
    ours = table["financial"]
    assert ours["VST"] == "**250.0 ± 0.7** (25.0%)"
    assert ours["Random policy"] == "1000.0 ± 0.7 (100.0%)"
    assert "SGLB" not in ours
    assert ours["VST, paper"] == "**357.5 ± 34.3** (21.3%)"
    assert table["mushroom"]["SGLB, paper"] == "doesn't work"


def test_time_is_per_thousand_steps():
    loaded = made_up({("random", "mushroom"): 1000, ("lints", "mushroom"): 10})
    assert column(report.time_table(loaded), "mushroom")["LinTS"] == "3.00"


def test_the_random_policy_is_compared_with_the_papers():
    loaded = made_up({("random", "financial"): 1681.5, ("random", "mushroom"): 35825.1})
    text = report.random_agreement(loaded).text
    assert "*financial*: 1,682.0, within two error bars" in text
    assert "not within two error bars of the paper's 1,791.28, 20 times as much" in text


def test_what_is_missing_is_said():
    loaded = made_up({("random", "mushroom"): 1000})
    assert "not there yet" not in report.availability(loaded).text
    text = report.availability(replace(loaded, missing=7, absent=["jester"])).text
    assert "**7 more are not there yet**" in text
    assert "*jester* is not on this machine" in text


def test_figures_have_a_panel_per_bandit_and_a_line_per_agent():
    regrets = {("random", "mushroom"): 1000, ("vst", "mushroom"): 10, ("random", "jester"): 1000}
    for figure in (report.cumulative_regret, report.instantaneous_regret):
        axes = figure(made_up(regrets)).axes
        assert [axis.get_title(loc="left") for axis in axes] == ["mushroom", "jester"]
        assert {line.get_label() for line in axes[0].lines} >= {"Random policy", "VST"}


def test_the_picture_of_choices_has_a_row_per_agent_and_a_column_per_quarter():
    loaded = made_up({("random", "exploration"): 1000, ("vst", "exploration"): 10})
    lines = [
        {"key": f"{model}-exploration-0", "period": period, "bin": 3, "arm": arm, "pulls": 5}
        for model in ("random", "vst")
        for period in range(4)
        for arm in (0, 2)
    ]
    parts = loaded.parts | {"choices": pd.DataFrame(lines)}
    axes = report.explored(replace(loaded, parts=parts)).axes[:8]
    picture = axes[0].images[0].get_array()
    assert picture.shape == (3, 40)
    assert picture[:, 3].tolist() == [0.5, 0.0, 0.5]
    assert picture.sum() == 1.0


def test_the_picture_of_exploration_says_so_where_its_bandit_did_not_run():
    (text,) = report.explored(made_up({("vst", "mushroom"): 10})).texts
    assert "not selected" in text.get_text()


def test_the_settings_are_those_of_the_runs():
    loaded = made_up({("vst", "mushroom"): 10, ("sglb", "mushroom"): 20, ("random", "mushroom"): 9})
    settings = column(report.settings_table(loaded), "settings")
    assert list(settings.index) == ["VST", "SGLB"]
    for words in ("depth 1", "beta 5.0", "steps 2000", "update_every 50", "steps_per_update 200"):
        assert words in settings["VST"]
    assert "members 3" in settings["SGLB"]


def test_a_tree_without_gates_is_called_what_it_is():
    loaded = made_up({("vst", "mushroom"): 10, ("vst", "jester"): 20})
    assert report.flat_note(loaded).text == ""
    results = loaded.results.copy()
    at = results["dataset"] == "jester"
    flat = parameters(AGENTS["vst"])
    flat["tree"]["depth"] = 0
    results.loc[at, "parameters"] = as_text({"agent": flat})
    assert "On *jester* the VST that was chosen has depth 0" in (
        report.flat_note(replace(loaded, results=results)).text
    )


def test_the_chosen_trials_are_those_with_the_least_regret():
    frame = report.trials_table().frame
    for bandit in ("exploration", "mushroom"):
        cells = frame.groupby("agent", sort=False)[bandit].agg(list)
        for agent, ratios in cells.items():
            assert ratios.count("**1.00**") == 1, agent
            assert all(float(ratio.strip("*")) >= 1 for ratio in ratios)
