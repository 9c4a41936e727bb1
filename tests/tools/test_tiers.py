"""Tests of `support.tiers`: tests of the quick, the full and the slow tier."""

import subprocess
import sys
from pathlib import Path

import pytest

from support.tiers import FULL_TIER, QUICK_TIER

TESTS = Path(__file__).parents[1]
MODULE = """
import pytest

@pytest.mark.parametrize("b", [3, 4])
@pytest.mark.parametrize("a", ["x", "y"])
@pytest.mark.quick({patterns})
def test_cases(a, b): pass

@pytest.mark.full
def test_long(): pass

@pytest.mark.slow
def test_longer(): pass

def test_short(): pass
"""


def collected(folder: Path, selection: str, *more: str) -> tuple[set[str], str]:
    """Return the names of the tests that a selection collects, and the output."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", selection, *more]
    command += ["-c", str(TESTS.parent / "pyproject.toml"), "-p", "no:randomly", str(folder)]
    run = subprocess.run(command, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    lines = run.stdout.splitlines()
    return {line.split("::", 1)[-1] for line in lines if "::" in line}, run.stdout


@pytest.fixture
def module_of(tmp_path):
    """Write a module whose cases are marked with patterns; return its folder."""

    def write(patterns: str) -> Path:
        (tmp_path / "conftest.py").write_text((TESTS / "conftest.py").read_text())
        (tmp_path / "test_example.py").write_text(MODULE.format(patterns=patterns))
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("patterns", "cases"),
    [
        ('"x-*"', {"x-3", "x-4"}),
        ('"*-4", "y-3"', {"x-4", "y-4", "y-3"}),
        ("1", {"y-3"}),
        ("2", {"x-4", "y-4"}),
        ('1, "x-3"', {"x-3", "y-3"}),
    ],
)
@pytest.mark.full
def test_chosen_cases_are_quick(module_of, patterns, cases):
    folder = module_of(patterns)
    quick, output = collected(folder, QUICK_TIER)
    assert quick == {"test_short", *(f"test_cases[{case}]" for case in cases)}, output
    every = {f"test_cases[{a}-{b}]" for a in "xy" for b in (3, 4)}
    assert collected(folder, FULL_TIER)[0] == {"test_short", "test_long", *every}
    assert collected(folder, "slow")[0] == {"test_longer"}


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ('"x-*", "z"', "no case matches the pattern 'z'"),
        ("", "must choose some of 4 cases, not 0"),
        ('"*"', "must choose some of 4 cases, not 4"),
        ("4", "must choose some of 4 cases, not 4"),
    ],
)
@pytest.mark.quick(1)
def test_a_mark_that_chooses_nothing_or_all_is_an_error(module_of, patterns, message):
    assert message in collected(module_of(patterns), QUICK_TIER)[1]


def test_every_folder_of_blocks_is_in_the_quick_tier():
    """Each folder below tests/hw with tests has some that `make test` runs."""
    folders = {path.parent for path in (TESTS / "hw").rglob("test_*.py")}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "--tier=quick"]
    run = subprocess.run(
        [*command, str(TESTS / "hw")], cwd=TESTS.parent, capture_output=True, text=True, check=True
    )
    files = {line.split("::")[0] for line in run.stdout.splitlines() if "::" in line}
    assert folders - {(TESTS.parent / file).parent for file in files} == set()
