"""Registers that each instruction of a program reads and writes."""

from functools import cache

import numpy as np

from ...hw.core.front_end.decode_table import RULES
from ...hw.isa.encoding import REGISTER_FIELDS, RegisterClass
from ...hw.isa.instructions import find
from ...hw.lib.interfaces.execution_unit import REGISTERS
from ...kernels.program import Program

__all__ = ["FLOATS", "register_use", "registers_of"]

#: Number of f0; x0 has no results.
FLOATS = REGISTERS // 2


def register_use(program: Program, threads: int) -> np.ndarray:
    """Return masks of the registers read and written, uint64 of shape (words of the text, 2).

    x0 to x31 are bits 0 to 31, f0 to f31 bits 32 to 63. A register group, of a product of
    matrices in warps of `threads` threads, has a bit for each register.
    """
    first = program.text_addresses.start
    use = np.zeros((len(program.text_addresses) // 4, 2), np.uint64)
    for address, data in program.text:
        start = (address - first) // 4
        words = np.frombuffer(data[: len(data) // 4 * 4], "<u4")
        use[start : start + len(words)] = [masks(int(word), threads) for word in words]
    return use


def registers_of(word: int | None) -> dict[str, int]:
    """Return the registers of an instruction by field; f0 to f31 are 32 to 63."""
    instruction = None if word is None else find(word)
    if instruction is None:
        return {}
    assert word is not None
    return {
        field: (word >> REGISTER_FIELDS[field] & 0x1F)
        + (FLOATS if file is RegisterClass.FLOAT else 0)
        for field, file in instruction.registers.items()
    }


@cache
def masks(word: int, threads: int) -> tuple[int, int]:
    """Return the masks of the registers that an instruction reads and writes."""
    spans = {field: 1 << number for field, number in registers_of(word).items()}
    instruction = find(word)
    rule = None if instruction is None else RULES.get(instruction.name)
    if rule is not None and (groups := rule.groups(threads)) is not None:
        selected = word >> REGISTER_FIELDS["rd"] & 0x1F
        for place, group in groups.by_field.items():
            if group.first is not None:
                begin = group.first + (groups.size * selected if group.is_selected else 0)
                spans[list(REGISTER_FIELDS)[place]] = ((1 << groups.size) - 1) << begin
    every = (1 << REGISTERS) - 2  # all but x0
    reads = 0
    for field, mask in spans.items():
        is_source = field != "rd" or (rule is not None and rule.reads_rd)
        reads |= mask if is_source else 0
    return reads & every, spans.get("rd", 0) & every
