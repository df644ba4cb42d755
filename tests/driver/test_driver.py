"""Chapters are executed when something has changed, with the parameters given, and become pages."""

import os
import signal
import socket
import subprocess
import sys
import time

import nbformat
import psutil
import pytest
import yaml

from vst.cli import main
from vst.companion.driver import driver
from vst.companion.driver.chapters import Parameter
from vst.companion.driver.execution import record
from vst.errors import UserError

PARAMETERS = """\
depth: int = 2  # gates between the root and a leaf
scale: float = 1.0  # of the prior
names: list = []  # of data sets
label: str = "a"  # of the curve
profile: str = "paper"  # how much to compute"""


def notebook(*code):
    cells = [nbformat.v4.new_markdown_cell("# Chapter"), *map(nbformat.v4.new_code_cell, code)]
    cells[1].metadata["tags"] = ["parameters"]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


@pytest.fixture
def root(tmp_path):
    """A book of two chapters and a page about their execution."""
    (tmp_path / "book").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "_toc.yml").write_text(
        "format: jb-book\nroot: book/first\nchapters:\n- file: book/second\n- file: book/execution\n"
    )
    (tmp_path / "_config.yml").write_text(
        yaml.safe_dump({"title": "small", "execute": {"execute_notebooks": "auto"}})
    )
    (tmp_path / "book" / "execution.md").write_text("# Execution\n\n<!-- chapters -->\n")
    write(tmp_path, "first", PARAMETERS, "print('twice:', 2 * depth, names, label, profile)")
    write(tmp_path, "second", "seed: int = 0  # of the fits", "print(6 * 7)")
    return tmp_path


@pytest.fixture
def html(monkeypatch):
    """Leave the pages out where a test is about execution."""
    monkeypatch.setattr(driver, "build_html", lambda source, output: output / "index.html")


def write(root, name, *code):
    nbformat.write(notebook(*code), root / "book" / f"{name}.ipynb")


def output(root, name):
    executed = nbformat.read(root / "_build" / "executed" / "book" / f"{name}.ipynb", as_version=4)
    return "".join(o.get("text", "") for cell in executed.cells for o in cell.get("outputs", []))


def starts(root):
    directory = root / "_build" / "executed" / "book"
    return [record(directory / f"{name}.ipynb").get("start_time") for name in ("first", "second")]


def build(root, *options):
    return main(["book", "build", "--no-pdf", "--root", str(root), *options])


def test_a_book_is_executed_and_built(root, capfd):
    assert build(root) == 0
    assert "42" in (root / "_build" / "html" / "book" / "second.html").read_text()
    assert "defaults" in (root / "_build" / "html" / "book" / "execution.html").read_text()
    assert str(root / "_build" / "html" / "index.html") in capfd.readouterr().out
    source = nbformat.read(root / "book" / "second.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in source.cells)
    assert not list((root / "_build" / "executed").rglob("*unfinished*"))


def test_with_a_repository_pages_link_to_it_and_to_colab(root):
    assert build(root, "--repository", "https://github.com/someone/book") == 0
    page = (root / "_build" / "html" / "book" / "second.html").read_text()
    assert 'href="https://github.com/someone/book"' in page
    assert "colab.research.google.com/github/someone/book/blob/main/book/second.ipynb" in page


def test_only_what_changed_is_executed_again(root, html):
    build(root)
    first, second = starts(root)
    build(root)
    assert starts(root) == [first, second]
    write(root, "second", "seed: int = 0  # of the fits", "print(7 * 7)")
    build(root)
    assert starts(root)[0] == first
    assert "49" in output(root, "second")
    (root / "data" / "new.csv").write_text("1")
    build(root)
    assert starts(root)[0] != first


def test_recompute_executes_everything_and_drops_the_profile_s_results(root, html):
    build(root)
    before = starts(root)
    for profile in ("quick", "smoke"):
        (root / "_build" / "results" / profile).mkdir(parents=True)
    build(root, "--recompute", "--profile", "smoke")
    assert not set(before) & set(starts(root))
    assert not (root / "_build" / "results" / "smoke").exists()
    assert (root / "_build" / "results" / "quick").exists()
    assert "smoke" in output(root, "first")


def test_a_chapter_with_parameters_leaves_the_others_as_they_were(root, html):
    build(root)
    second = starts(root)[1]
    write(root, "second", "seed: int = 0  # of the fits", "print(7 * 7)")
    build(root, "--chapter", "first", "-p", "depth", "5", "-p", "names", "a,b", "-p", "label", "7")
    assert "twice: 10 ['a', 'b'] 7" in output(root, "first")
    assert starts(root)[1] == second


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-p", "dept", "5"], "there is no parameter dept"),
        (["--chapter", "first", "-p", "seed", "5"], "scale: float = 1.0  # of the prior"),
        (["-p", "depth", "deep"], "depth must be of type int, got deep"),
        (["-p", "depth", "2.5"], "depth must be of type int"),
        (["--chapter", "third"], "choose from first, second"),
        (["--profile", "fast"], "choose from smoke, quick, paper"),
        (["-p", "profile", "quick"], "--profile quick"),
        (["--jobs", "0"], "--jobs must be an integer >= 1"),
    ],
)
def test_a_wrong_option_is_refused_before_anything_is_executed(root, capsys, options, message):
    assert build(root, *options) == 1
    assert message in capsys.readouterr().err
    assert not (root / "_build").exists()


def test_a_failing_cell_ends_the_build_with_its_traceback(root, capfd):
    write(root, "second", "seed: int = 0  # of the fits", "1 / 0")
    assert build(root) == 1
    err = capfd.readouterr().err
    assert "second.ipynb failed" in err
    assert "ZeroDivisionError" in err
    assert not (root / "_build" / "executed" / "book" / "second.ipynb").exists()


def test_a_sphinx_warning_ends_the_build_every_time(root):
    config = {"title": "small", "execute": {}, "bibtex_bibfiles": ["absent.bib"]}
    (root / "_config.yml").write_text(yaml.safe_dump(config))
    for _ in range(2):
        with pytest.raises(UserError, match="jupyter-book failed"):
            driver.build(root)


def test_pages_are_built_again_if_the_last_build_did_not_end(root):
    build(root)
    page = root / "_build" / "html" / "book" / "second.html"
    made = page.stat().st_mtime_ns
    build(root)
    assert page.stat().st_mtime_ns == made
    stamp = root / "_build" / "html" / ".made_from"
    stamp.unlink()
    build(root)
    assert page.stat().st_mtime_ns > made
    assert stamp.exists()


def test_the_page_of_a_chapter_that_is_gone_goes_too(root):
    build(root)
    (root / "book" / "second.ipynb").unlink()
    (root / "_toc.yml").write_text(
        "format: jb-book\nroot: book/first\nchapters:\n- file: book/execution\n"
    )
    assert build(root) == 0
    pages = {path.stem for path in (root / "_build" / "html" / "book").glob("*.html")}
    assert pages == {"first", "execution"}


@pytest.mark.parametrize(("text", "value"), [("1e-3", 0.001), ("2", 2.0)])
def test_numbers_are_read_as_numbers(text, value):
    assert Parameter("scale", "float", "1.0", "").value(text) == value


def test_parameters_are_listed(root, capsys):
    assert main(["book", "parameters", "first", "--root", str(root)]) == 0
    assert "depth: int = 2  # gates between the root and a leaf" in capsys.readouterr().out


def test_a_directory_without_a_book_is_refused(tmp_path, capsys):
    assert build(tmp_path) == 1
    assert "holds no book" in capsys.readouterr().err
    assert main(["book", "parameters", "--root", str(tmp_path)]) == 1
    assert "holds no book" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["build", "parameters"])
def test_without_the_notebook_packages_the_command_says_what_to_install(
    action, root, monkeypatch, capsys
):
    for module in ("papermill", "vst.companion.driver.chapters", "vst.companion.driver.driver"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "papermill", None)
    assert main(["book", action, "--root", str(root)]) == 1
    assert 'pip install "vst[book]"' in capsys.readouterr().err


def test_a_book_that_is_not_built_is_not_served(root, capsys):
    assert main(["book", "serve", "--root", str(root)]) == 1
    assert "vst book build" in capsys.readouterr().err


@pytest.fixture
def built(root):
    pages = root / "_build" / "html"
    pages.mkdir(parents=True)
    (pages / "index.html").write_text("a book")
    return root


@pytest.mark.parametrize("port", [-1, 65536, 99999])
def test_a_port_that_does_not_exist_is_refused(built, port, capsys):
    assert main(["book", "serve", "--root", str(built), "--port", str(port)]) == 1
    assert f"--port must be a number from 0 to 65535, got {port}" in capsys.readouterr().err


def test_a_port_in_use_is_refused(built, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["book", "serve", "--root", str(built), "--port", port]) == 1
    assert f"port {port} cannot be used" in capsys.readouterr().err


def test_what_a_user_can_put_right_is_a_sentence(root, capfd):
    write(root, "second", "seed: int = 0", "import vst\nvst.load_table('no.csv', target='price')")
    assert build(root) == 1
    err = capfd.readouterr().err
    assert "vst: second.ipynb failed: there is no file no.csv\n" in err
    assert "Traceback" not in err


#: A shell that runs the tests in the background has them, and their children, ignore Ctrl-C.
HEARS_CONTROL_C = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from vst.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a group of processes")
@pytest.mark.parametrize("moment", ["workers start", "a cell runs"])
def test_control_c_prints_no_traceback_and_leaves_nothing_behind(root, moment):
    wait = "from pathlib import Path\nimport time\nPath('runs').touch()\ntime.sleep(120)"
    write(root, "second", "seed: int = 0  # of the fits", wait)
    command = [sys.executable, "-c", HEARS_CONTROL_C, "book", "build", "--root", str(root)]
    with subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as build:
        begun = build.stderr.read(1)  # of the progress bar: the processes have been started
        while moment == "a cell runs" and not (root / "runs").exists():
            time.sleep(0.05)
        time.sleep(0.5)
        for process in psutil.Process(build.pid).children():  # whoever is in the terminal's group
            if os.getpgid(process.pid) == build.pid:
                process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        build.send_signal(signal.SIGINT)
        said = (begun + build.communicate(timeout=60)[1]).decode()
    assert build.returncode == 130
    assert "vst: interrupted" in said
    assert "Traceback" not in said
    assert not list((root / "_build").rglob("*unfinished*"))
