import numpy as np
import pandas as pd

from vst.paper import printed
from vst.report import claims


def as_fits(table, column):
    """Fits whose mean and deviation over folds are the printed ones."""
    rows = printed(table)
    frames = []
    for row in rows.itertuples():
        spread = np.array([-1.0, 0.0, 1.0]) * row.error
        frames.append(
            pd.DataFrame({"model": row.model, "dataset": row.dataset, column: row.mean + spread})
        )
    return pd.concat(frames, ignore_index=True)


def all_fits():
    parts = (as_fits(table, column) for table, column in claims.COLUMNS.items())
    return pd.concat(parts, ignore_index=True)


def test_the_papers_own_numbers_as_results_give_its_own_verdicts():
    found = claims.judged(all_fits())
    for claim in found.to_dict("records"):
        paper, _, numbers = claim["in the paper's table"].partition(": ")
        assert claim["verdict"] == claims.VERDICTS[paper]
        assert claim["here"] == numbers


def test_without_results_nothing_is_decided():
    found = claims.judged(all_fits().iloc[:0])
    assert set(found["verdict"]) == {"not testable here"}
    assert f"**{len(found)}** not testable here" in claims.scoreboard(found).text


def test_the_tables_have_a_row_per_claim_and_contradiction():
    found = claims.judged(all_fits())
    assert len(claims.table(found)._repr_markdown_().splitlines()) == len(found) + 2
    assert "-0.462" in claims.inconsistencies()._repr_markdown_()
