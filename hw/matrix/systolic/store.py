"""Store of a tile: starts a DMA descriptor and a drain command together."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from ...config import MatrixUnitConfig
from ...emit.component import Component
from ...lib.interfaces.shared_memory import Direction, dma_descriptor
from ..accumulator.drain_reader import drain_command
from ..operation import OperationLimits

__all__ = ["Store", "store_start", "store_work"]


def store_work(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of the store of C from accumulator row `base` on.

    `bytes` and `line_pitch` refer to its stored format.
    """
    limits = OperationLimits(config=config)
    return data.StructLayout({
        "spill": 1,
        "wide": 1,
        "relu": 1,
        "scale": 32,
        "address": 32,
        "pitch": 32,
        "base": config.matrix.accumulator_address_width,
        "line": bits_for(limits.a_lines - 1),
        "line_pitch": config.shared.address_width + 1,
        "height": 16,
        "bytes": 16,
        "j_blocks": bits_for(limits.j_blocks),
        "i_blocks": bits_for(limits.i_blocks),
    })


def store_start(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of the start of a store: its work, and the tag of its descriptor."""
    return data.StructLayout({"work": store_work(config), "tag": 4})


class Store(Component):
    """Issuer of a store's DMA descriptor and drain command, which are accepted independently.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    i : In(stream.Signature(store_start(config)))
        The tile may leave. Accepted when both have been accepted; the array may continue.
    descriptor : Out(stream.Signature(dma_descriptor(config.shared)))
    command : Out(stream.Signature(drain_command(config.matrix)))

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(store_start(config))),
            "descriptor": Out(stream.Signature(dma_descriptor(config.shared))),
            "command": Out(stream.Signature(drain_command(config.matrix))),
        })

    def elaborate(self, platform):
        m = Module()
        matrix, work = self.config.matrix, self.i.p.work
        descriptor, command = self.descriptor.payload, self.command.payload
        descriptor_sent, command_sent = Signal(), Signal()
        m.d.comb += [
            self.descriptor.valid.eq(self.i.valid & ~descriptor_sent),
            self.command.valid.eq(self.i.valid & ~command_sent),
            self.i.ready.eq(
                (descriptor_sent | self.descriptor.ready) & (command_sent | self.command.ready)
            ),
        ]
        m.d.sync += [
            descriptor_sent.eq(
                self.i.valid & ~self.i.ready & (descriptor_sent | self.descriptor.ready)
            ),
            command_sent.eq(self.i.valid & ~self.i.ready & (command_sent | self.command.ready)),
        ]

        m.d.comb += [
            descriptor.direction.eq(Mux(work.spill, Direction.SPILL, Direction.DRAIN)),
            descriptor.dram.eq(work.address),
            descriptor.dram_pitch.eq(work.pitch),
            descriptor.local.eq(work.line << exact_log2(matrix.a_bytes)),
            descriptor.local_pitch.eq(work.line_pitch),
            descriptor.rows.eq(work.height),
            descriptor.bytes.eq(work.bytes),
            descriptor.block.eq(
                Mux(
                    work.wide,
                    matrix.wide_bytes * matrix.columns,
                    matrix.narrow_bytes * matrix.columns,
                )
            ),
            descriptor.tag.eq(self.i.p.tag),
            command.address.eq(work.base),
            command.rows.eq(work.height),
            command.blocks.eq(work.j_blocks),
            command.block_stride.eq(work.i_blocks << exact_log2(matrix.rows)),
            command.wide.eq(work.wide),
            command.relu.eq(work.relu),
        ]
        if "scale" in drain_command(matrix).members:
            m.d.comb += command.scale.eq(work.scale)
        return m
