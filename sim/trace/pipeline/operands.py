"""Operand values of recorded instructions, from the registers at the first recorded cycle."""

from collections.abc import Mapping

import numpy as np

from ....hw.isa.operations import Port
from ....hw.lib.interfaces.execution_unit import REGISTERS
from ...harness.register_use import FLOATS, registers_of
from .life import Life, Pipeline
from .naming import Names

__all__ = ["Operands", "operands_of"]

#: Values of the source registers of instructions: by number of the instruction, then of the
#: register (f0 to f31 are 32 to 63), by thread.
Operands = dict[int, dict[int, np.ndarray]]


def operands_of(pipeline: Pipeline, names: Names, registers: Mapping[int, np.ndarray]) -> Operands:
    """Return the known operands of the instructions of a core.

    Instructions are in program order of their warps. The value of a register is unknown after an
    instruction whose result was not recorded: one that is not complete, or of a tensor unit.

    Parameters
    ----------
    pipeline : Pipeline
        Trace of the core.
    names : Names
        Namer of the instructions.
    registers : mapping of int to numpy.ndarray
        Registers of each warp at the beginning, (64, threads).

    """
    files: dict[int, dict[int, np.ndarray]] = {
        warp: {number: values.copy() for number, values in enumerate(rows)}
        for warp, rows in registers.items()
    }
    operands: Operands = {}
    for life in pipeline.lives:
        file = files.setdefault(life.warp, {})
        numbers = sources(names.word(life.pc, life.word))
        operands[life.number] = {
            number: file[number].copy() for number in numbers if number in file and number
        }
        apply(life, file, names.word(life.pc, life.word))
    return operands


def sources(word: int | None) -> list[int]:
    """Return the source registers of an instruction."""
    return [number for field, number in registers_of(word).items() if field != "rd"]


def apply(life: Life, file: dict[int, np.ndarray], word: int | None):
    """Update the registers of a warp with the result of an instruction."""
    if life.port is Port.TENSOR:
        for number in range(FLOATS, REGISTERS):
            file.pop(number, None)
    elif life.done is None or life.values is None:
        file.pop(registers_of(word).get("rd", 0), None)
    elif life.writes and life.rd in file:
        threads = np.arange(len(life.values))
        file[life.rd] = np.where(life.result_mask >> threads & 1, life.values, file[life.rd])
