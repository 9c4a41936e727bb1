"""Tests of comments with the source lines of registers."""

import inspect
import re
from pathlib import Path

import pytest
from amaranth import *
from amaranth.lib.wiring import In, Out

import spica
from spica.hw.emit.component import Component
from spica.hw.emit.emitter import emit
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS

COMMENT = re.compile(r"(?:^|\s)// (\S+\.py):(\d+)$", re.M)


class Delay(Component):
    """Two registers, one of them a port, and logic."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        stored = Signal(8)
        inverse = Signal(8)
        m.d.sync += [stored.eq(inverse), self.o.eq(stored)]
        m.d.comb += inverse.eq(~self.i)
        return m


def test_a_register_has_the_line_of_its_signal():
    text = emit(Delay(), "top", has_source_lines=True).verilog
    lines, first = inspect.getsourcelines(Delay)
    line = first + next(k for k, line in enumerate(lines) if "stored = Signal" in line)
    place = rf"\S*{Path(__file__).name}:{line}"
    assert re.search(rf"^  reg \[7:0\] stored; // {place}$", text, re.M)
    assert re.search(r"^  output reg \[7:0\] o // \S+\.py:\d+\n\);", text, re.M)
    assert len(COMMENT.findall(text)) == 2


def test_without_the_option_there_are_none():
    assert not COMMENT.search(emit(Delay(), "top").verilog)


@pytest.fixture(scope="module")
def texts():
    """Return the text of a preset without and with source lines."""
    machine = PRESETS["tiny_matrix"]
    return [
        emit(Machine(machine), "tiny_matrix", has_source_lines=has_source_lines).verilog
        for has_source_lines in (False, True)
    ]


@pytest.mark.full
def test_comments_are_all_that_changes(texts):
    plain, commented = texts
    without = re.sub(r"^  // \S+\.py:\d+\n| // \S+\.py:\d+$", "", commented, flags=re.M)
    assert without == plain
    assert max(map(len, commented.splitlines())) <= 120


@pytest.mark.full
def test_each_line_exists(texts):
    _, commented = texts
    root = Path(spica.__file__).parent
    places = set(COMMENT.findall(commented))
    assert len(places) > 50
    for file, line in places:
        if not file.startswith("amaranth/"):
            assert int(line) <= (root / file).read_text().count("\n")
