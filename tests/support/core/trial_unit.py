"""Trial unit behind register groups: collects its micro-operations and mixes their operands."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from spica.hw.config import PipelineConfig
from spica.hw.isa.operations import PORTS, Port, SpecialOperation
from spica.hw.lib.interfaces.execution_unit import operation_layout, result_layout
from support.core.trial_groups import SIZE

__all__ = ["TrialUnit", "mixed"]


def mixed(a, b, c):
    """Return the result of a micro-operation, modulo 2**32; each operand counts differently."""
    return a + (b ^ (b >> 1)) + (c ^ (c >> 3))


class TrialUnit(wiring.Component):
    """Trial unit: `mixed` operands of each micro-operation; the sum of all for a single result.

    Micro-operations of different warps may alternate. Results follow the last one, in order.

    Parameters
    ----------
    config : PipelineConfig

    Members
    -------
    i : In(stream.Signature(operation_layout(config)))
    o : Out(stream.Signature(result_layout(config)))
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, config: PipelineConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(operation_layout(config))),
            "o": Out(stream.Signature(result_layout(config))),
        })

    def elaborate(self, platform):
        m = Module()
        threads, operation, result = self.config.threads, self.i.payload, self.o.payload
        row = data.ArrayLayout(32, threads)
        rows = Signal(data.ArrayLayout(data.ArrayLayout(row, SIZE), self.config.warps))
        mixture, total = Signal(row), Signal(row)
        grouped = PORTS[Port.SPECIAL].groups[SpecialOperation.COS].destination is not None
        for thread in range(threads):
            words = [rows[operation.warp][beat][thread] for beat in range(SIZE - 1)]
            m.d.comb += [
                mixture[thread].eq(mixed(*(operation.operands[k][thread] for k in range(3)))),
                total[thread].eq(sum(words) + mixture[thread]),
            ]
        beat, valid = Signal(range(SIZE)), Signal()
        m.d.comb += [
            self.i.ready.eq(~valid),
            self.o.valid.eq(valid),
            result.values.eq(rows[result.warp][beat]),
            result.more.eq(beat != SIZE - 1),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += rows[operation.warp][operation.beat].eq(mixture)
            with m.If(operation.beat == SIZE - 1):
                m.d.sync += [
                    valid.eq(1),
                    beat.eq(0 if grouped else SIZE - 1),
                    *(result[name].eq(operation[name]) for name in ("warp", "mask", "pc")),
                    result.rd.eq(operation.rd & -SIZE if grouped else operation.rd),
                    result.writes.eq(operation.writes),
                ]
                if not grouped:
                    m.d.sync += rows[operation.warp][SIZE - 1].eq(total)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [
                beat.eq(beat + 1),
                result.rd.eq(result.rd + 1),
                valid.eq(beat != SIZE - 1),
            ]
        return m
