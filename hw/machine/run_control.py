"""Run control of the cores for the host: start, state, faults, console and exit codes."""

from functools import reduce
from operator import or_

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..cluster.run_signature import RunSignature
from ..config import RunControlConfig
from ..emit.shared_block import SharedBlock
from ..isa.memory_map import ARGUMENTS, ENTRY, core_registers
from ..lib.merge import Merge
from ..lib.one_hot import lowest, select
from ..lib.register_bridge import decode
from ..lib.register_bus import RegisterSignature
from ..lib.streams import Queue
from .flush_control import FlushControl

__all__ = ["CONSOLE_BYTES", "RunControl"]

#: Console bytes buffered for the host; further bytes are lost.
CONSOLE_BYTES = 256


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
    flush : Out(1)
        See `FlushControl`.
    flushed : In(masters)
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
            "flush": Out(1),
            "flushed": In(config.masters),
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
        text, lost = self.collect(m, takes)
        m.submodules.flusher = flusher = FlushControl(self.config.masters)
        m.d.sync += [
            busy.eq(Cat(core.busy for core in self.cores)),
            unheard.eq(unheard | self.unheard),
            refused.eq(refused | self.refused),
            flusher.units_busy.eq(self.units_busy),
        ]
        m.d.comb += [
            flusher.start.eq(self.start.any()),
            flusher.busy.eq(busy.any()),
            flusher.faulty.eq(failed),
            flusher.flushed.eq(self.flushed),
            self.flush.eq(flusher.flush),
            self.runs.eq((busy.any() | flusher.runs) & ~failed),
            self.error.eq(failed | unheard | refused),
        ]

        request, response = self.registers.request, self.registers.response
        launches = self.launches
        values = {
            "start": self.start,
            "state": Cat(self.runs, failed, text.valid, lost, unheard, refused),
            "busy": busy,
            "console": Cat(Mux(text.valid, text.payload, 0), text.valid),
            "fault": Cat(record.cause, record.of_memory, record.warp, record.core),
            "fault_pc": record.pc,
            "fault_address": record.address,
            "fault_lanes": record.lanes,
            "flush": flusher.requested,
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
            flusher.request.eq(writes & chosen["flush"] & (written == 1)),
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
                named[-1] | (request.payload.write & ~starts & ~flusher.request & ~launched)
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

    def record(self, m: Module):
        """Latch the first fault; return its valid flag and its record."""
        found, offers = [], []
        for core, run in enumerate(self.cores):
            for of_memory, fault in enumerate((run.fault, run.memory_fault)):
                payload = fault.payload
                cause, lanes = (
                    (payload.kind, payload.mask)
                    if of_memory
                    else (
                        payload.cause,
                        payload.lanes,
                    )
                )
                offer = Signal(record_layout(), name=f"offer_{core}_{of_memory}")
                m.d.comb += [
                    offer.cause.eq(cause),
                    offer.of_memory.eq(of_memory),
                    offer.core.eq(core),
                    offer.lanes.eq(lanes),
                    *(offer[name].eq(payload[name]) for name in ("warp", "pc", "address")),
                ]
                found.append(fault.valid)
                offers.append(Value.cast(offer))
        failed, record = Signal(), Signal(record_layout())
        first = Signal(len(found))
        m.d.comb += first.eq(lowest(Cat(found)))
        with m.If(~failed):
            m.d.sync += failed.eq(first.any())
            with m.If(first.any()):
                m.d.sync += Value.cast(record).eq(select(first, offers))
        return failed, record

    def collect(self, m: Module, takes):
        """Queue the bytes of the console; return the queue's output and whether bytes were lost."""
        m.submodules.merge = merge = Merge(8, len(self.cores))
        m.submodules.text = text = Queue(8, CONSOLE_BYTES)
        for core, run in enumerate(self.cores):
            i, console = merge.i[core], run.console
            m.d.comb += [
                i.valid.eq(console.valid),
                i.payload.eq(console.payload),
                console.ready.eq(i.ready),
            ]
        lost = Signal()
        m.d.comb += [
            merge.o.ready.eq(1),
            text.i.valid.eq(merge.o.valid),
            text.i.payload.eq(merge.o.payload.payload),
            text.o.ready.eq(takes),
        ]
        m.d.sync += lost.eq(lost | (merge.o.valid & ~text.i.ready))
        return text.o, lost
