"""What control takes from an instruction's operands: scalars, and a bit of each thread."""

from amaranth import *
from amaranth.lib import data

from ..config import CoreConfig
from ..lib.interfaces.core_memory import warp_shape
from ..memory.arbiter import select
from .layouts import REGISTER_WIDTH
from .operations import OPERATION_WIDTH

__all__ = ["EXIT_CODE_OPERAND", "control_layout", "reduce_operands"]

#: Place of x3 among the operands of what may end a warp: `TMC`, `PRED` and `END`.
EXIT_CODE_OPERAND = 2
CSR_WIDTH = 12
FIELD = slice(12, 17)  # of an immediate: rs1's number, or the operand itself


def control_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an instruction that control is carrying out.

    ``a``, ``b`` and ``exit_code`` are operands of the last active thread, ``a`` the immediate of
    instructions on control registers that have one; ``chosen`` are the active threads whose
    operand 0 is odd. ``number`` is that of a control register, ``field`` whether the instruction
    names a register or immediate other than 0 beside it.
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


def reduce_operands(m: Module, config: CoreConfig, given) -> data.View:
    """Return what control needs of an `operation_layout`, combinationally."""
    taken = Signal(control_layout(config))
    rows = [given.operands[0], given.operands[1], given.operands[EXIT_CODE_OPERAND]]
    threads = range(config.threads)
    # The upper half wins wherever any of it is active: this is the last active thread.
    last = Signal(data.ArrayLayout(32, len(rows)))
    m.d.comb += [
        last.eq(select(given.mask, [Cat(row[thread] for row in rows) for thread in threads])),
        taken.warp.eq(given.warp),
        taken.warps.eq(1 << given.warp),
        taken.mask.eq(given.mask),
        taken.pc.eq(given.pc),
        taken.operation.eq(given.operation),
        taken.rd.eq(given.rd),
        taken.writes.eq(given.writes),
        taken.is_fetch_fault.eq(given.a_is_pc),
        taken.chosen.eq(Cat(given.operands[0][thread][0] for thread in threads) & given.mask),
        taken.a.eq(Mux(given.b_is_immediate, given.immediate[FIELD], last[0])),
        taken.b.eq(last[1]),
        taken.exit_code.eq(last[2]),
        taken.number.eq(given.immediate[:CSR_WIDTH]),
        taken.field.eq(given.immediate[FIELD].any()),
    ]
    return taken
