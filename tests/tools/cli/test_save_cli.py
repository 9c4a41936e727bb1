"""Tests of ``--save`` and ``spica resume``: a run resumed in another process ends identically."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from spica.sim.machine.saved_run import SavedRun
from support.command_line import message_of, refused, run_spica

GEMM = "run gemm --preset tiny_matrix --size 8"
COUNTING = """
#include <spica.h>
int main(void) {
    for (int i = 0; i < 20; i++) printf("%d\\n", i);
    return 0;
}
"""


def in_process(command, folder):
    """Run a command line in a separate process; return its exit code and output."""
    command = [sys.executable, "-m", "spica.cli", *command.split()]
    done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def result_of(command, folder):
    """Run a command line; return its result without wall-clock times."""
    code, _, errors = in_process(f"{command} --json result.json", folder)
    assert code == 0, errors
    result = json.loads((folder / "result.json").read_text())
    return {name: result[name] for name in result if name != "speed"}


def assert_resumable(command, folder, moments=2):
    """Save a run in random cycles and at limits; each resumed run ends like the straight run."""
    expected = result_of(command, folder)
    rng = random.Random(command)
    for _ in range(moments):
        cycle = rng.randrange(1, expected["run_cycles"])
        saving = "--save run.spica --force"
        assert result_of(f"{command} {saving} --save-at {cycle}", folder) == expected
        assert SavedRun.read(folder / "run.spica").snapshot.cycle == cycle
        assert result_of("resume run.spica", folder) == expected
        paused = result_of(f"{command} {saving} --max-cycles {cycle}", folder)
        assert (paused["status"], paused["check"]["verdict"]) == ("saved", None)
        assert result_of("resume run.spica", folder) == expected


@pytest.mark.full
def test_a_product_of_the_host_continues_in_another_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_spica(f"{GEMM} --json straight.json") == 0
    straight = json.loads((tmp_path / "straight.json").read_text())
    del straight["speed"]
    assert run_spica(f"{GEMM} --save run.spica --max-cycles 600") == 0
    assert result_of("resume run.spica", tmp_path) == straight


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "run gemm --preset tiny_matrix --size 40 --gating random --dram-bandwidth 5",
        "run gemm --preset tiny --size 12",
        "run gemm_bias_gelu --preset tiny --size 12 --no-lockstep",
        "run vecadd --preset tiny --size 300 --gating random",
        "run vecadd --preset core --size 500"
        " --memory-latency 9 --memory-jitter 20 --memory-stall 0.3",
        "run sgemm --preset core --size 16 --dram-latency 60",
        "run gemm --preset virgo --size 256",
        "run gemm --preset matrix --size 256",
    ],
)
def test_runs_continue_in_another_process(command, tmp_path):
    assert_resumable(command, tmp_path)


@pytest.mark.slow
def test_a_program_of_ones_own_prints_the_rest(tmp_path):
    (tmp_path / "count.c").write_text(COUNTING)
    run = "run count.c --preset tiny"
    code, straight, _ = in_process(run, tmp_path)
    assert code == 0
    code, first, errors = in_process(f"{run} --save r --max-cycles 5000", tmp_path)
    assert code == 0 and "Saved at cycle 5,000: continue with spica resume r" in errors
    code, second, _ = in_process("resume r", tmp_path)
    printed = "".join(f"{number}\n" for number in range(20))
    assert 0 < len(first) < len(printed)
    assert code == 0 and (first + second).startswith(printed) and straight.startswith(printed)

    (tmp_path / "count.c").write_text(COUNTING.replace("20", "21"))
    code, _, errors = in_process("resume r", tmp_path)
    assert code == 2 and "the resumed run: code must be" in errors


@pytest.fixture
def saved(tmp_path, capsys, monkeypatch):
    """Return a file with a saved run."""
    monkeypatch.chdir(tmp_path)
    assert run_spica(f"{GEMM} --save run.spica --save-at 300") == 0
    said = capsys.readouterr()
    assert said.out.startswith("PASS: gemm m=8 n=8 k=8 on tiny_matrix\n")
    assert "Saved at cycle 300: continue with spica resume run.spica" in said.err
    return tmp_path / "run.spica"


@pytest.mark.full
def test_a_run_continues_from_another_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "count.c").write_text(COUNTING)
    (tmp_path / "headers").mkdir()
    (tmp_path / "elsewhere").mkdir()
    run = "run count.c -I headers --preset tiny --no-lockstep"
    assert run_spica(f"{run} --save run.spica --max-cycles 2000") == 0
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = "resume ../run.spica --json result.json"
    assert run_spica(f"{again} --save next.spica --save-at 3000") == 0
    assert {path.name for path in (tmp_path / "elsewhere").iterdir()} == {
        "next.spica",
        "result.json",
    }
    assert Path.cwd() == tmp_path / "elsewhere"


def test_a_file_is_replaced_only_by_force(saved, capsys):
    before = saved.read_bytes()
    again = f"{GEMM} --save run.spica --save-at 400"
    message = "run.spica exists; choose another file, or --force to replace it"
    assert message in refused(capsys, again)
    assert saved.read_bytes() == before
    assert run_spica(f"{again} --force") == 0
    assert SavedRun.read(saved).snapshot.cycle == 400


def test_a_file_that_cannot_be_used_is_refused(saved, capsys):
    data = saved.read_bytes()
    saved.write_bytes(data[:-1])
    assert "checkpoint run.spica is incomplete" in refused(capsys, "resume run.spica")
    saved.write_bytes(data[:-1] + b"?")
    assert "checkpoint run.spica is damaged" in refused(capsys, "resume run.spica")
    saved.write_bytes(b"#!/bin/sh")
    assert "run.spica is not a checkpoint of Spica" in refused(capsys, "resume run.spica")
    assert "no such file" in refused(capsys, "resume absent.spica")


def test_a_run_of_another_design_is_refused(saved, capsys):
    run = SavedRun.read(saved)
    other = replace(run.snapshot, identity="another")
    replace(run, snapshot=other).write(saved)
    assert "must be of this design" in message_of(capsys, "resume run.spica")
    replace(run, command=None).write(saved)
    assert "was saved from Python" in message_of(capsys, "resume run.spica")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--save r", "--save needs --save-at, the cycle"),
        ("--save-at 5", "--save-at needs --save"),
        ("--force", "--force needs --save"),
        ("--save r --save-at 0", "--save-at must be at least 1"),
        ("--save r --save-at 9 --max-cycles 9", "below its limit of 9"),
        (
            "--save r --save-at 9 --engine amaranth",
            "checkpoints need engine verilator, not amaranth",
        ),
        ("--save r --save-at 9 --trace t.vcd", "cannot write a trace"),
        ("--save . --save-at 9 --force", "not the folder ."),
    ],
)
def test_what_means_nothing_is_refused(options, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert said in refused(capsys, f"{GEMM} {options}")
    assert not list(tmp_path.iterdir())


def test_a_run_that_ends_before_is_not_saved(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_spica(f"{GEMM} --save r --save-at 1000000") == 0
    assert "Not saved: the run ended before cycle 1,000,000" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_limit_counts_from_the_beginning(saved, capsys):
    assert "must be above 300" in refused(capsys, "resume run.spica --max-cycles 300")
    assert run_spica("resume run.spica --max-cycles 301") == 1
    assert "was not done after 301 cycles" in capsys.readouterr().err
