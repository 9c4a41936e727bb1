"""Byte aligner of the DMA: one beat per cycle."""

from types import SimpleNamespace

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from .layouts import dma_line, dma_plan, owner_width

__all__ = ["ByteAligner", "bytes_from", "bytes_up_to", "expand_mask", "rotate_bytes"]


def rotate_bytes(value: Value, amount: Value, size: int):
    """Return `value` of `size` bytes, rotated up by `amount` bytes."""
    for stage in range(exact_log2(size)):
        value = Mux(amount[stage], value.rotate_left(8 << stage), value)
    return value


def bytes_from(start: Value, size: int):
    """Return a mask of `size` bytes with those at `start` and above set."""
    return (Const((1 << size) - 1, size) << start)[:size]


def bytes_up_to(end: Value, size: int):
    """Return a mask of `size` bytes with those at `end`, of exactly log2(size) bits, and below."""
    return Const((1 << size) - 1, size) >> ~end


def expand_mask(mask: Value):
    """Return a mask of bits from a mask of bytes."""
    return Cat(bit.replicate(8) for bit in mask)


def plan_registers(config: DmaBlockConfig) -> SimpleNamespace:
    """Return the registers of the plan in progress."""
    size = config.axi.beat_bytes
    steps_width = bits_for(config.axi.burst_beats + 1)
    widths = {
        "shift": exact_log2(size),
        "start": exact_log2(size),  # offset of the first byte in its line
        "end": exact_log2(size),  # offset of the last byte in its line
        "row": 32 - exact_log2(size),  # number of the line
        "first": 1,  # no line was output yet
        "skip": 1,  # all of this beat belongs to the line of the next step
        "steps_left": steps_width,  # after this one
        "beats_left": steps_width,
        "zero": 1,
        "owner": owner_width(config),
        "held": 8 * size,  # the last beat, rotated
    }
    registers = {name: Signal(width, name=name, reset_less=True) for name, width in widths.items()}
    return SimpleNamespace(active=Signal(name="active"), **registers)


class ByteAligner(SharedBlock):
    """Byte aligner: extracts each plan's bytes from beats at `i`, to masked lines at `o`.

    The byte at offset p of a beat moves to offset (p + shift) mod beat. The beat is rotated once;
    a line combines the upper part of this beat's rotation with the lower part of the last one's.
    The first step of a plan is one cycle after it was accepted. A step consumes a beat, outputs a
    line, or both. With equal alignment each beat gives a line, and plans follow without a gap.
    Otherwise a plan takes one more step. `i` and `o` are linked combinationally: back-pressure on
    `o` reaches `i` within the cycle.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    plan : In(stream.Signature(dma_plan(config)))
    i : In(stream.Signature(8 * config.axi.beat_bytes))
        Beats of the plans in order; none for a `zero` plan.
    o : Out(stream.Signature(dma_line(config)))
        Lines of the plans in order; `last` with the last line of each plan.
    owner : Out
        Owner of the plan in progress.
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        plan = dma_plan(config)
        super().__init__({
            "plan": In(stream.Signature(plan)),
            "i": In(stream.Signature(8 * config.axi.beat_bytes)),
            "o": Out(stream.Signature(dma_line(config))),
            "owner": Out(plan["owner"].shape),
        })

    def build(self, platform):
        m = Module()
        size = self.config.axi.beat_bytes
        at = plan_registers(self.config)
        rotated = Signal(8 * size)
        takes, moves, last = Signal(), Signal(), Signal()
        m.d.comb += [
            takes.eq(at.beats_left.any()),
            last.eq(~at.steps_left.any()),
            moves.eq(at.active & (~takes | self.i.valid) & (at.skip | self.o.ready)),
            self.i.ready.eq(at.active & takes & (at.skip | self.o.ready)),
            self.o.valid.eq(at.active & ~at.skip & (~takes | self.i.valid)),
            self.plan.ready.eq(~at.active | (moves & last)),
            rotated.eq(rotate_bytes(self.i.payload, at.shift, size)),
        ]
        self.give_line(m, at, rotated, last)
        with m.If(moves):
            m.d.sync += [
                at.held.eq(rotated),
                at.steps_left.eq(at.steps_left - 1),
                at.beats_left.eq(at.beats_left - takes),
                at.skip.eq(0),
            ]
            with m.If(~at.skip):
                m.d.sync += [at.first.eq(0), at.row.eq(at.row + 1)]
        with m.If(self.plan.ready):
            m.d.sync += at.active.eq(self.plan.valid)
            self.begin(m, at, self.plan.payload)
        return m

    def give_line(self, m: Module, at: SimpleNamespace, rotated: Value, last: Value):
        """Drive the line of this step."""
        size = self.config.axi.beat_bytes
        line = self.o.payload
        from_held = expand_mask(~bytes_from(at.shift, size))
        merged = (at.held & from_held) | (rotated & ~from_held)
        m.d.comb += [
            line.data.eq(merged & ~at.zero.replicate(8 * size)),
            line.mask.eq(
                (bytes_from(at.start, size) | ~at.first.replicate(size))
                & (bytes_up_to(at.end, size) | ~last.replicate(size))
            ),
            line.address.eq(Cat(Const(0, exact_log2(size)), at.row)),
            line.owner.eq(at.owner),
            line.last.eq(last),
            self.owner.eq(at.owner),
        ]

    def begin(self, m: Module, at: SimpleNamespace, plan: data.View):
        """Set up the steps of a plan."""
        width = exact_log2(self.config.axi.beat_bytes)
        place = plan.address[:width]
        wraps = place < plan.offset
        target = Cat(place, wraps) + plan.bytes - 1
        source = plan.offset + plan.bytes - 1
        m.d.sync += [
            at.shift.eq(place - plan.offset),
            at.start.eq(place),
            at.end.eq(target[:width]),
            at.row.eq(plan.address[width:]),
            at.first.eq(1),
            at.skip.eq(wraps),
            at.zero.eq(plan.zero),
            at.owner.eq(plan.owner),
            at.steps_left.eq(target[width:]),
            at.beats_left.eq(Mux(plan.zero, 0, source[width:] + 1)),
        ]
