"""Top of a systolic matrix unit: registers, sequencer and datapath."""

from amaranth import *
from amaranth.lib import data
from amaranth.lib.wiring import Out, connect, flipped

from ...config import MatrixUnitConfig
from ...emit.shared_block import SharedBlock
from ..accumulator.accumulator import scale_members
from ..command.command_port import Command
from ..signature import unit_members
from .matrix_array import MatrixArray, matrix_events
from .sequencer import Sequencer
from .systolic_issue import issue_events

__all__ = ["SystolicUnit", "systolic_unit_events"]

#: Events of one cycle: use of the cycle, datapath events, refused commands.
systolic_unit_events = data.StructLayout({
    "issue": issue_events,
    "array": matrix_events,
    "refused": 1,
})


class SystolicUnit(SharedBlock):
    """Systolic array with accumulator: a matrix unit controlled through `address_map.MATRIX`.

    Parameters
    ----------
    config : MatrixUnitConfig

    Members
    -------
    a, b : Out(WideReadSignature(config.shared, a_bytes)), and with b_bytes
    drain : Out(stream.Signature(8 * drain_bytes))
        Per column block all its rows. Each row has `columns` results, also if the matrix is
        narrower.
    events : Out(systolic_unit_events)
    registers, descriptor, fill, done, loading, progress, busy, error
        As in `unit_members`.

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        super().__init__(unit_members(config, systolic_unit_events))

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
        connect(m, array.progress, sequencer.progress)
        matrix = self.config.matrix
        for name in (*array.flow.operands(matrix), *scale_members(matrix, Out)):
            connect(m, getattr(sequencer, name), getattr(array, name))
        self.fill_rows(m, array, sequencer)
        if self.config.reports_progress:
            m.d.comb += self.progress.eq(command.progress)
        m.d.comb += [
            sequencer.in_flight.eq(array.in_flight),
            sequencer.loading.eq(self.loading),
            sequencer.running.eq(command.running.any()),
            command.finished.eq(sequencer.finished),
            command.computed.eq(sequencer.computed),
            command.failed.eq(sequencer.failed),
            self.error.eq(command.error),
            self.events.issue.eq(sequencer.events),
            self.events.array.eq(array.events),
            self.events.refused.eq(command.refused),
            self.busy.eq(command.busy | self.done.valid | array.busy),
        ]
        return m

    def fill_rows(self, m: Module, array: MatrixArray, sequencer: Sequencer):
        """Connect the rows of D to the accumulator."""
        if not self.config.matrix.load_d:
            return
        row = self.fill.payload
        m.d.comb += [
            array.fill.valid.eq(self.fill.valid),
            self.fill.ready.eq(array.fill.ready),
            array.fill.p.address.eq(row.row),
            array.fill.p.data.eq(row.data),
            array.fill.p.mask.eq(row.mask),
            sequencer.arriving.eq(self.fill.valid),
        ]
