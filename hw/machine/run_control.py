"""Run control of the cores for the host: start, state, faults, console and exit codes."""

from functools import reduce
from operator import or_
from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ..cluster.run_signature import RunSignature
from ..config import RunControlConfig
from ..emit.shared_block import SharedBlock
from ..isa.memory_map import ARGUMENTS, ENTRY, core_registers
from ..lib.one_hot import lowest, select
from ..lib.register_bridge import decode
from ..lib.register_bus import RegisterSignature
from .console import Console
from .flush_control import FlushControl, FlushSignature, RunProgressSignature

__all__ = ["RunControl"]


def record_layout() -> data.StructLayout:
    """Layout of a fault record as read by the host."""
    return data.StructLayout({
        "cause": 8,
        "of_memory": 8,
        "warp": 8,
        "core": 8,
        "pc": 32,
        "address": 32,
        "lanes": 32,
    })


class RunControl(SharedBlock):
    """Run control: the registers of `address_map.core_registers`.

    Requests are never held. Accepted writes are the first to ``start`` that starts a cluster and
    sets no other bit, any 1 to ``flush``, and before the start those to entries and arguments;
    other writes and addresses without a register are refused. `start` rises 1 cycle after the
    write, `flush` 2 cycles after it. Registers show core outputs 2 cycles later. Of simultaneous
    faults the one of the lowest core is recorded, control faults before memory faults. A console
    byte is lost if `CONSOLE_BYTES` are queued.

    Parameters
    ----------
    config : RunControlConfig

    Members
    -------
    registers : In(RegisterSignature(8))
    start : Out(clusters)
        Starts the cores of each cluster; stays high.
    entry, arguments : Out(data.ArrayLayout(32, clusters))
        Only with several clusters: of the program of each.
    cores : In(RunSignature(config)).array(clusters * cores)
    unheard : In(1)
        A command word reached no matrix unit.
    units_busy : In(1)
        A unit has unfinished work.
    slices : Out(FlushSignature(masters))
        See `FlushControl`.
    refused : In(1)
        DRAM refused a write-back.
    runs : Out(1)
        A core is busy or its writes have not reached DRAM, and no fault is recorded.
    error : Out(1)
        A fault is recorded, a command word reached no unit, or DRAM refused a write-back.
    """

    def __init__(self, config: RunControlConfig):
        self.config = config
        launch = {}
        if config.clusters > 1:
            words = data.ArrayLayout(32, config.clusters)
            launch = {
                name: Out(words, init=[first] * config.clusters)  # pyright: ignore[reportCallIssue]
                for name, first in (("entry", ENTRY), ("arguments", ARGUMENTS))
            }
        super().__init__({
            "registers": In(RegisterSignature(8)),
            **launch,
            "start": Out(config.clusters),
            "cores": In(RunSignature(config)).array(config.clusters * config.cores),
            "unheard": In(1),
            "units_busy": In(1),
            "slices": Out(FlushSignature(config.masters)),
            "refused": In(1),
            "runs": Out(1),
            "error": Out(1),
        })

    def build(self, platform):
        m = Module()
        cores = range(len(self.cores))
        busy, unheard, refused = Signal(len(cores)), Signal(), Signal()
        failed, record = self.record(m)
        takes = Signal()
        m.submodules.console = console = Console(len(self.cores))
        for run, o in zip(self.cores, console.cores, strict=True):
            connect(m, flipped(run).console, o)
        text: Any = stream.Signature(8).flip().create(path=("text",))
        connect(m, console.o, text)
        m.submodules.flusher = flusher = FlushControl(self.config.masters)
        progress: Any = RunProgressSignature().create(path=("progress",))
        connect(m, progress, flusher.progress)
        connect(m, flusher.slices, flipped(self.slices))
        m.d.sync += [
            busy.eq(Cat(core.busy for core in self.cores)),
            unheard.eq(unheard | self.unheard),
            refused.eq(refused | self.refused),
            progress.units_busy.eq(self.units_busy),
        ]
        m.d.comb += [
            progress.start.eq(self.start.any()),
            progress.busy.eq(busy.any()),
            progress.faulty.eq(failed),
            text.ready.eq(takes),
            self.runs.eq((busy.any() | progress.runs) & ~failed),
            self.error.eq(failed | unheard | refused),
        ]

        request, response = self.registers.request, self.registers.response
        launches = self.launches
        values = {
            "start": self.start,
            "state": Cat(self.runs, failed, text.valid, console.lost, unheard, refused),
            "busy": busy,
            "console": Cat(Mux(text.valid, text.payload, 0), text.valid),
            "fault": Cat(record.cause, record.of_memory, record.warp, record.core),
            "fault_pc": record.pc,
            "fault_address": record.address,
            "fault_lanes": record.lanes,
            "flush": progress.requested,
            **launches,
            **{f"exit_code_{core}": self.cores[core].exit_code for core in cores},
        }
        registers = core_registers(self.config.cores, self.config.clusters)
        addresses = [[register.offset] for register in registers.values()]
        named = decode(m, request.payload.address, addresses, "named")
        chosen = dict(zip(registers, named, strict=False))
        written, writes, starts, launched = request.payload.data, Signal(), Signal(), Signal()
        clusters = self.config.clusters
        m.d.comb += [
            request.ready.eq(1),
            writes.eq(request.valid & request.payload.write),
            starts.eq(
                writes
                & chosen["start"]
                & ~self.start.any()
                & written[:clusters].any()
                & ~written[clusters:].any()
            ),
            progress.request.eq(writes & chosen["flush"] & (written == 1)),
            takes.eq(request.valid & ~request.payload.write & chosen["console"]),
        ]
        for name, word in launches.items():
            with m.If(writes & chosen[name] & ~self.start.any()):
                m.d.comb += launched.eq(1)
                m.d.sync += word.eq(written)
        m.d.sync += [
            self.start.eq(self.start | Mux(starts, written[:clusters], 0)),
            response.valid.eq(request.valid),
            response.payload.data.eq(
                reduce(or_, [Mux(chosen[name], value, 0) for name, value in values.items()])
            ),
            response.payload.error.eq(
                named[-1] | (request.payload.write & ~starts & ~progress.request & ~launched)
            ),
        ]
        return m

    @property
    def launches(self) -> dict[str, Value]:
        """Entry and address of arguments of each cluster, by the names of their registers."""
        clusters = range(self.config.clusters if self.config.clusters > 1 else 0)
        return {
            f"{name}_{cluster}": getattr(self, name)[cluster]
            for cluster in clusters
            for name in ("entry", "arguments")
        }

    def record(self, m: Module) -> tuple[Signal, data.View]:
        """Latch the first fault; return its valid flag and its record."""
        valid, offers = [], []
        for core, run in enumerate(self.cores):
            for of_memory, fault in enumerate((run.fault, run.memory_fault)):
                payload = fault.payload
                names = ("kind", "mask") if of_memory else ("cause", "lanes")
                cause, lanes = (payload[name] for name in names)
                offer = Signal(record_layout(), name=f"offer_{core}_{of_memory}")
                m.d.comb += [
                    offer.cause.eq(cause),
                    offer.of_memory.eq(of_memory),
                    offer.core.eq(core),
                    offer.lanes.eq(lanes),
                    *(offer[name].eq(payload[name]) for name in ("warp", "pc", "address")),
                ]
                valid.append(fault.valid)
                offers.append(Value.cast(offer))
        failed, record = Signal(), Signal(record_layout())
        first = Signal(len(valid))
        m.d.comb += first.eq(lowest(Cat(valid)))
        with m.If(~failed):
            m.d.sync += failed.eq(first.any())
            with m.If(first.any()):
                m.d.sync += Value.cast(record).eq(select(first, offers))
        return failed, record
