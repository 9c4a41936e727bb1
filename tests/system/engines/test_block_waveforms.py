"""Waveforms of a composed model: those of the parts agree with that of one model."""

import json

import pytest

from spica.hw.emit.emission import REST
from spica.sim.engine.blocks.composition import CLOCKS
from spica.synth.energy.recorded_signals import Recorded
from spica.synth.energy.waveform import WaveformFile, read_waveforms
from support.cluster.engine_runs import MACHINES, assert_same, observe, ragged

pytestmark = pytest.mark.full

NAME = "narrow"
WINDOWS = [(300, 340), (400, 410)]
CYCLES = [cycle for first, end in WINDOWS for cycle in range(first, end)]


class Everything:
    """Collection with the name of every signal."""

    def __contains__(self, _):
        return True


def read(files):
    blocks = {NAME: Recorded(names=Everything(), clock=None)}
    with_lines = (WaveformFile(place=p, lines=path.read_text().splitlines()) for p, path in files)
    (waveform,) = read_waveforms(with_lines, CYCLES, blocks).values()
    return waveform.signals


def test_parts_agree_with_one_model(tmp_path):
    problem = ragged(MACHINES[NAME], 19, 23, 31)
    flat, blocks = tmp_path / "flat.vcd", tmp_path / "blocks"
    blocks.mkdir()
    one, clocks = observe(NAME, problem, vcd=str(flat), windows=WINDOWS)
    other, same_clocks = observe(NAME, problem, vcd=str(blocks), windows=WINDOWS, composed=True)
    assert_same(one, other)
    assert clocks == same_clocks
    parts = json.loads((blocks / CLOCKS).read_text())
    places = {part: NAME if part == REST else f"{NAME}.{part}" for part in parts}
    expected = read([(NAME, flat)])
    recorded = read([(place, blocks / f"{part}.vcd") for part, place in places.items()])
    common = expected.keys() & recorded.keys()
    assert len(common) > 0.95 * len(recorded)
    assert not [name for name in sorted(common) if (expected[name] != recorded[name]).any()]
    within = {name.partition(".")[0] for name in common}
    assert within >= parts.keys() - {REST}
