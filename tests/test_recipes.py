"""The pages for maintainers are true: the recipes work as they are written, and every path exists."""

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECIPES = (ROOT / "CONTRIBUTING.md").read_text()

#: A block of Python says in its first line where it goes: a new file, the imports, or a registry.
PLACE = re.compile(
    r"# (?P<file>\S+): (?:(?P<new>a new file)|with the imports|at the end of (?P<name>\w+)|"
    r"(?P<end>at the end))"
)


def blocks(heading, language):
    """The code blocks in a section of CONTRIBUTING.md."""
    section = RECIPES.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def apply(block, root):
    """Do to a copy of the repository what the first line of a block says."""
    first, _, body = block.partition("\n")
    place = PLACE.fullmatch(first)
    assert place, first
    path = root / place["file"]
    if place["new"]:
        assert not path.exists()
        path.write_text(body)
        return
    if place["end"]:
        path.write_text(f"{path.read_text()}\n{body}")
        return
    lines = path.read_text().splitlines(keepends=True)
    nodes = ast.parse("".join(lines)).body
    if place["name"]:
        (last,) = (node.end_lineno for node in nodes if place["name"] in assigned(node))
    else:
        last = next(n.lineno for n in nodes if isinstance(n, ast.Import | ast.ImportFrom))
    lines.insert(last - 1, body)  # before the closing bracket, or the first import
    path.write_text("".join(lines))


def assigned(node):
    """Names that a statement gives a value."""
    targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
    return {target.id for target in targets if isinstance(target, ast.Name)}


class Copy:
    """A copy of the repository, in which commands run as they do in a checkout with a ``.venv``."""

    def __init__(self, root):
        self.root = root
        unwanted = shutil.ignore_patterns(".*", "_build", "dist", "__pycache__")
        shutil.copytree(ROOT, root, ignore=unwanted)

    def run(self, command):
        python = shlex.quote(sys.executable)
        command = command.replace(".venv/bin/python", python)
        command = command.replace(".venv/bin/vst", f"{python} -m vst.cli")
        environment = os.environ | {
            "PYTHONPATH": str(self.root),
            "XDG_CACHE_HOME": str(self.root / "_build" / "cache"),
        }
        result = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result.stdout


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A copy after both recipes, and what the commands in them printed."""
    copy = Copy(tmp_path_factory.mktemp("recipes") / "copy")
    for heading in ("Add a data set", "Add a model"):
        for block in blocks(heading, "(?:python|toml)"):
            apply(block, copy.root)
    commands = [*blocks("Add a data set", "bash"), blocks("Add a model", "bash")[0]]
    return copy, "\n".join(map(copy.run, commands))


def test_the_new_data_set_is_good_and_listed(followed):
    _, printed = followed
    assert re.search(r"^stones +good: checksum, shape and values, 40 rows", printed, re.MULTILINE)
    assert re.search(r"^stones +40 +2 +regression +bundled", printed, re.MULTILINE)


def test_the_page_on_the_data_has_the_new_data_set(followed):
    copy, _ = followed
    assert "### stones: weights of 40 made-up stones" in (copy.root / "data/README.md").read_text()


def test_the_new_model_is_fitted_to_the_new_data_set(followed):
    copy, printed = followed
    (row,) = re.findall(r"^ *ridge +stones +(\S+)", printed, re.MULTILINE)
    assert float(row) > -0.5, "log-likelihood of a target that is nearly linear"
    assert (copy.root / "_build/results/smoke/regression/stones.csv").read_text().count(
        "ridge"
    ) == 2


def test_the_code_of_the_recipes_passes_lint(followed):
    copy, _ = followed
    ruff = shlex.quote(str(Path(sys.executable).with_name("ruff")))
    changed = "vst/companion/models.py vst/companion/peers/ridge.py"
    copy.run(f"{ruff} check --no-cache --fix --select I {changed}")  # as make format does
    copy.run(f"{ruff} check --no-cache {changed}")
    copy.run(f"{ruff} format --no-cache --check {changed}")


# ---- every path on the pages


def paths(page):
    """What looks like a path in backticks or in a link: it has a slash, or ends like a file."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    names = re.findall(r"`([^`\s]+)`", text) + re.findall(r"\]\(([^)#:\s]+)\)", text)
    return {n for n in names if re.fullmatch(r"[\w./-]+", n) and looks_like_a_path(n)}


def looks_like_a_path(name):
    return "/" in name or name.endswith((".py", ".md", ".toml", ".yml", ".ipynb", ".csv", ".lock"))


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_on_the_page_exists(page):
    found = paths(page)
    assert len(found) > 10
    files = {path.name for path in (ROOT / "vst").rglob("*.py")}
    made = {".venv", "_build"}  # by make
    missing = [
        name
        for name in found
        if not (ROOT / name).exists() and name not in files and name.split("/")[0] not in made
    ]
    assert not missing
