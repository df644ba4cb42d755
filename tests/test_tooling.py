"""The set-up refuses what cannot work, the lock is whole, and the package keeps its layers."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements.lock").read_text()
SOURCES = sorted((ROOT / "vst").rglob("*.py"))


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def tool(name):
    """A command that is installed beside this interpreter."""
    return str(Path(sys.executable).with_name(name))


# ---- make, and the interpreter it is given


@pytest.fixture
def checkout(tmp_path):
    """What make reads, in a directory of its own."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def fake_python(directory, version):
    """An interpreter that says it is ``version``, and writes down what else it is asked to do."""
    name = "python{}.{}".format(*version)
    path = directory / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f"""#!{sys.executable}
import sys
if sys.argv[1] == "-c":
    sys.version_info = {(*version, 0, "final", 0)}
    code, sys.argv = sys.argv[2], ["-c", *sys.argv[3:]]
    exec(code)
else:
    open({str(directory / "asked")!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
    sys.exit(1)
"""
    )
    path.chmod(0o755)
    return name


def make(checkout, target, python):
    environment = os.environ | {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}"}
    return run("make", target, f"PYTHON={python}", cwd=checkout, env=environment)


@pytest.mark.parametrize("target", ["test", "book", "lint", "lock", ".venv/installed"])
@pytest.mark.parametrize("version", [(3, 10), (2, 7)], ids=str)
def test_make_refuses_an_old_python_before_it_creates_an_environment(checkout, target, version):
    name = fake_python(checkout, version)
    result = make(checkout, target, name)
    assert result.returncode != 0
    assert (
        f"vst needs Python 3.11 or newer; this is Python {name.removeprefix('python')} ({name}): "
        "choose another with make PYTHON=python3.12" in result.stderr
    )
    assert not (checkout / "asked").exists()
    assert not (checkout / ".venv").exists()


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)], ids=str)
def test_make_creates_an_environment_with_a_python_that_is_new_enough(checkout, version):
    result = make(checkout, "test", fake_python(checkout, version))
    assert "vst needs" not in result.stderr
    assert (checkout / "asked").read_text() == "-m venv .venv\n"


def test_make_takes_an_environment_that_is_there_whatever_the_default_python(checkout):
    (checkout / ".venv").mkdir()
    (checkout / ".venv" / "installed").touch()
    result = make(checkout, ".venv/installed", fake_python(checkout, (3, 10)))
    assert result.returncode == 0, result.stderr


# ---- the lock


def pins():
    """Every entry of the lock: a requirement, and the text of its hashes."""
    entries = re.sub(r"^#.*\n", "", LOCK, flags=re.MULTILINE).replace("\\\n", "").splitlines()
    for entry in entries:
        requirement, *hashes = entry.split("--hash=")
        yield Requirement(requirement), hashes


def test_every_entry_of_the_lock_is_one_version_with_hashes():
    for requirement, hashes in pins():
        assert re.fullmatch(r"==[^*,]+", str(requirement.specifier)), requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one.strip()) for one in hashes), requirement


def test_the_lock_names_no_address():
    assert "://" not in LOCK
    assert not re.search(r"^\s*(-i|-f|-e|--(?!hash=))", LOCK, re.MULTILINE)


@pytest.mark.parametrize("python", ["3.11.7", "3.12.1", "3.13.0"])
def test_the_lock_pins_what_the_project_asks_for(python):
    there = {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    locked = {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
        for pin, _ in pins()
        if pin.marker is None or pin.marker.evaluate(there)
    }
    project = PYPROJECT["project"]
    extras = project["optional-dependencies"]
    asked = project["dependencies"] + PYPROJECT["build-system"]["requires"] + ["editables"]
    for line in asked + extras["book"] + extras["peers"] + extras["test"]:
        requirement = Requirement(line)
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), line


def test_conda_hands_pip_a_file_that_it_accepts(tmp_path):
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    entries = environment["dependencies"][-1]["pip"]
    shutil.copy(ROOT / "requirements.lock", tmp_path)
    # As conda does: one file of these lines, beside environment.yml. All is installed here: no network.
    (tmp_path / "condaenv.requirements.txt").write_text("\n".join(entries))
    options = ["--dry-run", "--no-deps", "--no-index", "--exists-action=b"]
    command = [sys.executable, "-m", "pip", "install", *options]
    result = run(*command, "-r", tmp_path / "condaenv.requirements.txt", cwd=tmp_path)
    assert result.returncode == 0, result.stderr


def test_the_second_command_of_the_conda_file_installs_the_package():
    (line,) = re.findall(
        r"^# (pip install .*)", (ROOT / "environment.yml").read_text(), re.MULTILINE
    )
    options = [*line.split()[1:], "--dry-run", "--no-index"]
    result = run(sys.executable, "-m", "pip", *options, cwd=ROOT)
    assert "Would install vst" in result.stdout, result.stderr


# ---- the package


def test_importing_the_library_loads_nothing_that_rebuilds_the_paper():
    heavy = ["matplotlib", "papermill", "optuna", "catboost", "vst.companion"]
    code = f"import sys, json, vst; print(json.dumps([m for m in {heavy} if m in sys.modules]))"
    assert json.loads(run(sys.executable, "-c", code, cwd=ROOT, check=True).stdout) == []


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("vst.tree", "vst.companion.protocol"),
        ("vst.datasets.loading", "vst.companion"),
        ("vst.inference", "vst.estimators"),
        ("vst.companion.protocol.splits", "vst.companion.report"),
        ("vst.companion.experiments.store", "vst.companion.paper.claims"),
    ],
)
def test_an_import_against_the_layers_fails_lint(tmp_path, module, imported):
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(ROOT / "vst", tmp_path / "vst", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / f"{module.replace('.', '/')}.py").open("a") as file:
        file.write(f"\nimport {imported}\n")
    result = run(tool("lint-imports"), "--no-logo", cwd=tmp_path)
    assert result.returncode != 0
    assert f"{module} -> {imported} " in re.sub(r"\s+", " ", result.stdout), result.stdout


def lines(paths):
    return {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in paths}


def test_the_library_is_small():
    library = [path for path in SOURCES if "companion" not in path.parts]
    assert sum(lines(library).values()) <= 9000


def test_no_file_of_the_package_is_long():
    assert {name: count for name, count in lines(SOURCES).items() if count > 450} == {}


def test_the_wheel_tells_type_checkers_that_it_is_typed(tmp_path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    assert "vst/py.typed" in zipfile.ZipFile(wheel).namelist()


# ---- hooks


HOOKS = {
    hook["id"]: hook
    for repository in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    for hook in repository["hooks"]
    if repository["repo"] == "local"
}


def test_the_hooks_are_valid_and_need_no_network():
    result = run(tool("pre-commit"), "validate-config", ".pre-commit-config.yaml", cwd=ROOT)
    assert result.returncode == 0, result.stdout
    assert set(HOOKS) >= {"ruff", "ruff-format", "mypy", "imports", "notebooks"}
    assert all(hook["language"] == "system" for hook in HOOKS.values())


@pytest.mark.parametrize(
    ("change", "passes"),
    [
        ({}, True),
        ({"execution_count": 1}, False),
        ({"outputs": [{"output_type": "stream"}]}, False),
    ],
    ids=["clean", "count", "output"],
)
def test_the_hook_refuses_a_notebook_with_outputs(tmp_path, change, passes):
    cell = {"cell_type": "code", "source": "1 + 1", "outputs": [], "execution_count": None}
    notebook = tmp_path / "chapter.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "markdown"}, cell | change]}))
    result = run(sys.executable, "-c", *HOOKS["notebooks"]["args"], notebook)
    assert (result.returncode == 0) == passes
    assert ("clear its outputs" in result.stderr) != passes
