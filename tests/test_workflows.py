"""The workflows run what the repository has."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.stem)
def commands(request):
    """Every command of a workflow's steps."""
    jobs = yaml.safe_load(request.param.read_text())["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_every_make_target_exists(commands):
    targets = set(re.findall(r"^([\w./]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {target for command in commands for target in re.findall(r"^make (\S+)", command)}
    assert used <= targets


def test_every_option_of_the_driver_exists(commands, capsys):
    from vst.cli import main

    with pytest.raises(SystemExit):
        main(["book", "build", "--help"])
    known = capsys.readouterr().out
    for command in commands:
        if "vst book build" in command:
            assert all(option in known for option in re.findall(r"--[a-z]+", command))


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == {"test", "book"}
