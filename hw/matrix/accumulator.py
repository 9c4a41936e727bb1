"""The accumulator: rows of partial sums in an SRAM, added to as they arrive."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import MatrixConfig
from ..emit import SharedBlock
from ..float.add import Add, AddConfig
from ..formats import FloatFormat, IntFormat
from ..sram import Sram

__all__ = ["Accumulator", "AccumulatorLane", "LaneConfig", "accumulator_target"]


def accumulator_target(config: MatrixConfig) -> data.StructLayout:
    """Layout of where a row of sums goes, and whether it is added to what is there."""
    return data.StructLayout({"address": config.accumulator_address_width, "accumulate": 1})


@dataclass(frozen=True, kw_only=True)
class LaneConfig:
    """Format and latency of one lane of the accumulator."""

    form: FloatFormat | IntFormat
    latency: int

    @property
    def identity(self) -> int:
        """What leaves every value as it is when added: -0, for +0 would change the sign of -0."""
        return 1 << (self.form.width - 1) if isinstance(self.form, FloatFormat) else 0


class AccumulatorLane(SharedBlock):
    """``o = sum + stored`` if `accumulate`, else ``o = sum``, `config.latency` cycles later.

    One sum per cycle, no back-pressure.

    Parameters
    ----------
    config : LaneConfig

    Members
    -------
    sum : In(config.form.width)
    stored : In(config.form.width)
    accumulate : In(1)
    o : Out(config.form.width)

    """

    sum: Signal
    stored: Signal
    accumulate: Signal
    o: Signal

    def __init__(self, config: LaneConfig):
        self.config = config
        width = config.form.width
        super().__init__({
            "sum": In(width),
            "stored": In(width),
            "accumulate": In(1),
            "o": Out(width),
        })

    def build(self, platform):
        m = Module()
        config = self.config
        addend = Signal(config.form.width)
        m.d.comb += addend.eq(Mux(self.accumulate, self.stored, config.identity))
        if isinstance(config.form, FloatFormat):
            m.submodules.add = add = Add(AddConfig(form=config.form, latency=config.latency))
            m.d.comb += [add.a.eq(self.sum), add.b.eq(addend), self.o.eq(add.o)]
            return m
        total = (self.sum + addend)[: config.form.width]
        for cycle in range(config.latency):
            stage = Signal(config.form.width, reset_less=True, name=f"total_{cycle}")
            m.d.sync += stage.eq(total)
            total = stage
        m.d.comb += self.o.eq(total)
        return m


class Accumulator(wiring.Component):
    """Add rows of partial sums to rows of an SRAM, or overwrite them, one row per cycle.

    `target` comes one cycle before its `sums`; the row is written ``1 + add_latency`` cycles
    after `target` and seen by reads in later cycles. So `target` may name a row again with
    `accumulate` only ``2 + add_latency`` cycles later (simulation asserts it). There is no
    back-pressure on `target`; other reads wait while a row with `accumulate` takes the one read
    port::

        cycle     0        1      ...  1 + add_latency
        target    x
        sums               x
        SRAM      read x               write x

    Parameters
    ----------
    config : MatrixConfig

    Members
    -------
    target : In(accumulator_target(config))
    target_valid : In(1)
    sums : In(columns * accumulator width)
        Column 0 lowest.
    read : In(stream.Signature(address))
        Row to read for others.
    stored : Out(columns * accumulator width)
        That row, in the cycle after it was accepted only.
    writing : Out(1)
        Some row that came is not yet written. Low in the cycle of its `target`.

    """

    target: data.View
    target_valid: Signal
    sums: Signal
    read: stream.Interface
    stored: Signal
    writing: Signal

    def __init__(self, config: MatrixConfig):
        self.config = config
        width = config.columns * config.accumulator_format.width
        super().__init__({
            "target": In(accumulator_target(config)),
            "target_valid": In(1),
            "sums": In(width),
            "read": In(stream.Signature(config.accumulator_address_width)),
            "stored": Out(width),
            "writing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        width = config.accumulator_format.width
        m.submodules.rows = rows = Sram(depth=config.accumulator_rows, width=config.columns * width)

        is_read = Signal()
        m.d.comb += [
            is_read.eq(self.target_valid & self.target.accumulate),
            self.read.ready.eq(~is_read),
            rows.read_enable.eq(is_read | self.read.valid),
            rows.read_address.eq(Mux(is_read, self.target.address, self.read.payload)),
            self.stored.eq(rows.read_data),
        ]

        # The last entry of each line is the row that leaves the adders.
        address_width = config.accumulator_address_width
        valid_line = Signal(1 + config.add_latency)
        address_line = Signal((1 + config.add_latency) * address_width, reset_less=True)
        accumulate = Signal(reset_less=True)
        m.d.sync += [
            valid_line.eq(Cat(self.target_valid, valid_line)),
            address_line.eq(Cat(self.target.address, address_line)),
            accumulate.eq(self.target.accumulate),
        ]
        m.d.comb += [
            self.writing.eq(valid_line.any()),
            rows.write_mask.eq(valid_line[-1]),
            rows.write_address.eq(address_line[-address_width:]),
        ]

        lane_config = LaneConfig(form=config.accumulator_format, latency=config.add_latency)
        for column in range(config.columns):
            m.submodules[f"lane_{column}"] = lane = AccumulatorLane(lane_config)
            m.d.comb += [
                lane.sum.eq(self.sums.word_select(column, width)),
                lane.stored.eq(rows.read_data.word_select(column, width)),
                lane.accumulate.eq(accumulate),
                rows.write_data.word_select(column, width).eq(lane.o),
            ]
        return m
