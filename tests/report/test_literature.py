"""Peers beside printed numbers."""

import pandas as pd

from vst.companion.report import literature


def results(**scores):
    return pd.DataFrame(
        [
            {"model": "stopped-ensemble", "dataset": name, "fold": 0, "log_likelihood": value}
            for name, value in scores.items()
        ]
    )


def test_printed_numbers_stand_beside_ours():
    frame = literature.table(results(yacht=2.5)).frame.set_index("data set")
    assert frame.loc["yacht", "printed elsewhere"] == "1.99"
    assert frame.loc["yacht", "Stopped ensemble"] == "2.50"
    assert frame.loc["energy", "Stopped ensemble"] == "\N{EN DASH}"


def test_the_summary_follows_the_scores():
    better = literature.summary(results(yacht=2.5, energy=1.8)).text
    worse = literature.summary(results(yacht=1.5, energy=1.8)).text
    assert "Stopped ensemble reaches it on 2 of 4" in better
    assert "Stopped ensemble reaches it on 1 of 4" in worse


def test_every_source_is_among_the_references():
    sources = set(literature.printed_elsewhere()["source"])
    with open("book/references.bib", encoding="utf-8") as file:
        text = file.read()
    assert all(f"{{{source}," in text for source in sources)
