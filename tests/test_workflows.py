"""The workflows run what the repository has, and a release is what its tag says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import vst

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

each = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def steps(path):
    """Every step of a workflow's jobs."""
    jobs = yaml.safe_load(path.read_text())["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def commands(path):
    return [step["run"] for step in steps(path) if "run" in step]


@each
def test_every_make_target_exists(path):
    targets = set(re.findall(r"^([\w./]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    asked = r"^\s*make (?:-C \S+ )?(\S+)"
    used = {t for command in commands(path) for t in re.findall(asked, command, re.MULTILINE)}
    assert used <= targets


@each
def test_every_option_of_the_driver_exists(path, capsys):
    from vst.cli import main

    with pytest.raises(SystemExit):
        main(["book", "build", "--help"])
    known = capsys.readouterr().out
    for command in commands(path):
        if "vst book build" in command:
            assert all(option in known for option in re.findall(r"--[a-z]+", command))


@each
def test_no_expression_is_pasted_into_a_command(path):
    assert not [command for command in commands(path) if "${{" in command]


@each
def test_every_action_is_pinned_by_the_hash_of_a_commit(path):
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action) for action in used), used


def test_an_action_has_one_version_in_all_workflows():
    used = re.findall(r"uses: (\S+)@(.*)", "\n".join(path.read_text() for path in WORKFLOWS))
    assert len(set(used)) == len({action for action, _ in used})


def test_the_tests_run_on_every_python_that_the_package_supports():
    matrix = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())["jobs"]["test"]
    classifiers = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert matrix["strategy"]["matrix"]["python"] == classifiers


def test_there_are_workflows():
    assert {path.stem for path in WORKFLOWS} == {"test", "book", "release"}


@pytest.fixture
def release(tmp_path):
    """Run a step of the release, named by its beginning, for a tag, in ``tmp_path``."""
    (tmp_path / "CHANGELOG.md").symlink_to(ROOT / "CHANGELOG.md")

    def step(name, tag):
        all_steps = steps(ROOT / ".github" / "workflows" / "release.yml")
        (script,) = (s["run"] for s in all_steps if s.get("name", "").startswith(name))
        script = script.replace(".venv/bin/python", sys.executable)
        return subprocess.run(
            ["bash", "-eo", "pipefail", "-c", script],
            cwd=tmp_path,
            env=os.environ | {"TAG": tag, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
        )

    return step


def test_a_tag_that_is_not_the_version_stops_the_release(release):
    assert release("The tag", f"v{vst.__version__}").returncode == 0
    result = release("The tag", f"v{vst.__version__}.1")
    assert result.returncode == 1
    assert f".1, but vst.__version__ is {vst.__version__}\n" in result.stdout


def test_the_notes_of_a_release_are_its_section_of_the_changelog(release, tmp_path):
    assert release("The changelog", "v0.1.0").returncode == 0
    notes = (tmp_path / "notes.md").read_text()
    assert "The first edition." in notes
    assert "Unreleased" not in notes
    assert "## [" not in notes


def test_a_release_without_a_section_in_the_changelog_stops(release):
    result = release("The changelog", "v0.1")
    assert result.returncode == 1
    assert "no section ## [0.1]" in result.stdout


def test_the_changelog_has_the_version_that_the_package_has():
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[:2] == ["Unreleased", vst.__version__]
