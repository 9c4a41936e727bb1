"""Store of a tile: starts a DMA descriptor and a drain command together."""

from amaranth import *
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, exact_log2

from ...config import ClusterConfig
from ...lib.interfaces.shared_memory import Direction, dma_job
from ..accumulator.drain_reader import drain_command
from ..operation import OperationLimits, matrix_of

__all__ = ["Store", "store_work"]


def store_work(config: ClusterConfig) -> data.StructLayout:
    """Layout of the store of C; `bytes` and `line_pitch` refer to its stored format."""
    limits = OperationLimits(config=config)
    return data.StructLayout({
        "spill": 1,
        "wide": 1,
        "relu": 1,
        "scale": 32,
        "address": 32,
        "pitch": 32,
        "line": bits_for(limits.a_lines - 1),
        "line_pitch": config.shared.address_width + 1,
        "height": 16,
        "bytes": 16,
        "j_blocks": bits_for(limits.j_blocks),
        "i_blocks": bits_for(limits.i_blocks),
    })


class Store(wiring.Component):
    """Issuer of a store's DMA descriptor and drain command, which are accepted independently.

    Parameters
    ----------
    config : ClusterConfig

    Members
    -------
    valid : In(1)
        The tile may leave. Stays high until `ready`.
    ready : Out(1)
        Both have been accepted; the array may continue.
    work : In(store_work(config))
    tag : In(4)
    job : Out(stream.Signature(dma_job(config.shared)))
    command : Out(stream.Signature(drain_command(config.matrix)))

    """

    valid: Signal
    ready: Signal
    work: data.View
    tag: Signal
    job: stream.Interface
    command: stream.Interface

    def __init__(self, config: ClusterConfig):
        self.config = config
        super().__init__({
            "valid": In(1),
            "ready": Out(1),
            "work": In(store_work(config)),
            "tag": In(4),
            "job": Out(stream.Signature(dma_job(config.shared))),
            "command": Out(stream.Signature(drain_command(matrix_of(config)))),
        })

    def elaborate(self, platform):
        m = Module()
        matrix, work = matrix_of(self.config), self.work
        job, command = self.job.payload, self.command.payload
        job_sent, command_sent = Signal(), Signal()
        m.d.comb += [
            self.job.valid.eq(self.valid & ~job_sent),
            self.command.valid.eq(self.valid & ~command_sent),
            self.ready.eq((job_sent | self.job.ready) & (command_sent | self.command.ready)),
        ]
        m.d.sync += [
            job_sent.eq(self.valid & ~self.ready & (job_sent | self.job.ready)),
            command_sent.eq(self.valid & ~self.ready & (command_sent | self.command.ready)),
        ]

        m.d.comb += [
            job.direction.eq(Mux(work.spill, Direction.SPILL, Direction.DRAIN)),
            job.dram.eq(work.address),
            job.dram_pitch.eq(work.pitch),
            job.local.eq(work.line << exact_log2(matrix.a_bytes)),
            job.local_pitch.eq(work.line_pitch),
            job.rows.eq(work.height),
            job.bytes.eq(work.bytes),
            job.block.eq(
                Mux(
                    work.wide,
                    matrix.wide_bytes * matrix.columns,
                    matrix.narrow_bytes * matrix.columns,
                )
            ),
            job.tag.eq(self.tag),
            command.rows.eq(work.height),
            command.blocks.eq(work.j_blocks),
            command.block_stride.eq(work.i_blocks << exact_log2(matrix.rows)),
            command.wide.eq(work.wide),
            command.relu.eq(work.relu),
        ]
        if "scale" in drain_command(matrix).members:
            m.d.comb += command.scale.eq(work.scale)
        return m
