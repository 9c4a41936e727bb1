"""Tests that the planted faults fit the sources, and that each is of a different kind."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def load_mutants():
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "bench/mutants.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MUTANTS


@pytest.mark.parametrize("mutant", load_mutants(), ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_sources(mutant):
    assert (ROOT / mutant.file).read_text().count(mutant.old) == 1
    assert mutant.old != mutant.new
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutant.tests)


def test_ten_kinds_of_faults():
    assert len({mutant.fault for mutant in load_mutants()}) >= 10
