"""Operand fetch: walks over a tile in shared memory and queues lines for the array."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for, ceil_log2, exact_log2

from ....config import MatrixUnitConfig
from ....emit.component import Component
from ....lib.carry_select import add_in_halves
from ....lib.interfaces.shared_memory import WideReadSignature
from ....lib.register_slices import RegisterSlice
from ....lib.streams import Queue
from .transpose_stage import TransposeStage, transpose_line
from .transposer import TransposerConfig
from .walk import WALK_LOOPS, fetch_walk

__all__ = ["OperandFetch"]


class OperandFetch(Component):
    """Operand fetch: reads the lines of one operand in the array's order and queues them.

    One line per cycle, as stored or transposed. A line is requested only if the queue has room, so
    responses are never refused. The request follows its step of the walk by 1 cycle. `o` follows
    the acceptance of the request by ``read_latency + 1`` cycles, by one more if `depth` is above
    16; a transposed block follows its last line by `rows` cycles. Lines beyond the matrix that
    must not count are not read; they enter as zeros.

    Parameters
    ----------
    config : MatrixUnitConfig
    elements : int
        Elements of a line.
    size : int
        Bytes of one access.
    depth : int
        Lines queued or requested.
    can_transpose : bool
        Whether there is a transposer.

    Members
    -------
    i : In(stream.Signature(fetch_walk(config)))
        Accepted with its last line, so that the next walk follows without a pause.
    memory : Out(WideReadSignature(config.shared, size))
    o : Out(stream.Signature(elements * operand width))
    level : Out(ceil_log2(depth + 1))
        Lines available in consecutive cycles; 0 while blocks are transposed.

    """

    def __init__(
        self,
        config: MatrixUnitConfig,
        *,
        elements: int,
        size: int,
        depth: int,
        can_transpose: bool,
    ):
        self.config = config
        self.elements = elements
        self.size = size
        self.depth = depth
        self.can_transpose = can_transpose
        self.transposer = TransposerConfig(size=elements, width=config.matrix.operand_format.width)
        super().__init__({
            "i": In(stream.Signature(fetch_walk(config))),
            "memory": Out(WideReadSignature(config.shared, size)),
            "o": Out(stream.Signature(elements * self.transposer.width)),
            "level": Out(ceil_log2(depth + 1)),
        })

    def elaborate(self, platform):
        m = Module()
        layout = transpose_line(self.transposer)
        m.submodules.queue = queue = Queue(layout, self.depth)

        room = Signal(range(self.depth + 1), init=self.depth)
        zero, step = Signal(), Signal()
        tags = Signal(
            data.StructLayout({
                "count": bits_for(self.elements),
                "transpose": 1,
                "keep": layout["keep"].shape,
            })
        )
        address = self.walk(m, zero, tags, step)
        leaves = queue.o.valid & queue.o.ready
        # Isolates the walk from the arbitration of the memory banks.
        line = data.StructLayout({"address": len(address), "zero": 1, "tags": tags.shape()})
        m.submodules.requests = requests = RegisterSlice(line)
        request: Any = stream.Signature(line).create()
        arrival: Any = stream.Signature(layout).create()
        connect(m, request, requests.i)
        connect(m, arrival, queue.i)
        m.d.comb += [
            request.valid.eq(self.i.valid & room.any()),
            request.p.address.eq(address),
            request.p.zero.eq(zero),
            request.p.tags.eq(tags),
            step.eq(request.valid & request.ready),
        ]
        m.d.sync += room.eq(room - step + leaves)
        arrived, arrived_zero = self.read_line(m, requests.o)
        beyond = Signal(self.elements)
        m.d.comb += [
            beyond.eq(C(-1, self.elements) << arrived.count),
            arrival.valid.eq(self.memory.response.valid | arrived_zero),
            arrival.p.line.eq(
                self.memory.response.payload
                & ~Cat(bit.replicate(self.transposer.width) for bit in beyond)
            ),
            arrival.p.transpose.eq(arrived.transpose),
            arrival.p.keep.eq(arrived.keep),
        ]
        # One cycle late at the start of a walk: none of its lines is in flight before.
        walks = Signal()
        m.d.sync += walks.eq(self.i.valid)
        self.deliver(m, queue, walks | (room != self.depth))
        return m

    def read_line(self, m: Module, line: stream.Interface):
        """Request a line; return the tags of the arriving line, and whether it is zeros."""
        request, latency = self.memory.request, self.config.shared.read_latency
        m.d.comb += [
            request.valid.eq(line.valid & ~line.p.zero),
            request.payload.eq(line.p.address << exact_log2(self.size)),
            line.ready.eq(line.p.zero | request.ready),
        ]
        # The tags accompany the read; a line of zeros has only tags.
        tags = line.p.tags
        width = len(tags.as_value())
        tag_line = Signal(latency * width, reset_less=True)
        zeros = Signal(latency)
        m.d.sync += [
            tag_line.eq(Cat(tags, tag_line)),
            zeros.eq(Cat(line.valid & line.p.zero, zeros)),
        ]
        return data.View(tags.shape(), tag_line[-width:]), zeros[-1]

    def deliver(self, m: Module, queue: Queue, more: Value):
        """Connect the queue to `o`, through the transposer if there is one."""
        if not self.can_transpose:
            m.d.comb += [
                self.o.valid.eq(queue.o.valid),
                self.o.payload.eq(queue.o.p.line),
                queue.o.ready.eq(self.o.ready),
                self.level.eq(queue.level),
            ]
            return
        m.submodules.stage = stage = TransposeStage(self.transposer)
        connect(m, queue.o, stage.i)
        connect(m, stage.o, flipped(self.o))
        m.d.comb += [stage.more.eq(more), self.level.eq(Mux(stage.passing, queue.level, 0))]

    def walk(self, m: Module, zero: Signal, tags: data.View, step: Signal):
        """Count through the walk on each `step`, set a line's tags and return its address."""
        walk = self.i.payload
        counted = [name for name in WALK_LOOPS if name in walk.shape().members]
        counters = {name: Signal(walk[name].shape(), name=name) for name in counted}
        last = {name: counter == walk[name] for name, counter in counters.items()}
        # Offsets are relative to the base, so that a walk starts without an extra cycle.
        offset, block_offset, slab_offset, again_offset = (
            Signal(walk.base.shape(), name=name)
            for name in ("offset", "block_offset", "slab_offset", "again_offset")
        )
        next_block = (block_offset + walk.block_step)[: len(offset)]
        next_slab = (slab_offset + walk.slab_step)[: len(offset)]
        step_again = walk.again_step if "again_step" in walk.shape().members else 0
        next_again = (again_offset + step_again)[: len(offset)]
        offsets = (offset, block_offset, slab_offset, again_offset)
        moves = {
            "line": [offset.eq(offset + walk.line_step)],
            "block": [offset.eq(next_block), block_offset.eq(next_block)],
            "repeat": [offset.eq(slab_offset), block_offset.eq(slab_offset)],
            "slab": [offset.eq(next_slab), block_offset.eq(next_slab), slab_offset.eq(next_slab)],
            "again": [offset_of_loop.eq(next_again) for offset_of_loop in offsets],
        }
        # The innermost unfinished loop advances; the loops inside it restart.
        inner_ended = step
        for name in counted:
            with m.If(inner_ended):
                m.d.sync += [counters[name].eq(Mux(last[name], 0, counters[name] + 1))]
                m.d.sync += moves[name]
            inner_ended = inner_ended & last[name]
        with m.If(inner_ended):
            m.d.sync += [offset_of_loop.eq(0) for offset_of_loop in offsets]
        m.d.comb += self.i.ready.eq(inner_ended)

        in_last_slab = last["slab"]
        m.d.comb += [
            zero.eq(in_last_slab & ~walk.by_element & (counters["line"] >= walk.last_count)),
            tags.count.eq(Mux(in_last_slab & walk.by_element, walk.last_count, self.elements)),
            tags.transpose.eq(walk.transpose),
            tags.keep.eq(Mux(last["block"], walk.last_keep, self.transposer.size)),
        ]
        with m.If(zero):
            m.d.comb += tags.count.eq(0)
        return add_in_halves(walk.base, offset, len(walk.base))
