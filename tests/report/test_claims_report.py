from dataclasses import replace

import pytest
from bs4 import BeautifulSoup

from vst.companion.paper.claims import CLAIMS, WORDS, Judgement, Verdict, verdicts
from vst.companion.paper.evidence import Evidence
from vst.companion.report import claims


def parsed(html):
    return BeautifulSoup(html.text, "html.parser")


def a_verdict(holds="holds", paper=None, **changes):
    return Verdict(replace(CLAIMS[0], **changes), paper, Judgement(holds, "better 7"))


def test_the_scoreboard_counts_the_words():
    found = [a_verdict("holds"), a_verdict("fails"), a_verdict("fails")]
    text = claims.scoreboard(found).text
    assert "3 claims" in text
    assert "<b>2</b> not reproduced" in text
    assert "<b>0</b> partly reproduced" in text
    (tile,) = parsed(claims.scoreboard(found, "claims.html")).select("a.not-reproduced")
    assert tile["href"] == "claims.html#not-reproduced"


@pytest.mark.parametrize("holds", WORDS)
@pytest.mark.parametrize("show", [claims.browse, claims.of_chapter])
def test_a_shown_verdict_names_its_claim(show, holds):
    (mark,) = parsed(show([a_verdict(holds)])).select("[data-claim]")
    assert mark["data-claim"] == CLAIMS[0].id
    assert mark["class"] == ["verdict", WORDS[holds].replace(" ", "-")]
    assert mark.get_text() == WORDS[holds]


def test_every_claim_has_an_entry_among_all_and_in_its_chapter():
    found = verdicts(Evidence())
    assert len(parsed(claims.of_chapter(found)).select("details")) == len(CLAIMS)
    assert len(parsed(claims.browse(found)).select("details")) == len(CLAIMS)
    assert list(claims.frame(found)["id"]) == [claim.id for claim in CLAIMS]
    assert "-0.462" in claims.inconsistencies()._repr_markdown_()


def test_a_chapter_can_show_the_claims_of_one_figure():
    found = verdicts(Evidence(), "uncertainty")
    marks = parsed(claims.of_chapter(found, "figure 6")).select("[data-claim]")
    assert [mark["data-claim"] for mark in marks] == ["step-fit", "step-away", "step-everywhere"]


def test_a_chapter_shows_what_the_paper_says_the_rule_the_numbers_and_the_verdict():
    paper = Judgement("partly", "better 6")
    (entry,) = parsed(claims.of_chapter([a_verdict(paper=paper)])).select("details")
    facts = [fact.get_text() for fact in entry.select("dd")]
    assert facts[:3] == [CLAIMS[0].rule, "better 7", "partly: better 6"]
    assert CLAIMS[0].says in entry.summary.get_text()
    assert entry.select_one(".verdict").get_text() == "reproduced"
    (entry,) = parsed(claims.of_chapter([a_verdict()])).select("details")
    assert entry.select("dd")[2].get_text() == "prints none"


def test_a_box_begins_with_the_counts_of_its_verdicts():
    found = [a_verdict("holds", id="a"), a_verdict("fails", id="b"), a_verdict("fails", id="c")]
    for show in (claims.of_chapter, claims.overview):
        assert parsed(show(found)).p.get_text().endswith(": 1 reproduced, 2 not reproduced")


def test_an_overview_leads_to_the_claims_beside_the_figures():
    found = verdicts(Evidence(), "uncertainty")
    links = [link["href"] for link in parsed(claims.overview(found)).select("a")]
    assert links == [
        f"#{entry['id']}" for entry in parsed(claims.of_chapter(found)).select("details")
    ]


def test_texts_are_not_read_as_html():
    found = [a_verdict(says="a < b & <b>c</b>", id='"><i>')]
    for show in (claims.browse, claims.overview):
        page = parsed(show(found))
        assert page.find("i") is None
        assert "a < b & <b>c</b>" in page.get_text()


def test_the_front_page_lists_the_claims_that_fail_and_no_others():
    found = [a_verdict("holds", id="a"), a_verdict("fails", id="b"), a_verdict("partly", id="c")]
    (line,) = parsed(claims.failed(found)).select("li")
    assert line.select_one("[data-claim]")["data-claim"] == "b"
    assert line.select_one("a")["href"] == f"{CLAIMS[0].chapter}.html"
    assert "Ours: better 7" in line.get_text()
    assert "None" in claims.failed(found[:1]).text


def test_claims_and_evidence_link_to_each_other():
    verdict = a_verdict()
    (entry,) = parsed(claims.browse([verdict])).select("details")
    (shown,) = parsed(claims.of_chapter([verdict])).select("details")
    name = CLAIMS[0].id
    assert entry.select_one("dd a")["href"] == f"{CLAIMS[0].chapter}.html#{shown['id']}"
    assert shown.select_one("dd a")["href"] == f"claims.html#{entry['id']}"
    assert (entry["id"], shown["id"]) == (f"claim-{name}", f"shown-{name}")
    assert entry["data-verdict"] == "reproduced"
    assert CLAIMS[0].rule in entry.get_text()
