"""Writeback: assigns the results of the units to the writeback buses."""

from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ...config import PipelineConfig
from ...emit.component import Component
from ...lib.age_matrix import ages, oldest
from ...lib.interfaces.execution_unit import result_layout
from ...lib.one_hot import select, union
from ...lib.streams import ResponseSignature

__all__ = ["Writeback"]


class Writeback(Component):
    """Writeback arbiter: assigns the buses to results, oldest first, until they are written.

    A result is on a bus in the cycle in which it is offered, if a bus is free. Among results
    offered in one cycle, the lowest source counts as the oldest. A result keeps its bus until it is
    written. Up to one result per bus is written per cycle; the bus is free in the next cycle. The
    results of a source are written in order. Combinational from sources to buses and back.

    Parameters
    ----------
    config : PipelineConfig
        The core.
    sources : int
        Units that offer results, 1 or more.

    Members
    -------
    result : In(stream.Signature(result_layout(config))).array(sources)
        Results of each unit; ready when written.
    write : Out(stream.Signature(result_layout(config))).array(writeback_buses)
        Result on each bus, to the register banks.
    bus : Out(ResponseSignature(result_layout(config))).array(writeback_buses)
        Result on each bus that is written in this cycle, or completes without a write.
    """

    def __init__(self, config: PipelineConfig, sources: int):
        if sources < 1:
            raise ValueError(f"sources must be at least 1, not {sources!r}")
        self.config = config
        self.sources = sources
        layout, buses = result_layout(config), config.writeback_buses
        super().__init__({
            "result": In(stream.Signature(layout)).array(sources),
            "write": Out(stream.Signature(layout)).array(buses),
            "bus": Out(ResponseSignature(layout)).array(buses),
        })

    def elaborate(self, platform):
        m = Module()
        config, sources = self.config, self.sources
        valid = Cat(result.valid for result in self.result)
        waiting = Signal(sources)
        older: Any = ages(m, waiting)
        held = [
            Signal(sources, name=f"held_{bus}") for bus in range(config.writeback_buses)
        ]  # source that keeps each bus, if any
        free = Signal(sources, name="free_0")
        m.d.comb += free.eq(valid & ~union(held))
        written = []
        for number in range(config.writeback_buses):
            write, bus = self.write[number], self.bus[number]
            new = Signal(sources, name=f"new_{number}")
            chosen = Signal(sources, name=f"chosen_{number}")
            done = Signal(sources, name=f"done_{number}")
            m.d.comb += [
                new.eq(Mux(held[number].any(), 0, oldest(free, older))),
                chosen.eq(held[number] | new),
                done.eq(Mux(write.ready, chosen, 0)),
                write.valid.eq(chosen.any()),
                write.payload.eq(select(chosen, [result.payload for result in self.result])),
                bus.valid.eq(write.valid & write.ready),
                bus.payload.eq(write.payload),
            ]
            m.d.sync += held[number].eq(Mux(write.ready, 0, chosen))
            written.append(done)
            rest = Signal(sources, name=f"free_{number + 1}")
            m.d.comb += rest.eq(free & ~new)
            free = rest
        ready = union(written)
        m.d.comb += waiting.eq(valid & ~ready)
        m.d.comb += [result.ready.eq(ready[number]) for number, result in enumerate(self.result)]
        return m
