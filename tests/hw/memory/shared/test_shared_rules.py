"""Tests of the conflict rules of rows, lanes and wide requesters: rates equal the definition."""

import pytest

from spica.sim.golden.memory.shared.conflict_rules import RULES, SUBBANKS, eight_cores
from support.memory.shared_rules import accesses_per_cycle
from support.memory.shared_stress import SharedStress


@pytest.fixture(scope="module", params=SUBBANKS)
def stress(request):
    with SharedStress(eight_cores(request.param), optimize=0) as stress:
        yield stress


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
@pytest.mark.quick("8-*")
def test_rates_are_as_stated(stress, rule):
    expected = rule.expected[SUBBANKS.index(stress.config.memory.subbanks)]
    if expected is None:
        assert stress.config.slices == 1
    else:
        assert accesses_per_cycle(stress, rule) == expected
