"""Tests of targets of make, with tools that only say what they are given."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = ("python", "ruff", "spica", "jupyter-execute")


@pytest.fixture
def make(tmp_path):
    """Return the function that makes a target with tools that fail by `ends`, by their words."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        tool = folder / name
        tool.write_text(f'#!/bin/sh\necho "{name} $*"\n. {tmp_path}/ends\nexit 0\n')
        tool.chmod(0o755)
    for stamp in ("core", "dev", "examples"):
        (tmp_path / f"{stamp}.stamp").touch()

    def made(*arguments, ends=None):
        cases = "".join(f'*"{words}"*) exit {code};; ' for words, code in (ends or {}).items())
        (tmp_path / "ends").write_text(f'case "$0 $*" in {cases} esac\n')
        command = [
            "make",
            *arguments,
            f"VENV={tmp_path}",
            f"DEMO={tmp_path}/demo",
            "PYTHON=python3",
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    return made


@pytest.mark.parametrize("failing", ["ruff check", "ruff format", "pytest", None])
def test_a_check_runs_its_tests_whatever_lint_says(make, failing):
    code, said = make("check", "ROOM=cli", ends={failing: 1} if failing else {})
    assert (code == 0) == (failing is None)
    assert "ruff check ." in said and "ruff format --check ." in said
    assert "pytest -q" in said and "tests/tools/cli" in said


def test_an_example_without_its_tool_is_skipped(make):
    code, said = make("examples", ends={"cocotb/run.py": 77})
    assert code == 0 and "litex/run.py" in said and "jupyter-execute --output" in said
    code, said = make("examples", ends={"cocotb/run.py": 1})
    assert code != 0 and "litex/run.py" not in said


def test_the_demo_names_its_files(make, tmp_path):
    code, said = make("demo")
    assert code == 0
    assert f"Open in a browser: {tmp_path}/demo/gemm.html" in said
    for name in ("gemm.json", "verilog/virgo.v"):
        assert f"{tmp_path}/demo/{name}" in said.partition("Open in a browser")[2]
