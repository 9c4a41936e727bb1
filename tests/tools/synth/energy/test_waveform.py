"""Waveforms: values of one block in each cycle, and files that are refused."""

import pytest

from spica.hw.base.errors import UserError
from spica.synth.energy.waveform import Recorded, read_waveforms

HEAD = """$version some $end
$timescale 1ps $end
 $scope module top $end
  $var wire 1 a clk $end
  $scope module core0 $end
   $var wire 1 b clk $end
   $var wire 12 c count [11:0] $end
   $var wire 1 d is_full $end
   $scope module queue $end
    $var wire 12 c level [11:0] $end
    $var wire 2 e head [1:0] $end
   $upscope $end
  $upscope $end
  $scope module core00 $end
   $var wire 1 f is_full $end
  $upscope $end
 $upscope $end
$enddefinitions $end
"""
#: Cycles 5 to 8, the clock withheld in cycle 6.
CHANGES = """
#10
0a
0b
b100000000001 c
0d
bxx e
1f
#11
1a
1b
b10 c
#12
0a
0b
1d
#13
1a
#14
0a
#15
1a
1b
0d
b11 e
#16
0a
0b
"""
NAMES = {"count", "is_full", "queue.level", "queue.head", "absent"}


def read(text, scope="top.core0"):
    lines = text.splitlines(keepends=True)
    return read_waveforms(lines, {scope: Recorded(names=NAMES, clock="clk")})[scope]


def numbers(bits):
    return [sum(int(bit) << k for k, bit in enumerate(column)) for column in bits.T]


def test_values_in_each_cycle():
    waveform = read(HEAD + CHANGES)
    assert waveform.cycles.tolist() == [5, 6, 7, 8]
    assert waveform.windows == [range(1, 4)]
    assert waveform.clocked.tolist() == [True, False, True, False]  # the last has no edge yet
    assert set(waveform.signals) == {"clk", "count", "is_full", "queue.level", "queue.head"}
    assert waveform.signals["count"].shape == (12, 4)
    assert numbers(waveform.signals["count"]) == [0x801, 2, 2, 2]
    assert numbers(waveform.signals["queue.level"]) == [0x801, 2, 2, 2]
    assert numbers(waveform.signals["is_full"]) == [0, 1, 1, 0]
    assert numbers(waveform.signals["queue.head"]) == [0, 0, 0, 3]


def test_a_block_without_a_clock():
    lines = (HEAD + CHANGES).splitlines()
    block = Recorded(names={"is_full"}, clock=None)
    waveform = read_waveforms(lines, {"top.core00": block})["top.core00"]
    assert waveform.clocked.all()
    assert numbers(waveform.signals["is_full"]) == [1, 1, 1, 1]


def test_several_windows_and_blocks():
    """A window follows after a gap; a block contains another one that is read too."""
    later = CHANGES.replace("#14", "#20").replace("#15", "#21").replace("#16", "#22")
    blocks = {
        "top.core0": Recorded(names={"count", "queue.head"}, clock="clk"),
        "top.core0.queue": Recorded(names={"level"}, clock=None),
    }
    found = read_waveforms((HEAD + later).splitlines(), blocks)
    core, queue = found["top.core0"], found["top.core0.queue"]
    assert core.cycles.tolist() == [5, 6, 10, 11]
    assert core.windows == [range(1, 2), range(3, 4)]
    assert core.clocked.tolist() == [True, False, True, False]
    assert numbers(core.signals["count"]) == [0x801, 2, 2, 2]
    assert numbers(core.signals["queue.head"]) == [0, 0, 0, 3]
    assert numbers(queue.signals["level"]) == [0x801, 2, 2, 2]
    assert queue.clocked.all()


def test_files_that_are_refused():
    with pytest.raises(UserError, match=r"the waveform must have a clock top.core1.clk"):
        read(HEAD + CHANGES, "top.core1")
    for changes in ("", CHANGES.replace("#14", "#10")):
        with pytest.raises(UserError, match="must have one cycle or more, in ascending order"):
            read(HEAD + changes)
