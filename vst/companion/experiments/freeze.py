"""The commit that fixed the blind replication, before its first result."""

from pathlib import Path

#: The commit; empty until it exists.
COMMIT = "8e9419747071"

#: What it fixed: how the results are computed, and what they decide.
FILES = (
    "vst/companion/experiments/blind.py",
    "vst/companion/experiments/calibration.py",
    "vst/companion/experiments/tuning.py",
    "vst/companion/paper/bold_rule.py",
    "vst/companion/paper/claims/tables.py",
    "vst/companion/paper/claims/timing.py",
    "vst/companion/paper/compare.py",
    "vst/companion/paper/replication.py",
    "vst/companion/protocol/splits.py",
)


def root() -> Path:
    """The checkout that the files are in."""
    return Path(__file__).resolve().parents[3]
