"""Context of a DRAIN or SPILL in progress: writes a matrix unit's results to memory."""

from types import SimpleNamespace
from typing import Any

from amaranth import *
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from ...config import DmaBlockConfig
from ...emit.shared_block import SharedBlock
from ...lib.axi import master_of
from ...lib.interfaces.shared_memory import Direction
from .byte_aligner import bytes_from, rotate_bytes
from .descriptor_tracker import CompletionsSignature, DescriptorTracker
from .drain_address_generator import DrainAddressGenerator
from .layouts import dma_line, dma_retired, dma_work, port_width

__all__ = ["DrainWriter"]


class DrainWriter(SharedBlock):
    """Drain context: writes result beats at any byte address, as one or two masked lines.

    A beat leaves as a line the cycle after it was accepted: one beat per cycle if it lies within
    one line, one per 2 cycles if it crosses into the next. Lines go to the master of their
    address, for a SPILL to the write port of that number. A refused descriptor of non-zero size
    accepts its beats and drops them, so that the matrix unit does not stall forever.

    Parameters
    ----------
    config : DmaBlockConfig

    Members
    -------
    work : In(stream.Signature(dma_work(config)))
    drain : In(stream.Signature(8 * drain_bytes))
        Beats as wide as those of the widest matrix unit.
    unit : Out(port_width(config))
        Number of the matrix unit that drains.
    line_0, line_1, … : Out(stream.Signature(dma_line(config)))
        To each master.
    spill_0, spill_1, … : Out(stream.Signature(dma_line(config)))
        To each write port of shared memory.
    completions : In(CompletionsSignature(config.axi.masters))
    done : Out(stream.Signature(dma_retired(config)))
    active : Out(1)
    """

    def __init__(self, config: DmaBlockConfig):
        self.config = config
        widest = max(config.drain_bytes)
        lines = {
            f"{kind}_{c}": Out(stream.Signature(dma_line(config)))
            for kind in ("line", "spill")
            for c in range(config.axi.masters)
        }
        super().__init__(
            {
                "work": In(stream.Signature(dma_work(config))),
                "drain": In(stream.Signature(8 * widest)),
                "unit": Out(port_width(config)),
            }
            | lines
            | {
                "completions": In(CompletionsSignature(config.axi.masters)),
                "done": Out(stream.Signature(dma_retired(config))),
                "active": Out(1),
            }
        )

    def build(self, platform):
        m = Module()
        m.submodules.address_generator = address_generator = DrainAddressGenerator(self.config)
        m.submodules.tracker = tracker = DescriptorTracker(self.config)
        connect(m, flipped(self.work), tracker.work)
        connect(m, flipped(self.completions), tracker.completions)
        connect(m, tracker.done, flipped(self.done))
        descriptor = self.work.payload.descriptor
        has_beats = descriptor.rows.any() & descriptor.bytes.any() & descriptor.block.any()
        spills = Signal()
        m.d.comb += [
            address_generator.i.valid.eq(tracker.start.valid & has_beats),
            address_generator.i.payload.eq(descriptor),
            address_generator.unit.eq(self.work.payload.port),
            self.unit.eq(tracker.done.payload.port),
            self.active.eq(tracker.active),
            spills.eq(tracker.done.payload.direction == Direction.SPILL),
        ]
        self.deal_lines(m, self.place_beats(m, address_generator, tracker), spills)
        return m

    def place_beats(
        self, m: Module, address_generator: DrainAddressGenerator, tracker: DescriptorTracker
    ) -> SimpleNamespace:
        """Pair beats with their addresses; return the line to write, and whether it is accepted."""
        size = self.config.axi.beat_bytes
        width = exact_log2(size)
        held = Signal(8 * size, reset_less=True)
        address = Signal(32, reset_less=True)
        mask = Signal(2 * size, reset_less=True)  # over the line of the first byte and its next
        valid, second, accepted = Signal(), Signal(), Signal()
        moves, crosses = Signal(), Signal()
        place: Any = stream.Signature(address_generator.o.payload.shape()).flip().create()
        connect(m, address_generator.o, place)
        is_needed = place.payload.bytes.any() & ~tracker.done.payload.refused
        m.d.comb += [
            crosses.eq(mask[size:].any() & ~second),
            moves.eq(~valid | (accepted & ~crosses)),
            self.drain.ready.eq(place.valid & moves),
            place.ready.eq(self.drain.valid & moves),
            tracker.walking.eq(address_generator.busy | valid),
            tracker.issued.eq(valid & accepted),
        ]
        with m.If(moves):
            beat = Cat(self.drain.payload, Const(0, 8 * size - len(self.drain.payload)))
            m.d.sync += [
                valid.eq(self.drain.valid & place.valid & is_needed),
                held.eq(rotate_bytes(beat, place.payload.address, size)),
                address.eq(place.payload.address),
                mask.eq(~bytes_from(place.payload.bytes, size) << place.payload.address[:width]),
                second.eq(0),
            ]
        with m.Elif(accepted):
            m.d.sync += [second.eq(1), address[width:].eq(address[width:] + 1)]

        line = Signal(dma_line(self.config))
        m.d.comb += [
            line.address.eq(Cat(Const(0, width), address[width:])),
            line.data.eq(held),
            line.mask.eq(Mux(second, mask[size:], mask[:size])),
            line.owner.eq(self.config.dma.contexts),
            line.last.eq(1),
        ]
        return SimpleNamespace(payload=line, valid=valid, accepted=accepted)

    def deal_lines(self, m: Module, line: SimpleNamespace, spills: Signal):
        """Route a line to the master, or to the write port, of its address."""
        master = master_of(self.config.axi, line.payload.address)
        for c in range(self.config.axi.masters):
            for kind, chosen in (("line", ~spills), ("spill", spills)):
                port = getattr(self, f"{kind}_{c}")
                here = (master == c) & chosen
                m.d.comb += [port.payload.eq(line.payload), port.valid.eq(line.valid & here)]
                with m.If(here):
                    m.d.comb += line.accepted.eq(line.valid & port.ready)
