"""Tests of Verilog for simulators: writes of whole words, and signals that waveforms have."""

import random
import re

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emitter import emit
from spica.hw.emit.writer.text.tracing import OFF, ON, recording_all
from spica.hw.lib.sram import Sram
from spica.sim.engine.block_bench import BlockBench
from spica.synth.equivalence import require_equal
from spica.synth.yosys import YosysError


class Two(wiring.Component):
    """A memory of words in three parts, and one without parts."""

    mask: In(3)
    address: In(2)
    i: In(12)
    o: Out(12)
    whole: Out(12)

    def elaborate(self, platform):
        m = Module()
        m.submodules.parts = parts = Sram(depth=4, width=12, granularity=4)
        m.submodules.whole = whole = Sram(depth=4, width=12)
        for port, o in ((parts, self.o), (whole, self.whole)):
            m.d.comb += [
                port.write.mask.eq(self.mask),
                port.write.address.eq(self.address),
                port.write.data.eq(self.i),
                port.read.valid.eq(1),
                port.read.payload.eq(~self.address),
                o.eq(port.data),
            ]
        return m


class Parts(wiring.Component):
    """A memory whose parts are written by logic, always, never; with `ports` write ports."""

    a: In(3)
    b: In(3)
    i: In(8)
    o: Out(8)

    def __init__(self, ports: int = 1):
        self.ports = ports
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=8, init=range(1, 9))
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(self.b), self.o.eq(~read.data)]
        enables = [self.a[0] & self.b[1], 1, 0, self.a[0] ^ self.b[2]]
        for number in range(self.ports):
            write = memory.write_port(granularity=2)
            m.d.comb += [
                write.addr.eq(self.a + self.b + number),
                write.data.eq(self.i ^ number),
                write.en.eq(Cat(enables)),
            ]
        return m


def both(component, name):
    """Return the Verilog of a component for any tool, and for a simulator."""
    return [emit(component(), name, simulated=simulated).verilog for simulated in (False, True)]


def test_a_word_is_written_at_once():
    plain, simulated = both(Two, "two")
    assert len(re.findall(r"^ +if \(.*\) memory\[.*\]\[\d+:\d+\] <=", plain, re.M)) == 3
    assert len(re.findall(r"memory\[.*\] <= {$", simulated, re.M)) == 1
    assert not re.search(r"memory\[.*\]\[\d+:\d+\] <=", simulated)


@pytest.mark.parametrize("component", [Two, Parts])
def test_memories_are_proven_equal(component):
    plain, simulated = both(component, "pair")
    assert plain != simulated
    shown = require_equal(simulated, plain, "pair")
    assert int(re.findall(r"(\d+) are proven", shown)[-1]) >= 48


def test_another_memory_is_found():
    plain, simulated = both(Two, "two")
    wrong = simulated.replace("[0] ? ", "[1] ? ", 1)
    assert wrong != simulated
    with pytest.raises(YosysError, match="unproven"):
        require_equal(wrong, plain, "two")


def test_simulations_of_memories_agree():
    rng = random.Random(1)
    inputs = {
        name: [rng.randrange(1 << width) for _ in range(500)]
        for name, width in (("a", 3), ("b", 3), ("i", 8))
    }
    outputs = []
    for simulated in (False, True):
        emission = emit(Parts(), "parts", simulated=simulated)
        with BlockBench(emission, optimize=0) as bench:
            bench.reset()
            outputs.append(bench.run(**inputs)["o"])
    assert (outputs[0] == outputs[1]).all()


def test_ports_that_share_words_write_parts():
    """Each port could write another part of a word in the same cycle."""
    text = emit(Parts(ports=2), "parts", simulated=True).verilog
    assert len(re.findall(r"memory\[.*\]\[\d+:\d+\] <=", text)) == 6
    assert "<= {\n" not in text


class Traced(wiring.Component):
    """Signals of each kind: ports, registers, logic, memories, and a component in it."""

    i: In(4)
    o: Out(4)
    sums: Out(12)

    def elaborate(self, platform):
        m = Module()
        m.submodules.clocked = clocked = Memory(shape=4, depth=16, init=[])
        m.submodules.direct = direct = Memory(shape=4, depth=16, init=[])
        m.submodules.two = two = Two()
        stored, logic = Signal(4), Signal(4)
        read, shown = clocked.read_port(), direct.read_port(domain="comb")
        for memory in (clocked, direct):
            write = memory.write_port()
            m.d.comb += [write.en.eq(1), write.addr.eq(stored), write.data.eq(self.i)]
        m.d.sync += stored.eq(logic)
        m.d.comb += [
            logic.eq(stored + self.i),
            read.addr.eq(logic),
            shown.addr.eq(logic),
            two.i.eq(Cat(logic, stored, logic)),
            self.sums.eq(two.o),
            self.o.eq((logic ^ read.data) + shown.data),
        ]
        return m


def declared(lines):
    """Return the names of wires, registers and memories that lines declare, in two lists."""
    names, is_on = ([], []), True
    for line in lines:
        if line in (OFF, ON):
            assert is_on == (line == OFF)
            is_on = line == ON
        elif declared := re.match(r"  (?:wire|reg) (?:\[\d+:\d+\] )?(\w+)", line):
            names[is_on].append(declared[1])
    assert is_on
    return names


def test_waveforms_have_registers_and_read_data():
    text = emit(Traced(), "traced", simulated=True).verilog
    module = text[text.index("module traced (") : text.index("endmodule")]
    hidden, shown = declared(module.splitlines())
    clocked = re.search(r"(\w+) <= clocked\[", module)
    direct = re.search(r"wire \[3:0\] (\w+) = direct\[", module)
    stored = re.search(r"(\w+) <= \w+ \+ i|clocked\[(\w+)\] <= i;", module)
    assert clocked and direct and stored
    assert set(shown) == {clocked[1], direct[1], stored[1] or stored[2]}
    assert {"clocked", "direct"} < set(hidden)


def test_marks_are_in_texts_for_simulators_only():
    plain, simulated = both(Traced, "traced")
    assert "tracing" not in plain
    assert simulated.count(OFF) == simulated.count(ON) > 0
    assert "tracing" not in recording_all(simulated)
    assert declared(recording_all(simulated).splitlines())[0] == []


class OneWord(wiring.Component):
    """A memory of one word, whose address has no bits."""

    i: In(4)
    o: Out(4)
    stored: Out(4)

    def elaborate(self, platform):
        m = Module()
        m.submodules.word = word = Memory(shape=4, depth=1, init=[])
        write, read, stored = word.write_port(), word.read_port(domain="comb"), word.read_port()
        m.d.comb += [write.en.eq(1), write.data.eq(self.i), self.o.eq(read.data)]
        m.d.comb += [stored.en.eq(1), self.stored.eq(stored.data)]
        return m


def test_a_memory_of_one_word():
    with BlockBench(emit(OneWord(), "one_word", simulated=True), optimize=0) as bench:
        assert bench.run(i=[3, 5, 7])["o"].tolist()[1:] == [3, 5]
