"""Tests that both engines run the same machine: a small copier behind an AXI4-Lite port."""

import numpy as np
import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.base.errors import MachineError, UserError
from spica.hw.emit.shared_block import SharedBlock
from spica.hw.lib.axi import BURST_INCR, Axi4LiteSignature, Axi4Signature
from spica.sim.harness.dram import DramConfig, Fault
from spica.sim.machine.command_machine import CommandMachine

BEAT = 16
SOURCE, TARGET = 0x8000_0040, 0x8001_0000
REGISTERS = {"source": 0x0, "target": 0x4, "beats": 0x8, "start": 0xC, "done": 0x10}
WRITE, WAIT_EQUAL, WAIT_REACHED, READ = range(4)


class Copier(SharedBlock):
    """Copies `beats` beats, one single-beat burst after the other."""

    def __init__(self, config):
        self.config = config
        super().__init__({
            "source": In(32),
            "target": In(32),
            "beats": In(16),
            "start": In(1),
            "axi": Out(Axi4Signature(address_width=32, data_width=8 * BEAT, id_width=2)),
            "busy": Out(1),
            "done": Out(16),
        })

    def build(self, platform):
        m = Module()
        axi, left, offset = self.axi, Signal(16), Signal(32)
        buffer = Signal(8 * BEAT, reset_less=True)
        for channel in ("aw", "ar"):
            m.d.comb += [
                getattr(axi, f"{channel}burst").eq(BURST_INCR),
                getattr(axi, f"{channel}size").eq(4),
            ]
        m.d.comb += [
            axi.araddr.eq(self.source + offset),
            axi.awaddr.eq(self.target + offset),
            axi.wdata.eq(buffer),
            axi.wstrb.eq(~0),
            axi.wlast.eq(1),
        ]
        with m.FSM() as fsm:
            with m.State("idle"), m.If(self.start):
                m.d.sync += [left.eq(self.beats), offset.eq(0)]
                m.next = "request"
            with m.State("request"):
                m.d.comb += axi.arvalid.eq(1)
                with m.If(axi.arready):
                    m.next = "read"
            with m.State("read"):
                m.d.comb += axi.rready.eq(1)
                m.d.sync += buffer.eq(axi.rdata)
                with m.If(axi.rvalid):
                    m.next = "address"
            with m.State("address"):
                m.d.comb += axi.awvalid.eq(1)
                with m.If(axi.awready):
                    m.next = "write"
            with m.State("write"):
                m.d.comb += axi.wvalid.eq(1)
                with m.If(axi.wready):
                    m.next = "respond"
            with m.State("respond"):
                m.d.comb += axi.bready.eq(1)
                with m.If(axi.bvalid):
                    m.d.sync += [left.eq(left - 1), offset.eq(offset + BEAT)]
                    m.next = "request"
                    with m.If(left == 1):
                        m.d.sync += self.done.eq(self.done + 1)
                        m.next = "idle"
            m.d.comb += self.busy.eq(~fsm.ongoing("idle") | self.start)
        return m


class CopyTop(wiring.Component):
    """The copier in a separate clock domain, its registers, and a second, silent master."""

    def __init__(self):
        master = Axi4Signature(address_width=32, data_width=8 * BEAT, id_width=2)
        super().__init__({
            "s_axil": In(Axi4LiteSignature(address_width=16)),
            "m_axi0": Out(master),
            "m_axi1": Out(master),
            "copy_busy": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        copier = Copier(0)
        m.submodules.copier = DomainRenamer("copy")(copier)
        bus = self.s_axil
        wiring.connect(m, copier.axi, wiring.flipped(self.m_axi0))
        m.d.comb += self.copy_busy.eq(copier.busy)
        write = bus.awvalid & bus.wvalid & ~bus.bvalid
        m.d.comb += [bus.awready.eq(write), bus.wready.eq(write), bus.arready.eq(~bus.rvalid)]
        m.d.sync += copier.start.eq(0)
        with m.If(bus.bready):
            m.d.sync += bus.bvalid.eq(0)
        with m.If(bus.rready):
            m.d.sync += bus.rvalid.eq(0)
        with m.If(write):
            m.d.sync += [bus.bvalid.eq(1), bus.bresp.eq(0)]
            with m.Switch(bus.awaddr):
                for name in ("source", "target", "beats"):
                    with m.Case(REGISTERS[name]):
                        m.d.sync += getattr(copier, name).eq(bus.wdata)
                with m.Case(REGISTERS["start"]):
                    m.d.sync += copier.start.eq(1)
                with m.Default():
                    m.d.sync += bus.bresp.eq(2)
        with m.If(bus.arvalid & bus.arready):
            m.d.sync += [bus.rvalid.eq(1), bus.rdata.eq(copier.done)]
        return m


def copy_commands(beats, *, done=1):
    return np.array(
        [
            (WRITE, REGISTERS["source"], SOURCE, 0),
            (WRITE, REGISTERS["target"], TARGET, 0),
            (WRITE, REGISTERS["beats"], beats, 0),
            (WRITE, REGISTERS["start"], 1, 0),
            (WAIT_REACHED, REGISTERS["done"], done, 0),
            (READ, REGISTERS["done"], 0, 0),
        ],
        np.uint32,
    )


def copy_machine(**options):
    return CommandMachine(CopyTop(), name="copy_top", optimize=0, **options)


def run_copy(data, **options):
    """Copy `data` twice; return the executions and the target's contents."""
    with copy_machine(**options) as machine:
        machine.write(SOURCE, data)
        executions = [
            machine.execute(copy_commands(len(data) // BEAT, done=n), 100_000) for n in (1, 2)
        ]
        return executions, machine.read(TARGET, data.nbytes)


@pytest.fixture
def data():
    return np.random.default_rng(1).integers(0, 256, 5 * BEAT, dtype=np.uint8)


def figures(execution):
    return (
        execution.cycles,
        execution.first_command,
        execution.last_response,
        execution.reads.tolist(),
        execution.channels,
    )


@pytest.mark.parametrize("stall", [0.0, 0.3])
@pytest.mark.quick(1)
def test_engines_and_gatings_agree_in_values_and_cycles(data, stall):
    dram = DramConfig(stall=stall, seed=3)
    reference, copied = run_copy(data, engine="amaranth", memory=dram)
    assert copied.tobytes() == data.tobytes()
    assert [execution.reads.tolist() for execution in reference] == [[1], [2]]
    for gating in ("ungated", "gated", "random"):
        executions, copied = run_copy(data, engine="verilator", gating=gating, memory=dram)
        assert copied.tobytes() == data.tobytes()
        assert list(map(figures, executions)) == list(map(figures, reference))
        sleeping = executions[0].clocked["sync"] - executions[0].clocked["copy"]
        assert (sleeping > 0) == (gating != "ungated")


def test_round_trip_is_the_stated_latency(data):
    (first, _), _ = run_copy(data[:BEAT])
    (long, _), _ = run_copy(data[: 2 * BEAT])
    # One beat more: a read of 100 cycles and a write of 100, and the five states between.
    assert 200 <= long.last_response - first.last_response <= 206
    assert first.elapsed == first.last_response - first.first_command


def test_hang_says_what_it_waited_for(data):
    hang = pytest.raises(MachineError, match="no progress for 501 cycles")
    with copy_machine(watchdog=500) as machine, hang as caught:
        machine.execute(copy_commands(1, done=5))
    message = str(caught.value)
    assert "command 4 of 6, wait until 0x0010 reaches 5, and last read 0x1" in message
    assert "busy: copy 0" in message
    assert "m_axi0: 0 reads and 0 writes outstanding, asserted: none" in message


def test_limit_is_an_error():
    late = pytest.raises(MachineError, match="not done after 300 cycles")
    with copy_machine() as machine, late:
        machine.execute(copy_commands(9), max_cycles=300)


@pytest.mark.parametrize("engine", ["amaranth", "verilator"])
@pytest.mark.quick(1)
def test_refused_access_names_its_command(engine):
    commands = np.array([(READ, 0, 0, 0), (WRITE, 0x44, 7, 0), (READ, 0, 0, 0)], np.uint32)
    with copy_machine(engine=engine) as machine:
        with pytest.raises(MachineError, match="command 1, write 0x7 to 0x0044, got response"):
            machine.execute(commands)
        execution = machine.execute(commands, check=False)
    assert execution.errors == ((1, 0x44, 2),)
    assert len(execution.reads) == 2


def test_injected_fault_does_not_hang(data):
    with copy_machine() as machine:
        machine.write(SOURCE, data)
        machine.inject([Fault(start=TARGET, end=TARGET + BEAT, reads=False)])
        machine.execute(copy_commands(2), 10_000)
        assert not machine.read(TARGET, BEAT).any()
        assert machine.read(TARGET + BEAT, BEAT).tobytes() == data[BEAT : 2 * BEAT].tobytes()


@pytest.mark.full
def test_waveform_holds_its_windows_only(tmp_path, data):
    path = tmp_path / "copy.vcd"
    run_copy(data, vcd=str(path), windows=[(100, 110), (130, 132)])
    stamps = [int(line[1:]) for line in path.read_text().splitlines() if line.startswith("#")]
    assert stamps == [*range(200, 220), *range(260, 264)]
    run_copy(data, engine="amaranth", vcd=str(path))
    assert "copier" in path.read_text()


def test_bad_requests_are_one_sentence():
    with pytest.raises(UserError, match="engine must be one of verilator, amaranth, not 'x'"):
        CommandMachine(None, name="none", engine="x")
    with pytest.raises(UserError, match=r"gating must be one of .*, not 'x'"):
        CommandMachine(None, name="none", gating="x")
    with copy_machine() as machine:
        with pytest.raises(UserError, match="commands must be integers of shape"):
            machine.execute(np.zeros((2, 3), np.uint32))
        with pytest.raises(UserError, match="DRAM addresses must lie in"):
            machine.write(0, b"x")
        with pytest.raises(UserError, match="DRAM addresses must lie in"):
            machine.read(0xFEFF_FFFF, 2)
