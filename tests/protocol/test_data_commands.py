"""``vst data``: what it prints, and what it returns."""

import argparse
import shutil

import pytest

from vst.companion.protocol import commands
from vst.companion.protocol.provenance import provenance
from vst.datasets import CATALOGUE, places
from vst.datasets import download as downloading
from vst.datasets.catalogue import WHOLE_SETS
from vst.errors import DataError

BUNDLED = [info for info in WHOLE_SETS if info.bundled]


@pytest.fixture
def run(capsys):
    def run(*arguments):
        parser = argparse.ArgumentParser()
        commands.add_parser(parser.add_subparsers())
        options = parser.parse_args(["data", *arguments])
        code = options.run(options) or 0
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise downloading.requests.ConnectionError(OSError("no network"))

    monkeypatch.setattr(downloading.requests, "get", refuse)


def test_a_clean_machine_has_what_is_bundled(run):
    code, out, _ = run("list")
    assert code == 0
    assert out.startswith(f"{len(BUNDLED)} of {len(WHOLE_SETS)} present")
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "bundled" in lines["protein"]
    assert "45,730" in lines["protein"]
    assert " - " in lines["song"]
    assert out.index("Parts of the above") < out.index("song_8k")


def test_verify_passes_on_a_clean_machine(run):
    code, out, _ = run("verify")
    assert code == 0
    assert out.count("good: checksum") == len(BUNDLED)
    absent = len(CATALOGUE) - len(BUNDLED)
    assert f"{len(BUNDLED)} checked, 0 wrong, {absent} not here" in out


def test_verify_finds_a_damaged_file(run, monkeypatch, tmp_path):
    copy = tmp_path / "bundle"
    shutil.copytree(places.bundled_directory(), copy)
    monkeypatch.setattr(places, "bundled_directory", lambda: copy)
    (copy / "wine.csv").write_bytes((copy / "wine.csv").read_bytes()[:-10])
    (copy / "yacht.csv").unlink()
    code, out, _ = run("verify")
    assert code == 1
    assert "wine         WRONG" in out
    assert "yacht        not here" in out
    assert "2 wrong" in out


def test_verify_of_a_named_set_that_is_not_here_fails(run):
    assert run("verify", "song")[0] == 1
    assert run("verify", "boston")[0] == 0


def test_fetch_without_network_says_how_else_and_fails(run, no_network):
    code, _, err = run("fetch", "stock")
    assert code == 1
    assert "VST_DATA" in err
    assert "storage.googleapis.com cannot be reached" in err


def test_fetch_tries_all_that_are_not_here(run, no_network):
    code, _, err = run("fetch")
    assert code == 1
    assert err.count("is not on this machine") == 4


def test_fetch_of_a_bundled_set_has_nothing_to_do(run):
    code, out, _ = run("fetch", "boston")
    assert code == 0
    assert "comes with the package" in out


def test_fetch_of_an_unknown_name_is_an_error(run):
    with pytest.raises(DataError, match="did you mean 'stock'"):
        run("fetch", "stocks")


def test_provenance_is_printed(run):
    assert run("provenance")[1] == provenance()


def test_help_is_there_for_every_command(capsys):
    parser = argparse.ArgumentParser()
    commands.add_parser(parser.add_subparsers())
    for command in ("list", "verify", "fetch", "provenance"):
        with pytest.raises(SystemExit) as leaving:
            parser.parse_args(["data", command, "--help"])
        assert leaving.value.code == 0
        assert len(capsys.readouterr().out) > 100


def test_fetched_files_are_listed_and_good(run, fetched):
    out = run("list")[1]
    assert out.startswith(f"{len(WHOLE_SETS) - 2} of {len(WHOLE_SETS)} present")
    code, out, _ = run("verify")
    assert code == 0
    assert f"{len(CATALOGUE) - 2} checked, 0 wrong, 2 not here" in out
