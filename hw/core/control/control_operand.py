"""Operand reduction of control instructions: scalars, and one bit per thread."""

from amaranth import *
from amaranth.lib import data

from ...config import PipelineConfig
from ...isa.operations import OPERATION_WIDTH
from ...lib.interfaces.core_memory import warp_shape
from ...lib.interfaces.execution_unit import REGISTER_WIDTH
from ...lib.one_hot import select

__all__ = ["CSR_WIDTH", "EXIT_CODE_OPERAND", "control_layout", "reduce_operands"]

#: Operand index of x3 in instructions that may end a warp: `TMC`, `PRED` and `END`.
EXIT_CODE_OPERAND = 2
CSR_WIDTH = 12
FIELD = slice(12, 17)  # of an immediate: rs1's number, or the CSR instruction's immediate


def control_layout(config: PipelineConfig) -> data.StructLayout:
    """Return the layout of the control instruction in execution.

    ``a``, ``b`` and ``exit_code`` are operands of the last active thread; ``a`` is the immediate
    of control-register instructions that have one. ``chosen`` marks the active threads with an
    odd operand 0. ``number`` is a control register's number; ``field`` is 1 if the instruction
    names a source register or immediate other than 0.
    """
    return data.StructLayout({
        "warp": warp_shape(config),
        "warps": config.warps,
        "mask": config.threads,
        "pc": 32,
        "operation": OPERATION_WIDTH,
        "rd": REGISTER_WIDTH,
        "writes": 1,
        "is_fetch_fault": 1,
        "chosen": config.threads,
        "a": 32,
        "b": 32,
        "exit_code": 32,
        "number": CSR_WIDTH,
        "field": 1,
    })


def reduce_operands(m: Module, config: PipelineConfig, given: data.View) -> data.View:
    """Return the `control_layout` of an `operation_layout`, combinationally."""
    control = Signal(control_layout(config))
    rows = [given.operands[0], given.operands[1], given.operands[EXIT_CODE_OPERAND]]
    threads = range(config.threads)
    # `select` favours the upper half if any of it is active: the last active thread.
    last = Signal(data.ArrayLayout(32, len(rows)))
    m.d.comb += [
        last.eq(select(given.mask, [Cat(row[thread] for row in rows) for thread in threads])),
        control.warp.eq(given.warp),
        control.warps.eq(1 << given.warp),
        control.mask.eq(given.mask),
        control.pc.eq(given.pc),
        control.operation.eq(given.operation),
        control.rd.eq(given.rd),
        control.writes.eq(given.writes),
        control.is_fetch_fault.eq(given.a_is_pc),
        control.chosen.eq(Cat(given.operands[0][thread][0] for thread in threads) & given.mask),
        control.a.eq(Mux(given.b_is_immediate, given.immediate[FIELD], last[0])),
        control.b.eq(last[1]),
        control.exit_code.eq(last[2]),
        control.number.eq(given.immediate[:CSR_WIDTH]),
        control.field.eq(given.immediate[FIELD].any()),
    ]
    return control
