"""Tests of the choice between a model in one piece and one that is composed of blocks."""

from pathlib import Path

import pytest

from spica.base.errors import UserError
from spica.hw.presets.presets import PRESETS
from spica.sim.run.model_choice import LONG, Work, composed, expected_cycles
from spica.sim.run.options import RunOptions

SHORT_OF_CORES, LONG_OF_CORES = Work(1000), Work(1 << 40)
SHORT_OF_UNIT, LONG_OF_UNIT = Work(2000, (1000,)), Work(1 << 41, (1 << 40,))


def choice(preset: str, work: Work | None, **options) -> bool:
    return composed(PRESETS[preset], RunOptions(**options), work)


@pytest.mark.parametrize("work", [SHORT_OF_CORES, LONG_OF_CORES, SHORT_OF_UNIT, None])
@pytest.mark.parametrize("preset", ["tiny", "virgo"])
def test_a_quick_build_is_always_composed(preset, work):
    assert choice(preset, work, build="quick")


@pytest.mark.parametrize("build", [None, "fast"])
def test_a_long_run_takes_the_faster_model(build):
    assert choice("virgo", LONG_OF_CORES, build=build)  # four cores execute the same code
    assert not choice("virgo", LONG_OF_UNIT, build=build)
    assert not choice("core", LONG_OF_CORES, build=build)


def test_a_fast_build_does_not_depend_on_the_length():
    for preset, work in (("core", SHORT_OF_CORES), ("virgo", SHORT_OF_UNIT), ("core", None)):
        assert not choice(preset, work, build="fast")


def test_a_short_run_and_one_of_unknown_length_take_the_model_that_is_built_faster():
    for work in (SHORT_OF_CORES, SHORT_OF_UNIT, None):
        assert choice("virgo", work)
    assert choice("core", SHORT_OF_CORES)
    assert choice("core", None)


def test_the_expected_length_follows_the_peak_rates():
    virgo = PRESETS["virgo"]
    assert expected_cycles(virgo, SHORT_OF_UNIT) == 1000 / virgo.units[0].macs
    lanes = virgo.cores * virgo.core.threads
    assert expected_cycles(virgo, SHORT_OF_CORES) == 4 * 1000 / lanes
    assert expected_cycles(virgo, SHORT_OF_CORES) < LONG < expected_cycles(virgo, LONG_OF_UNIT)


def test_a_waveform_has_all_signals():
    assert not choice("virgo", SHORT_OF_CORES, trace=Path("waves.vcd"))


def test_an_unknown_build_is_refused():
    with pytest.raises(UserError, match="build must be one of quick, fast, not 'slow'"):
        choice("virgo", None, build="slow")
