"""Tests of `python -m bench.stored`, which takes stored results again."""

import json

import pytest

from bench.snapshot.source import tree_key
from bench.stored import __main__ as command_line
from bench.stored import record, take

Run, read, shortened, write = record.Run, record.read, record.shortened, record.write

COMMAND = "spica run vecadd --preset tiny --size 64 --engine iss"
OLD = Run(command=COMMAND, revision="0", sources="other", result={"cycles": 1})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(command_line, "FOLDER", tmp_path)
    return tmp_path


def test_result_of_other_sources_is_taken_again(folder):
    write(folder / "vecadd.json", [OLD])
    assert command_line.main(["vecadd"]) == 0
    (run,) = read(folder / "vecadd.json")
    assert run.sources == tree_key()
    assert run.revision == take.revision() != OLD.revision
    assert run.result["kernel"] == "vecadd"
    assert run.result["check"]["verdict"] == "pass"
    assert "config" not in run.result
    assert run.output == ""


def test_result_of_these_sources_is_left(folder, monkeypatch):
    monkeypatch.setattr(command_line, "measured", lambda run: pytest.fail("measured again"))
    write(folder / "vecadd.json", [Run(command=COMMAND, sources=tree_key(), result={})])
    assert command_line.main([]) == 0


def test_finished_runs_stay_if_a_later_one_fails(folder, monkeypatch, capsys):
    write(folder / "runs.json", [OLD, Run(command="rm", result={})])
    monkeypatch.setattr(take, "revision", lambda: "1")
    assert command_line.main([]) == 1
    assert "must start with `spica`" in capsys.readouterr().err
    assert [run.revision for run in read(folder / "runs.json")] == ["1", ""]


def test_list_runs_nothing(folder, capsys):
    write(folder / "vecadd.json", [OLD])
    assert command_line.main(["--list"]) == 0
    assert f"vecadd: {COMMAND}" in capsys.readouterr().err
    assert read(folder / "vecadd.json") == [OLD]


def test_a_command_is_added_with_its_text(folder):
    assert command_line.main(["--add", "vecadd", COMMAND, "--output"]) == 0
    (run,) = read(folder / "vecadd.json")
    assert run.output.startswith("PASS: vecadd")


def test_energy_from_gates_needs_a_library(folder, monkeypatch, capsys):
    monkeypatch.delenv(take.LIBRARY, raising=False)
    write(folder / "gates.json", [Run(command=f"{COMMAND} --liberty cells.lib", result={})])
    assert command_line.main([]) == 0
    assert "left out, since SPICA_PDK names no folder" in capsys.readouterr().err
    monkeypatch.setenv(take.LIBRARY, "/cells")
    assert take.with_library(["--liberty", "cells.lib"]) == ["--liberty", "/cells/cells.lib"]


def test_benchmarks_write_into_a_folder(tmp_path):
    arguments, place = take.invocation(".venv/bin/python -m bench analytic --quick", tmp_path)
    assert arguments[1:] == ["-m", "bench", "analytic", "--quick", "--results", str(tmp_path)]
    assert place == tmp_path / "analytic.json"


def test_parts_without_a_page_are_dropped():
    events, gates = ({"model": model, "total_pj": 1} for model in ("events", "gates"))
    runs = [{"config": {}, "energy": events}, {"cycles": 2, "energy": gates}]
    assert shortened({"runs": runs}) == {"runs": [{}, {"cycles": 2, "energy": gates}]}


def test_other_files_are_refused(folder, capsys):
    (folder / "other.json").write_text(json.dumps({"runs": []}))
    assert command_line.main(["other"]) == 2
    assert "must be a file of stored results" in capsys.readouterr().err
