"""Tests of build steps: reports, remembered durations, damaged files."""

import json
from types import SimpleNamespace

import pytest

from spica.base import build_step as build_step_module
from spica.base.build_cache import cache_directory
from spica.base.build_step import build_step, expected_seconds, remember
from spica.explore.sweep.steps import StepFile, current_steps


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def clock(monkeypatch):
    """Return the seconds that each following step takes."""
    seconds = SimpleNamespace(step=0.0, now=0.0)

    def monotonic():
        seconds.now += seconds.step
        return seconds.now

    monkeypatch.setattr(build_step_module, "time", SimpleNamespace(monotonic=monotonic))
    return seconds


def test_a_step_is_expected_to_take_as_long_as_before(clock):
    steps = []

    def progress(*step):
        steps.append(step)

    clock.step = 5.0
    with build_step(progress, "verilating", size=100, total=3):
        pass
    assert steps == [("verilating", 0, 3, None)]
    with build_step(progress, "verilating", size=100):
        pass
    assert steps[1] == ("verilating", 0, 1, 5.0)


def test_a_cached_step_is_no_measure_of_others(clock):
    """A tool with a cache of its own takes a fraction of a second, or of its usual time."""
    for clock.step in (0.1, 223.0, 3.0):
        with build_step(lambda *_: None, "compiling", size=1000):
            pass
    assert expected_seconds("compiling", 1000) == 223.0
    assert expected_seconds("compiling", 3000) == 669.0
    remember("compiling", 1100, 3.0)
    assert expected_seconds("compiling", 1000) is None
    assert expected_seconds("compiling", 1100) is None


def test_a_step_in_the_background_is_not_remembered(clock, tmp_path):
    clock.step = 5.0
    with build_step(StepFile(str(tmp_path), "tiny"), "verilating"):
        assert current_steps(str(tmp_path)) == "tiny: verilating"
    assert expected_seconds("verilating", 1) is None


def test_durations_scale_with_the_size():
    remember("verilating", 1000, 2.0)
    remember("verilating", 50_000, 10.0)
    assert expected_seconds("verilating", 1500) == 3.0
    assert expected_seconds("verilating", 100_000) == 20.0
    remember("verilating", 1000, 4.0)
    assert expected_seconds("verilating", 1000) == 4.0
    assert expected_seconds("linking", 1000) is None


def test_variants_have_durations_of_their_own():
    remember("compiling -O0", 10, 1.0)
    steps = []
    for level in ("-O0", "-O2"):
        with build_step(lambda *step: steps.append(step), "compiling", size=10, variant=level):
            pass
    assert [step[0] for step in steps] == ["compiling", "compiling"]
    assert [step[3] for step in steps] == [1.0, None]


def test_a_failed_step_is_not_remembered():
    with pytest.raises(ValueError), build_step(lambda *_: None, "verilating"):
        raise ValueError
    assert expected_seconds("verilating", 1) is None


def test_a_step_without_progress_is_not_remembered():
    with build_step(None, "verilating"):
        pass
    assert expected_seconds("verilating", 1) is None


def test_few_durations_are_kept():
    for size in range(1, 40):
        remember("verilating", size, 1.0)
    stored = json.loads((cache_directory() / "durations.json").read_text())
    assert [size for size, _ in stored["verilating"]] == [32, 33, 34, 35, 36, 37, 38, 39]


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "1", '{"verilating": 3}', '{"verilating": [[]]}', "[" * 100_000),
        *('{"verilating": [["a", 1]]}', '{"verilating": [[0, 1], [1, -1], [1, NaN]]}'),
        f'{{"verilating": [[1, {10**400}]]}}',
    ],
)
def test_a_damaged_file_counts_as_absent(cache, text):
    cache.mkdir()
    (cache / "durations.json").write_text(text)
    assert expected_seconds("verilating", 1) is None
    remember("verilating", 1, 2.0)
    assert expected_seconds("verilating", 1) == 2.0


def test_sound_durations_next_to_damaged_ones_count(cache):
    cache.mkdir()
    (cache / "durations.json").write_text('{"a": [[1, 2], [2]], "b": null}')
    assert expected_seconds("a", 1) == 2.0


def test_an_unwritable_cache_remembers_nothing(cache):
    cache.write_text("")
    with build_step(lambda *_: None, "verilating"):
        pass
    assert expected_seconds("verilating", 1) is None
