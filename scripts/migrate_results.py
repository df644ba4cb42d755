"""Give stored results the columns, keys and settings of the second edition; show that no row is lost.

Run once, in the root of the repository: ``python scripts/migrate_results.py``. Rows keep their scores.
Soft trees are described by `vst.soft_trees.SoftTrees`, which has settings that the stored text lacks
(``mc_samples``, ``noise_update``, both at the values that were used); a bandit's soft tree is nested. Keys
follow from the description. The columns ``commit`` and ``fingerprint`` are new: these rows were made
before there were fingerprints.
"""

import csv
import io
import json
import sys
from dataclasses import asdict, fields
from pathlib import Path

from vst.companion.experiments import EXPERIMENTS
from vst.companion.experiments.cells import Cell, as_text
from vst.companion.experiments.results import NO_FINGERPRINT
from vst.companion.models import MODEL_BY_ID
from vst.soft_trees import SoftTrees

ROOT = Path("data/results")

TREE_SETTINGS = {field.name for field in fields(SoftTrees)}


def described(experiment: str, row: dict[str, str]) -> str:
    """The settings of a row as text, in today's form."""
    settings = json.loads(row["parameters"])
    if experiment != "bandits":
        soft = MODEL_BY_ID[row["model"]].is_soft
        return as_text(asdict(SoftTrees(**settings))) if soft else row["parameters"]
    agent = settings["agent"]
    if row["model"] == "vst":
        assert agent.pop("noise") == "leaf"
        steps = agent.pop("initial_steps")
        tree = {name: agent.pop(name) for name in list(agent) if name in TREE_SETTINGS}
        agent["tree"] = asdict(SoftTrees(**tree, steps=steps))
    return as_text(settings)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, columns: tuple[str, ...], rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="raise")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue())


def migrate(name: str) -> int:
    """Migrate an experiment's files; return the number of rows that were lost."""
    experiment, lost = EXPERIMENTS[name], 0
    for path in sorted((ROOT / name).glob("*.csv")):
        before, new, keys = read(path), [], {}
        for row in before:
            text = described(name, row)
            fold, seed = int(row.get("fold", 0)), int(row["seed"])
            cell = Cell(name, row["dataset"], row["model"], fold, seed, text)
            keys[row["key"]] = cell.key
            added = {
                "key": cell.key,
                "parameters": text,
                "commit": "",
                "fingerprint": NO_FINGERPRINT,
            }
            new.append({c: (row | added)[c] for c in experiment.columns})
        write(path, experiment.columns, new)
        for part, described_part in experiment.parts.items():
            beside = ROOT / name / part / path.name
            if beside.exists():
                lines = [line | {"key": keys[line["key"]]} for line in read(beside)]
                write(beside, ("key", *described_part.columns), lines)
        after = read(path)
        same = sum(
            all(old[c] == now[c] for c in old if c not in ("key", "parameters"))
            for old, now in zip(before, after, strict=True)
        )
        distinct = len(set(keys)) == len(set(keys.values()))
        print(f"{path}: {len(before)} rows before, {len(after)} after, {same} with the same scores"
              f"{'' if distinct else ', KEYS COLLIDE'}")  # fmt: skip
        lost += len(before) - same + (not distinct)
    return lost


if __name__ == "__main__":
    sys.exit(1 if sum(migrate(name) for name in ("regression", "rank", "beyond", "bandits")) else 0)
