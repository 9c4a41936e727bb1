"""Matrix unit top: registers, sequencer and datapath."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ..config import MatrixUnitConfig
from ..emit.shared_block import SharedBlock
from ..lib.interfaces.shared_memory import WideReadSignature, dma_descriptor, dma_done
from ..lib.register_bus import RegisterSignature
from ..lib.streams import ResponseSignature
from .command.command_port import Command
from .systolic.matrix_array import MatrixArray, matrix_events
from .systolic.sequencer import Sequencer
from .systolic.systolic_issue import issue_events

__all__ = ["MatrixUnit", "matrix_unit_events"]

#: Events of one cycle: use of the cycle, datapath events, refused commands.
matrix_unit_events = data.StructLayout({
    "issue": issue_events,
    "array": matrix_events,
    "refused": 1,
})


class MatrixUnit(SharedBlock):
    """Matrix unit: a systolic array with accumulator, controlled through `address_map.MATRIX`.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    registers : In(RegisterSignature(8))
    a, b : Out(WideReadSignature(config.shared, a_bytes)), and with b_bytes
    drain : Out(stream.Signature(8 * drain_bytes))
        Results in the order of the DRAIN and SPILL descriptors: per column block all its rows.
        Each row has `columns` results, also if the matrix is narrower.
    descriptor : Out(stream.Signature(dma_descriptor(config.shared)))
    done : In(ResponseSignature(dma_done))
    busy : Out(1)
    error : Out(1)
        Any bit of the register `error`.
    events : Out(matrix_unit_events)

    """

    registers: Any
    a: Any
    b: Any
    drain: stream.Interface
    descriptor: stream.Interface
    done: Any
    busy: Signal
    error: Signal
    events: data.View

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        matrix = config.matrix
        super().__init__({
            "registers": In(RegisterSignature(8)),
            "a": Out(WideReadSignature(config.shared, matrix.a_bytes)),
            "b": Out(WideReadSignature(config.shared, matrix.b_bytes)),
            "drain": Out(stream.Signature(8 * matrix.drain_bytes)),
            "descriptor": Out(stream.Signature(dma_descriptor(config.shared))),
            "done": In(ResponseSignature(dma_done)),
            "busy": Out(1),
            "error": Out(1),
            "events": Out(matrix_unit_events),
        })

    def build(self, platform):
        m = Module()
        m.submodules.command = command = Command(self.config)
        m.submodules.array = array = MatrixArray(self.config.matrix)
        m.submodules.sequencer = sequencer = Sequencer(
            self.config,
            write_latency=array.write_latency,
            revisit_latency=array.revisit_latency,
        )
        connect(m, flipped(self.registers), command.registers)
        connect(m, command.operation, sequencer.operation)
        connect(m, sequencer.a, flipped(self.a))
        connect(m, sequencer.b, flipped(self.b))
        connect(m, sequencer.descriptor, flipped(self.descriptor))
        connect(m, flipped(self.done), sequencer.done)
        connect(m, sequencer.drain_command, array.drain_command)
        connect(m, array.drain, flipped(self.drain))
        m.d.comb += [
            *(
                getattr(array, name).eq(getattr(sequencer, name))
                for name in ("row", "row_valid", "weights", "weights_valid", "step", "step_valid")
                if name in array.signature.members
            ),
            sequencer.in_flight.eq(array.in_flight),
            sequencer.drain_pointer.eq(array.drain_pointer),
            sequencer.drain_end.eq(array.drain_end),
            sequencer.running.eq(command.running.any()),
            command.finished.eq(sequencer.finished),
            command.computed.eq(sequencer.computed),
            command.failed.eq(sequencer.failed),
            self.error.eq(command.error),
            self.events.issue.eq(sequencer.events),
            self.events.array.eq(array.events),
            self.events.refused.eq(command.refused),
            self.busy.eq(command.busy | self.done.valid | array.in_flight | array.drain_busy),
        ]
        return m
