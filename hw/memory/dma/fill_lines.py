"""Connection of lines for accumulators, of the masters of the DMA, to the fill port."""

from collections.abc import Sequence

from amaranth import *

from ...lib.interfaces.shared_memory import Direction
from .fill_port import FillPort
from .load_context import TransferContext
from .write_channel import WriteChannel
from .write_port import WritePort

__all__ = ["connect_fills"]


def connect_fills(
    m: Module,
    c: int,
    contexts: Sequence[TransferContext],
    store: TransferContext,
    write: WriteChannel,
    port: WritePort,
    fills: FillPort,
):
    """Connect the lines of FILL and REFILL descriptors of master `c` to the fill port."""
    loaded, stored = (getattr(fills, f"line_{2 * c + side}") for side in (0, 1))
    direction = store.done.payload.direction
    m.d.comb += [
        port.fills.eq(
            Cat(context.done.payload.direction == Direction.FILL for context in contexts)
        ),
        write.refills.eq(store.active & (direction == Direction.REFILL)),
    ]
    for source, line in ((port.fill, loaded), (write.fill, stored)):
        m.d.comb += [
            line.valid.eq(source.valid),
            line.p.line.eq(source.payload),
            source.ready.eq(line.ready),
        ]
    with m.Switch(port.fill.payload.owner):
        for k, context in enumerate(contexts):
            with m.Case(k):
                m.d.comb += loaded.p.unit.eq(context.done.payload.port)
    m.d.comb += stored.p.unit.eq(store.done.payload.port)
    with m.If(write.refills):
        ends = write.fill.valid & write.fill.ready & write.fill.payload.last
        m.d.comb += store.completions.finished[c].eq(ends)
