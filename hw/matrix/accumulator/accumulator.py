"""Accumulator: an SRAM of partial-sum rows that adds or overwrites incoming rows."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import Flow, In, Out, connect
from amaranth.utils import bits_for, ceil_log2, exact_log2

from ...arith.float.multiply import Multiply, MultiplyConfig
from ...config import SystolicConfig
from ...config.formats import FloatFormat
from ...emit.component import Component
from ...isa.commands import FLOAT_ONE
from ...lib.sram import Sram, SramWriteSignature
from ...lib.streams import ResponseSignature
from .adder import accumulator_adder, neutral_element

__all__ = [
    "SCALE_LATENCY",
    "STORED_LATENCY",
    "Accumulator",
    "accumulator_banks",
    "accumulator_fill",
    "accumulator_target",
    "addend_latency",
    "fill_members",
    "row_scales",
    "scale_members",
]

#: Cycles from the read of a row to its sums. Block RAMs of FPGAs respond late in a cycle, so their
#: output is registered before any logic.
STORED_LATENCY = 2
#: Cycles of the multiplication of a row by its scale.
SCALE_LATENCY = 4
SCALE_WIDTH = 32


def accumulator_target(config: SystolicConfig) -> data.StructLayout:
    """Layout of the destination of a row of sums, and whether it is added to that row.

    With `scaled` that row is multiplied first, by the scale of the row's position in its pass: 0 if
    it `starts` the pass.
    """
    return data.StructLayout({
        "address": config.accumulator_address_width,
        "accumulate": 1,
        **({"scaled": 1, "starts": 1} if config.scales_rows else {}),
    })


def addend_latency(config: SystolicConfig) -> int:
    """Return the cycles from the target of a row to its sums, which meet the addend of the row."""
    return STORED_LATENCY + (SCALE_LATENCY if config.scales_rows else 0)


def row_scales(config: SystolicConfig) -> data.StructLayout:
    """Layout of a line of scales: FP32 values of consecutive rows, and the number of the line."""
    words = config.a_bytes * 8 // SCALE_WIDTH
    return data.StructLayout({
        "line": config.a_bytes * 8,
        "number": bits_for(-(-config.tile[0] // words) - 1),
    })


def accumulator_fill(config: SystolicConfig) -> data.StructLayout:
    """Layout of a write of D: words of one row, those that the mask selects."""
    return data.StructLayout({
        "address": config.accumulator_address_width,
        "data": config.columns * config.accumulator_format.width,
        "mask": config.columns,
    })


def fill_members(config: SystolicConfig, flow: Flow) -> dict[str, Any]:
    """Return the member for rows of D, if there are any."""
    if not config.load_d:
        return {}
    return {"fill": flow(stream.Signature(accumulator_fill(config)))}


def accumulator_banks(config: SystolicConfig) -> int:
    """Return the number of SRAMs that hold the rows: two if each has several rows."""
    return 2 if config.accumulator_rows % 2 == 0 and config.accumulator_rows >= 4 else 1


def scale_members(config: SystolicConfig, flow: Flow) -> dict[str, Any]:
    """Return the member for scales of rows, if the accumulator multiplies by them."""
    if not config.scales_rows:
        return {}
    return {"scales": flow(ResponseSignature(row_scales(config)))}


class Accumulator(Component):
    """Accumulator: adds or overwrites one SRAM row of partial sums per cycle.

    `target` precedes its `sums` by L = ``addend_latency(config)`` cycles. The row is written ``L +
    add_latency`` cycles after `target` and visible to reads in later cycles. `target` may
    therefore name a row again with `accumulate` only ``L + add_latency + 1`` cycles later
    (simulation asserts it). There is no back-pressure on `target`. Even and odd rows are in
    separate SRAMs (`accumulator_banks`), each with one read port. A row with `accumulate` takes
    the port of its SRAM; other reads of that SRAM wait. If rows are added to in order, every
    second cycle has room for another read::

        cycle     0        1        2    ...  L    ...  L + add_latency
        target    x
        sums                                  x
        SRAM      read x   answers                      write x

    With `config.scales_rows` a row of the SRAM is multiplied by its scale, if its target says so,
    and rounded to FP32 before the addition. A memory holds M scales, M of the tile. With
    `config.load_d`, `fill` overwrites words of a row in a cycle in which no sums are written to
    its SRAM.

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    target : In(ResponseSignature(accumulator_target(config)))
    scales : In(ResponseSignature(row_scales(config)))
        Written in this cycle. No target of the three cycles around it is `scaled`. Only with
        `config.scales_rows`.
    fill : In(stream.Signature(accumulator_fill(config)))
        Words of a row that nothing else reads or writes; only with `config.load_d`.
    sums : In(columns * accumulator width)
        Column 0 lowest.
    read : In(stream.Signature(address))
        Row to read for the drain.
    stored : Out(columns * accumulator width)
        That row, exactly `STORED_LATENCY` cycles after the read was accepted.
    writing : Out(1)
        A received row is not yet written. Low in the cycle of its `target`.

    """

    def __init__(self, config: SystolicConfig):
        self.config = config
        width = config.columns * config.accumulator_format.width
        super().__init__({
            "target": In(ResponseSignature(accumulator_target(config))),
            **scale_members(config, In),
            **fill_members(config, In),
            "sums": In(width),
            "read": In(stream.Signature(config.accumulator_address_width)),
            "stored": Out(width),
            "writing": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        config = self.config
        width = config.accumulator_format.width
        banks = self.banks(m)
        select = exact_log2(len(banks))
        is_read = Signal()
        added, needed = self.target.payload.address[:select], self.read.payload[:select]
        m.d.comb += [
            is_read.eq(self.target.valid & self.target.payload.accumulate),
            self.read.ready.eq(~(is_read & (added == needed))),
        ]
        for number, rows in enumerate(banks):
            takes = is_read & (added == number)
            read: Any = ResponseSignature(rows.shape.address_width).create(path=(f"read_{number}",))
            connect(m, read, rows.read)
            m.d.comb += [
                read.valid.eq(takes | (self.read.valid & (needed == number))),
                read.payload.eq(
                    Mux(takes, self.target.payload.address[select:], self.read.payload[select:])
                ),
            ]
        identities = Const(neutral_element(config), width).replicate(config.columns)
        # Bank of each row read.
        added_from, read_from = Signal(select, reset_less=True), Signal(select, reset_less=True)
        accumulates = Signal(reset_less=True)
        addends = Signal(len(self.stored), reset_less=True)
        stored = Signal(len(self.stored), reset_less=True)
        data_of = Array(rows.data for rows in banks)
        m.d.sync += [
            added_from.eq(added),
            read_from.eq(needed),
            accumulates.eq(self.target.payload.accumulate),
            addends.eq(Mux(accumulates, data_of[added_from], identities)),
            stored.eq(data_of[read_from]),
        ]
        m.d.comb += self.stored.eq(stored)

        addends = self.scaled(m, addends)

        # The last entry of each shift register belongs to the row that leaves the adders.
        address_width = config.accumulator_address_width
        cycles = addend_latency(config) + config.add_latency
        valid_line = Signal(cycles)
        address_line = Signal(cycles * address_width, reset_less=True)
        m.d.sync += [
            valid_line.eq(Cat(self.target.valid, valid_line)),
            address_line.eq(Cat(self.target.payload.address, address_line)),
        ]
        m.d.comb += [
            self.writing.eq(valid_line.any()),
        ]
        written = address_line[-address_width:]
        sums = Signal(len(self.sums))
        for number, rows in enumerate(banks):
            is_written = valid_line[-1] & (written[:select] == number)
            write: Any = SramWriteSignature(rows.shape).create(path=(f"write_{number}",))
            connect(m, write, rows.write)
            m.d.comb += [
                write.mask.eq(is_written.replicate(len(write.mask))),
                write.address.eq(written[select:]),
                write.data.eq(sums),
            ]
            if config.load_d:
                self.write_fill(m, write, number, select, is_written)

        for column in range(config.columns):
            m.submodules[f"add_{column}"] = add = accumulator_adder(config)
            m.d.comb += [
                add.a.eq(self.sums.word_select(column, width)),
                add.b.eq(addends.word_select(column, width)),
                sums.word_select(column, width).eq(add.o),
            ]
        return m

    def write_fill(self, m: Module, write: Any, number: int, select: int, is_written: Value):
        """Write words of D to SRAM `number`, by its port `write`, unless sums are written there."""
        fill = self.fill.payload
        with m.If((fill.address[:select] == number) & ~is_written):
            m.d.comb += [
                write.mask.eq(fill.mask & self.fill.valid.replicate(len(fill.mask))),
                write.address.eq(fill.address[select:]),
                write.data.eq(fill.data),
                self.fill.ready.eq(1),
            ]

    def scaled(self, m: Module, addends: Value) -> Value:
        """Return the row of an earlier target times its scale, `SCALE_LATENCY` cycles later."""
        config, form = self.config, self.config.accumulator_format
        if not config.scales_rows:
            return addends
        assert isinstance(form, FloatFormat)  # integers are not scaled
        width = form.width
        scale = self.scale_of_row(m)
        product = Signal.like(addends, name="product")
        for column in range(config.columns):
            multiply = Multiply(MultiplyConfig(form=form, latency=SCALE_LATENCY))
            m.submodules[f"scale_{column}"] = multiply
            m.d.comb += [
                multiply.a.eq(addends.word_select(column, width)),
                multiply.b.eq(scale),
                product.word_select(column, width).eq(multiply.o),
            ]
        return product

    def scale_of_row(self, m: Module) -> Value:
        """Return the scale of the row of a target, `STORED_LATENCY` cycles later; 1 if unscaled."""
        layout = row_scales(self.config)
        words = layout["line"].width // SCALE_WIDTH
        lines = -(-self.config.tile[0] // words)
        select = ceil_log2(words)
        m.submodules.scales = scales = Sram(depth=max(2, lines), width=layout["line"].width)
        number, following = Signal(range(lines * words)), Signal(range(lines * words))
        word, is_scaled = Signal(select, reset_less=True), Signal(reset_less=True)
        scale = Signal(SCALE_WIDTH, reset_less=True)
        read: Any = ResponseSignature(scales.shape.address_width).create(path=("scale_read",))
        write: Any = SramWriteSignature(scales.shape).create(path=("scale_write",))
        connect(m, read, scales.read)
        connect(m, write, scales.write)
        m.d.comb += [
            read.valid.eq(self.target.valid & self.target.payload.scaled),
            read.payload.eq(number[select:]),
            number.eq(Mux(self.target.payload.starts, 0, following)),
            write.mask.eq(self.scales.valid),
            write.address.eq(self.scales.payload.number),
            write.data.eq(self.scales.payload.line),
        ]
        with m.If(read.valid):
            m.d.sync += following.eq(number + 1)
        m.d.sync += [
            word.eq(number[:select]),
            is_scaled.eq(self.target.payload.scaled),
            scale.eq(Mux(is_scaled, scales.data.word_select(word, SCALE_WIDTH), FLOAT_ONE)),
        ]
        return scale

    def banks(self, m: Module) -> list[Sram]:
        """Return the SRAMs; the lowest bits of a row's address select one."""
        count = accumulator_banks(self.config)
        depth = self.config.accumulator_rows // count
        width = self.config.columns * self.config.accumulator_format.width
        granularity = self.config.accumulator_format.width if self.config.load_d else None
        banks = [Sram(depth=depth, width=width, granularity=granularity) for _ in range(count)]
        for number, bank in enumerate(banks):
            m.submodules[f"rows_{number}"] = bank
        return banks
