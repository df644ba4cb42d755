"""The commit that fixed the blind replication, before its first result."""

from hashlib import sha256
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

#: Checksum of these files, for copies without the history.
DIGEST = "9afe2971d9f3fddaba445102a98328454b939ab26f46e0a1e8dd4a5f3fd5d02d"


def digest() -> str:
    """The checksum of the files as they are."""
    found = sha256()
    for name in FILES:
        found.update((root() / name).read_bytes())
    return found.hexdigest()


def root() -> Path:
    """The checkout that the files are in."""
    return Path(__file__).resolve().parents[3]
