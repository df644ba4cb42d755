"""The front page says what the results say, also when a stored result changes."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup

from vst.companion.experiments import REGRESSION, experiment, obtain
from vst.companion.paper import ARTEFACTS
from vst.companion.paper.claims import CLAIMS, Judgement, Verdict, verdicts
from vst.companion.paper.evidence import Evidence
from vst.companion.report import claims, landing, regression

ROOT = Path(__file__).parents[2]
NOTHING = pd.DataFrame(columns=["model", "dataset", "fold", "log_likelihood", "rmse", "auroc"])


def parsed(html):
    return BeautifulSoup(html.text, "html.parser")


def text(html):
    return parsed(html).get_text()


def all_verdicts(**holds):
    return [
        Verdict(claim, None, Judgement(holds.get(claim.id.replace("-", "_"), "holds"), ""))
        for claim in CLAIMS
    ]


@pytest.fixture
def stored(monkeypatch, tmp_path):
    """A copy of the published regression results, and what the front page reads from it."""
    copy = tmp_path / "regression"
    shutil.copytree(ROOT / "data" / "results" / "regression", copy)
    monkeypatch.setattr(experiment, "directories", lambda name, profile: [tmp_path / name])
    return copy


def test_the_headline_counts_log_likelihoods_without_rounded_targets_too(stored):
    before = sentences()["headline"]
    of_vst = re.search(
        r"better log-likelihood \((\d+) of 10 data sets, (\d+) of 9 without wine", before
    )
    assert of_vst
    change_in = stored / "wine.csv"
    rows = pd.read_csv(change_in, dtype={"key": str})
    rows.loc[rows["model"].isin(["vst-const", "vst-linear"]), "log_likelihood"] = -9.0
    rows.to_csv(change_in, index=False)
    after = sentences()["headline"]
    assert f"({int(of_vst[1]) - 1} of 10 data sets, {of_vst[2]} of 9 without wine" in after


def change(copy, models, column, by):
    """Add a number to some models' scores in all files."""
    for path in copy.glob("*.csv"):
        rows = pd.read_csv(path, dtype={"key": str})
        rows.loc[rows["model"].isin(models), column] += by
        rows.to_csv(path, index=False)


def sentences():
    """The sentences of the front page and of the regression chapter."""
    results = obtain(REGRESSION, "paper").results
    found = verdicts(Evidence(regression=results))
    return {
        "headline": text(landing.headline(found, results)),
        "scoreboard": text(claims.scoreboard(found)),
        "cards": text(landing.cards(found)),
        "failed": text(claims.failed(found)),
        "conclusion": regression.conclusion(results).text,
    }


def test_sentences_follow_a_stored_log_likelihood(stored):
    before = sentences()
    change(stored, ["vsgbm-const", "vsgbm-linear"], "log_likelihood", +50)
    after = sentences()
    assert "VSGBM's best log-likelihood (10 of 10 data sets" in after["headline"]
    assert "10 of 10" not in before["headline"]
    change(stored, ["vsgbm-const", "vsgbm-linear"], "log_likelihood", -100)
    worse = sentences()
    assert "VSGBM's best log-likelihood (0 of 10 data sets" in worse["headline"]
    assert "VSGBM** reaches the paper's log-likelihood on 0 of" in worse["conclusion"]
    assert "VSGBM has the best log-likelihood on 7 of 10" in worse["failed"]
    assert "VSGBM has the best log-likelihood on 7 of 10" not in after["failed"]


def test_sentences_follow_a_stored_auroc(stored):
    before = sentences()
    change(stored, ["vst-const", "vst-linear", "vsgbm-const", "vsgbm-linear"], "auroc", +1)
    after = sentences()
    assert "VST's better detection of OOD rows (10 of 10 data sets" in after["headline"]
    assert "VSGBM's best detection of OOD rows (10 of 10 data sets" in after["headline"]
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"headline", "scoreboard", "cards", "failed"}
    assert "OOD" in before["failed"]
    assert "OOD" not in after["failed"]


def test_the_headline_sorts_its_findings_by_verdict():
    found = all_verdicts(vst_ood="fails", vsgbm_ood="fails", vsgbm_likelihood="partly")
    said = text(landing.headline(found, NOTHING))
    assert said.endswith(
        "VST's better log-likelihood holds; VSGBM's best log-likelihood holds in part; VST's better "
        "detection of OOD rows and VSGBM's best detection of OOD rows do not hold."
    )
    assert f"of its {len(CLAIMS)} claims that can be tested" in said


def test_claims_that_cannot_be_tested_are_not_counted():
    found = all_verdicts(vsgbm_likelihood="undecided", vst_ood="fails")
    said = text(landing.headline(found, NOTHING))
    number = len(CLAIMS) - 1
    assert f"of its {number} claims that can be tested, {number - 1} hold, 0 hold in part" in said
    assert "and 1 does not hold here" in said
    assert "VSGBM's best log-likelihood cannot be tested" in said


def test_the_headline_is_one_sentence_whose_findings_lead_to_their_claims():
    page = parsed(landing.headline(all_verdicts(), NOTHING))
    assert page.get_text().count(".") == 1
    links = {link["href"].removeprefix("claims.html#claim-") for link in page.select("a")}
    assert links == {one.claim for one in landing.FINDINGS} <= {claim.id for claim in CLAIMS}


def test_every_chapter_has_a_card_with_its_title():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text())
    files = [entry["file"] for part in contents["parts"] for entry in part["chapters"]]
    assert [f"book/{card.chapter}" for card in landing.CARDS] == [
        file for file in files if file != "book/references"
    ]
    for card in landing.CARDS:
        (source,) = (ROOT / "book").glob(f"{card.chapter}.*")
        assert f"# {card.title}" in source.read_text()


def test_a_card_leads_to_what_its_chapter_rebuilds_and_counts_its_claims():
    page = parsed(landing.cards(all_verdicts(vst_ood="fails")))
    cards = {card.a["href"]: card for card in page.select(".chapter-card")}
    table = cards["ood.html"].select_one("p a")
    assert (table.get_text(), table["href"]) == ("Table 2", "ood.html#the-paper-s-table-2")
    found = [mark.get_text() for mark in cards["ood.html"].select(".verdict")]
    assert found == ["1 reproduced", "1 not reproduced"]
    assert f"{len(CLAIMS) - 1} reproduced" in cards["claims.html"].get_text()
    assert cards["cost.html"].select(".verdict") == []
    assert set(landing.PLACES) == {artefact.id for artefact in ARTEFACTS}
