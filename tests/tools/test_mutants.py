"""Tests that the planted faults fit the sources, and that each is of a different kind."""

from pathlib import Path

import pytest

from support.root_modules import root_module

MUTANTS = root_module("bench.mutants").MUTANTS
planted_file = root_module("formal.sources").planted_file

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_sources(mutant):
    assert planted_file(mutant.inside, mutant.old).suffix
    assert mutant.old != mutant.new
    assert all((ROOT / test.partition("::")[0]).exists() for test in mutant.tests)


def test_ten_kinds_of_faults():
    assert len({mutant.fault for mutant in MUTANTS}) >= 10


def test_a_text_that_is_not_in_one_source_is_refused():
    with pytest.raises(ValueError, match="in one source that defines Arbiter, not in 0: 'no such"):
        planted_file("Arbiter", "no such text")
    with pytest.raises(ValueError, match="in one source that defines Nowhere, not in 0"):
        planted_file("Nowhere", MUTANTS[0].old)
