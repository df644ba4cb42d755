"""The README's example prints what the README shows, and its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

from vst.companion.report.speed import latest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_first_example_prints_what_is_shown():
    example, shown = re.search(
        r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL
    ).groups()
    result = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, cwd=ROOT, check=True
    )
    # Processors round differently: the last digit of a number may move.
    numbers, expected = (
        [float(n) for n in re.findall(r"\d+(?:\.\d+)?", t)] for t in (result.stdout, shown)
    )
    assert re.sub(r"[\d.]+", "#", result.stdout) == re.sub(r"[\d.]+", "#", shown)
    assert all(abs(a - b) <= 0.1 * b for a, b in zip(numbers, expected, strict=True)), result.stdout


def test_every_make_target_of_the_readme_exists():
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"`?make ([a-z]+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_every_linked_file_exists():
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).exists(), link


def test_make_without_a_target_lists_the_targets():
    result = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("make test", "make book", "make bench", "make lint"):
        assert target in result.stdout


#: What the numbers of the paragraph on speed are, in its order.
SPEEDS = (
    ("training", "faster than the plain loop"),
    ("training", "cost over bare products"),
    ("rows", "a million rows over a thousand"),
    ("start", "process start to first prediction"),
    ("models", "time of SGLB over VST (linear), median"),
    ("models", "time of NGBoost over VST (linear), median"),
    ("models", "time of BART (bartz) over VST (linear), median"),
    ("models", "time of XBART over VST (linear), median"),
    ("models", "time of NGBoost over VST (CV), median"),
)


def test_every_number_of_the_speed_paragraph_was_measured():
    paragraph = README.split("## Speed\n")[1].split("\n## ")[0]
    measured = latest().set_index(["benchmark", "measure"])["value"]
    shown = [f"{measured[place]:.2g}" for place in SPEEDS]
    assert re.findall(r"\d+(?:\.\d+)?", paragraph) == shown
