"""Self-test of a single array: its inputs of every cycle and its expected outputs."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from ....hw.config import SystolicConfig
from ....hw.emit.component import Component
from ....hw.matrix.systolic.matrix_array import MatrixArray
from ....hw.matrix.systolic.weight_stationary import array_row, array_weights
from .report import Report, ReportConfig

__all__ = ["ArrayTest", "ArrayTestConfig", "Step"]

#: The test fails after 2 to this power cycles.
PATIENCE_BITS = 24


@dataclass(frozen=True, kw_only=True)
class Step:
    """Inputs of the array in one cycle.

    Parameters
    ----------
    weights : tuple of int
        Stored operands of a row of weights; empty for no row.
    row : int
        Index of the row of weights.
    a : tuple of int
        Stored operands of a row of A; empty for no row.
    swap, accumulate : bool
        As in `array_row`.
    address : int
        Accumulator row of the sums.

    """

    weights: tuple[int, ...] = ()
    row: int = 0
    a: tuple[int, ...] = ()
    swap: bool = False
    accumulate: bool = False
    address: int = 0


@dataclass(frozen=True, kw_only=True)
class ArrayTestConfig:
    """A weight-stationary array and its test program.

    Parameters
    ----------
    matrix : SystolicConfig
        Array under test.
    steps : tuple of Step
        Inputs of consecutive cycles from reset on; they keep the distances of `MatrixArray`.
    rows : int
        Accumulator rows from 0 on that are read at the end, in their stored format.
    expected : tuple of int
        Expected drain beats.
    report : ReportConfig
        Serial line of the result.

    """

    matrix: SystolicConfig
    steps: tuple[Step, ...]
    rows: int
    expected: tuple[int, ...]
    report: ReportConfig

    def __post_init__(self):
        if self.matrix.dataflow != "weight_stationary":
            raise ValueError(
                f"matrix.dataflow must be weight_stationary, not {self.matrix.dataflow!r}"
            )

    @property
    def layout(self) -> data.StructLayout:
        """Layout of a step."""
        return data.StructLayout({
            "row": array_row(self.matrix),
            "row_valid": 1,
            "weights": array_weights(self.matrix),
            "weights_valid": 1,
        })

    def stored(self, step: Step) -> data.Const:
        """Return the stored form of a step."""
        matrix = self.matrix
        return self.layout.const({
            "row": {
                "a": step.a or (0,) * matrix.rows,
                "swap": step.swap,
                "accumulate": step.accumulate,
                "address": step.address,
            },
            "row_valid": bool(step.a),
            "weights": {"b": step.weights or (0,) * matrix.columns, "row": step.row},
            "weights_valid": bool(step.weights),
        })


class ArrayTest(Component):
    """Self-test: runs all steps from reset on, then drains the accumulator and compares.

    Parameters
    ----------
    config : ArrayTestConfig

    Members
    -------
    running, passed, failed : Out(1)
        Exactly one of them is high.
    cycles : Out(32)
        Cycles from the reset to the last beat.
    tx : Out(1)
        Serial line, as in `Report`.
    """

    def __init__(self, config: ArrayTestConfig):
        self.config = config
        names = ("running", "passed", "failed", "tx")
        super().__init__({name: Out(1) for name in names} | {"cycles": Out(32)})

    def elaborate(self, platform):
        m = Module()
        config, steps, expected = self.config, self.config.steps, self.config.expected
        m.submodules.array = array = MatrixArray(config.matrix)
        m.submodules.report = report = Report(config.report)
        m.submodules.steps = played = Memory(
            shape=config.layout, depth=len(steps), init=[config.stored(step) for step in steps]
        )
        m.submodules.reference = reference = Memory(
            shape=8 * config.matrix.drain_bytes, depth=len(expected), init=expected
        )
        step, beat = played.read_port(), reference.read_port()
        number, plays = Signal(range(len(steps) + 1)), Signal()
        beats, compares, is_last = Signal(range(len(expected) + 1)), Signal(), Signal()
        commanded = Signal()
        value = Signal(8 * config.matrix.drain_bytes)
        command = array.drain_command
        ends = number == len(steps)
        m.d.comb += [
            self.running.eq(~self.passed & ~self.failed),
            step.addr.eq(number),
            step.en.eq(~ends),
            array.row.payload.eq(step.data.row),
            array.row.valid.eq(plays & step.data.row_valid),
            array.weights.payload.eq(step.data.weights),
            array.weights.valid.eq(plays & step.data.weights_valid),
            command.valid.eq(ends & ~plays & ~array.in_flight & ~commanded),
            command.payload.rows.eq(config.rows),
            command.payload.blocks.eq(1),
            command.payload.block_stride.eq(config.rows),
            command.payload.wide.eq(1),
            *([command.payload.scale.eq(0x3F80_0000)] if config.matrix.scales else []),
            array.drain.ready.eq(self.running),
            beat.addr.eq(beats),
            beat.en.eq(1),
            report.passed.eq(self.passed),
            report.failed.eq(self.failed),
            report.cycles.eq(self.cycles),
            self.tx.eq(report.tx),
        ]
        takes = array.drain.valid & array.drain.ready
        m.d.sync += [plays.eq(~ends), compares.eq(takes), value.eq(array.drain.payload)]
        with m.If(~ends):
            m.d.sync += number.eq(number + 1)
        with m.If(command.valid & command.ready):
            m.d.sync += commanded.eq(1)
        with m.If(takes):
            m.d.sync += [beats.eq(beats + 1), is_last.eq(beats == len(expected) - 1)]
        with m.If(self.running):
            m.d.sync += self.cycles.eq(self.cycles + 1)
            with m.If(compares & (value != beat.data)):
                m.d.sync += self.failed.eq(1)
            with m.Elif(compares & is_last):
                m.d.sync += self.passed.eq(1)
            with m.Elif(self.cycles[PATIENCE_BITS]):  # beats are missing
                m.d.sync += self.failed.eq(1)
        return m
