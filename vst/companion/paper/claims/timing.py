"""The rule for the discussion's remark on time: soft trees against libraries of hard trees."""

import pandas as pd

from vst.companion.paper.claims.claim import Judgement, decided, undecided
from vst.companion.paper.claims.tables import MANY_TREES, ONE_TREE, VSGBM, VST
from vst.companion.paper.tables import DATASETS
from vst.datasets import CATALOGUE

#: The paper calls its models slower on data sets below this many rows.
SMALL_DATA = 10_000

#: Soft trees, and the libraries of hard trees in the same group. The deep ensemble has no trees.
PAIRS = {"VST": (VST, ONE_TREE[1:]), "VSGBM": (VSGBM, MANY_TREES[1:])}


def slower_on_few_rows(results: pd.DataFrame) -> Judgement:
    """The faster type of leaf takes longer than each library, on every small data set."""
    seconds = results.pivot_table(index="dataset", columns="model", values="seconds")
    few = seconds[[_is_small(str(name)) for name in seconds.index]]
    slower, total, words = 0, 0, []
    complete = True
    for name, (ours, rivals) in PAIRS.items():
        both = few.reindex(columns=[*ours, *rivals]).dropna()
        complete &= set(filter(_is_small, DATASETS)) <= set(both.index)
        if len(both):
            times = int((both[list(ours)].min(axis=1) > both[list(rivals)].max(axis=1)).sum())
            slower, total = slower + times, total + len(both)
            words.append(f"{name} on {times} of {len(both)}")
    text = ", ".join(words)
    if not complete:
        return undecided(text)
    return decided(text, holds=slower == total, partly=2 * slower >= total)


def _is_small(dataset: str) -> bool:
    return dataset in CATALOGUE and CATALOGUE[dataset].rows < SMALL_DATA
