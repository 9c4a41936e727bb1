"""Waveforms: values of blocks in each cycle, their clocks, and files that are refused."""

import pytest

from spica.base.errors import UserError
from spica.synth.energy.recorded_signals import PART, Recorded
from spica.synth.energy.waveform import WaveformFile, clock_ports, read_waveforms

HEAD = """$version some $end
$timescale 1ps $end
 $scope module top $end
  $scope module driven_top $end
   $var wire 1 a p0 $end
   $scope module block $end
    $var wire 1 a core_clk $end
    $scope module core0 $end
     $var wire 1 b clk $end
     $var wire 12 c count [11:0] $end
     $var wire 1 d is_full $end
     $scope module queue $end
      $var wire 1 a clk $end
      $var wire 12 c level [11:0] $end
      $var wire 2 e head [1:0] $end
     $upscope $end
    $upscope $end
    $scope module core00 $end
     $var wire 1 f is_full $end
    $upscope $end
   $upscope $end
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


CYCLES = [5, 6, 7, 8]


def waveforms(*texts):
    for number, text in enumerate(texts):
        lines = text.splitlines(keepends=True)
        yield WaveformFile(place=f"machine.part{number}", lines=lines)


def read(text, scope="core0", cycles=CYCLES):
    path = f"machine.part0.{scope}"
    blocks = {path: Recorded(names=NAMES, clock="clk")}
    return read_waveforms(waveforms(text), cycles, blocks)[path]


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
    blocks = {"machine.part0.core00": Recorded(names={"is_full"}, clock=None)}
    (waveform,) = read_waveforms(waveforms(HEAD + CHANGES), CYCLES, blocks).values()
    assert waveform.clocked.all()
    assert numbers(waveform.signals["is_full"]) == [1, 1, 1, 1]


def test_several_windows_and_blocks():
    """A window follows after a gap; a block contains another one that is read too."""
    later = CHANGES.replace("#14", "#20").replace("#15", "#21").replace("#16", "#22")
    path = "machine.part0.core0"
    blocks = {
        path: Recorded(names={"count", "queue.head"}, clock="clk"),
        f"{path}.queue": Recorded(names={"level"}, clock=None),
    }
    recordings = read_waveforms(waveforms(HEAD + later), [5, 6, 10, 11], blocks)
    core, queue = recordings[path], recordings[f"{path}.queue"]
    assert core.cycles.tolist() == [5, 6, 10, 11]
    assert core.windows == [range(1, 2), range(3, 4)]
    assert core.clocked.tolist() == [True, False, True, False]
    assert numbers(core.signals["count"]) == [0x801, 2, 2, 2]
    assert numbers(core.signals["queue.head"]) == [0, 0, 0, 3]
    assert numbers(queue.signals["level"]) == [0x801, 2, 2, 2]
    assert queue.clocked.all()


def test_a_block_around_parts():
    """Signals of a part are those of its instance; a file lacks times at which nothing changes."""
    idle = CHANGES[: CHANGES.index("#11")] + "#13\n0d\n#15\n1d\n"
    names = {"part0.core0.is_full", "part1.core0.is_full"}
    blocks = {"machine": Recorded(names=names, clock=None)}
    files = waveforms(HEAD + CHANGES, HEAD + idle)
    (waveform,) = read_waveforms(files, CYCLES, blocks).values()
    assert {name: numbers(bits) for name, bits in waveform.signals.items()} == {
        "part0.core0.is_full": [0, 1, 1, 0],
        "part1.core0.is_full": [0, 0, 0, 1],
    }


def test_clocks_of_instances():
    (file,) = waveforms(HEAD)
    path = "machine.part0"
    assert clock_ports(file, ["core_clk", "other_clk"]) == {f"{path}.core0.queue": "core_clk"}
    inside = [path, f"{path}.core0", f"{path}.core0.queue", f"{path}.core00"]
    assert clock_ports(file, ["core_clk"]) == dict.fromkeys(inside, "core_clk")


def test_files_that_are_refused():
    with pytest.raises(UserError, match=r"must have a clock machine.part0.core1.clk"):
        read(HEAD + CHANGES, "core1")
    with pytest.raises(UserError, match="the waveforms must have cycle 9 of the run"):
        read(HEAD + CHANGES, cycles=[*CYCLES, 9])
    with pytest.raises(UserError, match="the waveforms must have only recorded cycles, not 8"):
        read(HEAD + CHANGES, cycles=CYCLES[:-1])


def test_signals_in_pieces_of_other_names():
    """A netlist's signals are parts of variables of the text, or several of them."""
    places = {
        "low": (("count", 0, 4),),
        "mixed": (("queue.head", 1, 1), ("", 0, 2), ("is_full", 0, 1)),
        "clock": (("clk", 0, 1),),
        "missing": (("absent", 0, 1),),
        "unused": (("is_full", 0, 1),),
    }
    recorded = Recorded(names={"low", "mixed", "missing"}, clock="clock", places=places)
    files = [WaveformFile(place="machine", lines=(HEAD + CHANGES).splitlines())]
    (pieces,) = read_waveforms(files, CYCLES, {"machine.core0": recorded}).values()
    left_out = f"mixed{PART}1{PART}2"
    assert pieces.signals.keys() == {"low", f"mixed{PART}0", f"mixed{PART}3", left_out}
    assert pieces.signals[left_out].shape == (0, len(CYCLES))
    plain = Recorded(names={"count", "is_full", "queue.head"}, clock="clk")
    (whole,) = read_waveforms(files, CYCLES, {"machine.core0": plain}).values()
    assert (pieces.signals["low"] == whole.signals["count"][:4]).all()
    assert (pieces.signals[f"mixed{PART}0"] == whole.signals["queue.head"][1:]).all()
    assert (pieces.signals[f"mixed{PART}3"] == whole.signals["is_full"]).all()
    assert (pieces.clocked == whole.clocked).all()
