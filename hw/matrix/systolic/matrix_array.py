"""Datapath of the matrix unit: array, accumulator and drain."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped

from ...config import SystolicConfig
from ...emit.component import Component
from ..accumulator.accumulator import (
    Accumulator,
    addend_latency,
    fill_members,
    scale_members,
)
from ..accumulator.drain import Drain
from ..accumulator.drain_reader import DrainProgressSignature, drain_command
from .dataflows import dataflow_of
from .output_stationary_mesh import OutputStationaryMesh
from .weight_stationary_mesh import WeightStationaryMesh

__all__ = ["MatrixArray", "matrix_events"]

#: Meshes by dataflow.
MESHES: dict[str, type[WeightStationaryMesh | OutputStationaryMesh]] = {
    "weight_stationary": WeightStationaryMesh,
    "output_stationary": OutputStationaryMesh,
}

#: Events of one cycle, for counters.
matrix_events = data.StructLayout({
    "mac_row": 1,  # the array multiplies
    "accumulate": 1,  # a row of sums is added to the accumulator
    "overwrite": 1,  # a row of sums overwrites one of the accumulator
    "drain_row": 1,  # a drain reads a row of the accumulator
})


class MatrixArray(Component):
    """Systolic array with accumulator and drain: ``C[address] (+)= a @ b``.

    A pipeline without back-pressure on its operands. The numerics are those of `config.dataflow`.
    `WeightStationaryMesh` takes rows of A and rows of weights, and computes one row of sums per
    row of A. `OutputStationaryMesh` takes columns of A with rows of B, and computes one tile of
    sums per chain of steps. Each row of sums overwrites an accumulator row or is added to it. The
    sequencer keeps the distances required by the mesh, and these:

    - an accumulator row is offered with `accumulate` at least `revisit_latency` cycles after its
      last offer;
    - while a drain is active, an accumulator row x is offered only if ``x < drain_pointer`` or
      ``x >= drain_end``;
    - the rows of a drain are offered for the last time no later than in the cycle in which its
      command is accepted; if weight-stationary, also in the order in which it reads them;
    - if `unfinished` is high in that cycle, the rows of the last of its several blocks may be
      offered, also in spite of the rule above, until the last cycle of `unfinished`. It does not
      rise while a drain is active, and is always low if output-stationary.

    A row is written `write_latency` cycles after its offer.

    Parameters
    ----------
    config : SystolicConfig

    Members
    -------
    row : In(ResponseSignature(array_row(config)))
    weights : In(ResponseSignature(array_weights(config)))
        These two only if weight-stationary.
    step : In(ResponseSignature(array_step(config)))
        Only if output-stationary.
    scales : In(ResponseSignature(row_scales(config)))
        Scales of rows, as in `Accumulator`; no scaled row of earlier offers is unwritten. Only with
        `config.scales_rows`.
    fill : In(stream.Signature(accumulator_fill(config)))
        Words of an accumulator row to be overwritten. No row of earlier offers is unwritten there,
        and no drain still reads it. Only with `config.load_d`.
    drain_command : In(stream.Signature(drain_command(config)))
    progress : Out(DrainProgressSignature(config))
        Of the drain.
    drain : Out(stream.Signature(8 * drain_bytes))
    in_flight : Out(1)
        Some row is not yet written. From registers: it is low in the cycle of an offer, and rises
        only in the cycle after the offer of a row, or of a step.
    busy : Out(1)
        Some row is not yet written, some weights are not yet in place, or a row of a drain is not
        yet read, converted or sent. From registers.
    events : Out(matrix_events)

    """

    def __init__(self, config: SystolicConfig):
        self.config = config
        self.flow = dataflow_of(config)
        super().__init__({
            **self.flow.operand_members(config, In),
            **scale_members(config, In),
            **fill_members(config, In),
            "drain_command": In(stream.Signature(drain_command(config))),
            "progress": Out(DrainProgressSignature(config)),
            "drain": Out(stream.Signature(8 * config.drain_bytes)),
            "in_flight": Out(1),
            "busy": Out(1),
            "events": Out(matrix_events),
        })

    @property
    def write_latency(self) -> int:
        """Cycles from the offer of a row of A, or of a last step, to the write of all its sums."""
        return self.flow.write_latency(self.config) + self.config.add_latency

    @property
    def revisit_latency(self) -> int:
        """Minimum cycles between two offers of an accumulator row, the later with `accumulate`."""
        return addend_latency(self.config) + self.config.add_latency + 1

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.accumulator = accumulator = Accumulator(config)
        m.submodules.drain = drain = Drain(
            config, settle=self.write_latency + 1, in_order=self.flow.drains_in_order
        )
        m.submodules.mesh = mesh = MESHES[config.dataflow](config)
        multiplied, *_ = self.flow.operands(config)
        for name in self.flow.operands(config):
            connect(m, flipped(getattr(self, name)), getattr(mesh, name))
        connect(m, mesh.target, accumulator.target)
        if config.scales_rows:
            connect(m, flipped(self.scales), accumulator.scales)
        if config.load_d:
            connect(m, flipped(self.fill), accumulator.fill)
        connect(m, flipped(self.drain_command), drain.command)
        connect(m, drain.read, accumulator.read)
        connect(m, drain.o, flipped(self.drain))
        connect(m, drain.progress, flipped(self.progress))
        target = mesh.target
        m.d.comb += [
            accumulator.sums.eq(mesh.sums),
            drain.stored.eq(accumulator.stored),
            self.in_flight.eq(mesh.in_flight | accumulator.writing),
            self.busy.eq(mesh.busy | accumulator.writing | drain.busy),
            self.events.mac_row.eq(getattr(self, multiplied).valid),
            self.events.accumulate.eq(target.valid & target.payload.accumulate),
            self.events.overwrite.eq(target.valid & ~target.payload.accumulate),
            self.events.drain_row.eq(drain.row),
        ]
        return m
