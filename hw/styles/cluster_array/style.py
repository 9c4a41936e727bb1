"""Systolic arrays with accumulator SRAM, as a kind of matrix unit."""

from ...config import SystolicConfig
from ...isa.commands import CISC_MAPS
from ...isa.memory_map import MATRIX
from ...matrix.systolic.systolic_unit import SystolicUnit
from ..style import MatrixStyle, UnitCounter

__all__ = ["CLUSTER_ARRAY"]


def operations(matrix: SystolicConfig) -> dict[int, str]:
    """Return the names of the operations of a CISC command word, by code."""
    return {code: command.name for code, command in CISC_MAPS[matrix.cisc_map].items()}


COUNTERS = (
    UnitCounter(
        name="matrix_active",
        event="issue.active",
        meaning="cycles in which a row of A entered the array",
        track="array",
        label="computes",
        colour="compute",
    ),
    UnitCounter(
        name="matrix_idle",
        event="issue.idle",
        meaning="cycles with an unfinished command but nothing to compute",
        track="array",
        label="idle",
        colour="idle",
    ),
    UnitCounter(
        name="matrix_wait_a",
        event="issue.wait_a",
        meaning="cycles the array waited for A",
        track="array",
        label="wait for A",
        colour="wait_a",
        loss="array waits for A",
    ),
    UnitCounter(
        name="matrix_wait_weights",
        event="issue.wait_weights",
        meaning="cycles the array waited for weights",
        track="array",
        label="wait for weights",
        colour="wait_weights",
        loss="array waits for weights",
    ),
    UnitCounter(
        name="matrix_wait_drain",
        event="issue.wait_drain",
        meaning="cycles the array waited for a drain",
        track="array",
        label="wait for drain",
        colour="wait_drain",
        loss="array waits for the drain of accumulator rows",
    ),
    UnitCounter(
        name="matrix_wait_revisit",
        event="issue.wait_revisit",
        meaning="cycles the array waited for the adder",
        track="array",
        label="wait for adder",
        colour="wait_revisit",
        loss="array waits for the accumulator's adder",
    ),
    UnitCounter(
        name="overwrite_rows",
        event="array.overwrite",
        meaning="accumulator rows overwritten",
        track="accumulator",
        label="rows overwritten",
        colour="compute",
    ),
    UnitCounter(
        name="accumulate_rows",
        event="array.accumulate",
        meaning="accumulator rows added to",
        track="accumulator",
        label="rows accumulated",
        colour="add",
    ),
    UnitCounter(
        name="drain_rows",
        event="array.drain_row",
        meaning="accumulator rows drained",
        track="drain",
        label="rows drained",
        colour="drain",
    ),
)

CLUSTER_ARRAY = MatrixStyle(
    name="systolic",
    component=SystolicUnit,
    registers=MATRIX,
    operations=operations,
    counters=COUNTERS,
    groups={
        "mesh": ("WeightStationaryMesh", "OutputStationaryMesh"),
        "accumulator": ("Accumulator", "Drain"),
        "sequencer": ("SystolicUnit", "MatrixArray", "Command", "Sequencer"),
    },
)
