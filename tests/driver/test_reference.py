"""The page that documents the package."""

from pathlib import Path

import vst

PAGE = (Path(__file__).parents[2] / "book" / "reference.md").read_text()


def test_everything_that_the_package_gives_is_documented():
    documented = {line.split(":: ")[1] for line in PAGE.splitlines() if line.startswith(".. auto")}
    assert set(vst.__all__) <= documented
