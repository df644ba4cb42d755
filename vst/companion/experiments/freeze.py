"""The commit that fixed the blind replication, before its first result."""

from hashlib import sha256
from pathlib import Path

#: The commit; empty until it exists.
COMMIT = "8e9419747071"

#: What it fixed: how models are tuned, fitted and scored, and what the results decide.
FILES = (
    "vst/companion/experiments/blind.py",
    "vst/companion/experiments/calibration.py",
    "vst/companion/experiments/detection.py",
    "vst/companion/experiments/fitting.py",
    "vst/companion/experiments/tuning.py",
    "vst/companion/paper/bold_rule.py",
    "vst/companion/paper/claims/claim.py",
    "vst/companion/paper/claims/registry.py",
    "vst/companion/paper/claims/tables.py",
    "vst/companion/paper/claims/timing.py",
    "vst/companion/paper/compare.py",
    "vst/companion/paper/replication.py",
    "vst/companion/paper/scores.py",
    "vst/companion/peers/bartz.py",
    "vst/companion/peers/deep_ensemble.py",
    "vst/companion/peers/gaussian_process.py",
    "vst/companion/peers/ngboost.py",
    "vst/companion/peers/ranges.py",
    "vst/companion/peers/sglb.py",
    "vst/companion/peers/stopped_ensemble.py",
    "vst/companion/peers/xbart.py",
    "vst/companion/peers/xgboost.py",
    "vst/companion/protocol/splits.py",
    "vst/companion/stacked.py",
    "vst/selection.py",
)

#: Checksum of these files, for copies without the history.
DIGEST = "4e4b0fdc5970f7ab8f4740958b92d23735a0a0ab8d1d4da35ca4993500a3a41e"


def digest() -> str:
    """The checksum of the files as they are."""
    found = sha256()
    for name in FILES:
        found.update((root() / name).read_bytes())
    return found.hexdigest()


def root() -> Path:
    """The checkout that the files are in."""
    return Path(__file__).resolve().parents[3]
