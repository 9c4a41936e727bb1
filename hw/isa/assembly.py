"""Assembler and disassembler of single instructions, from the instruction table."""

import re
from collections.abc import Callable, Mapping

from .csr import CSR_NUMBERS, CSRS
from .encoding import IMMEDIATES, REGISTER_FIELDS, RegisterClass
from .instructions import INSTRUCTIONS, SPELLINGS, Instruction, field_of, find, spellings_of

__all__ = ["FLOAT_NAMES", "INTEGER_NAMES", "assemble", "disassemble"]

#: ABI names of the integer registers, by number.
INTEGER_NAMES = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{k}" for k in range(8)),
    *(f"s{k}" for k in range(2, 12)),
    *(f"t{k}" for k in range(3, 7)),
)
#: ABI names of the float registers, by number.
FLOAT_NAMES = (
    *(f"ft{k}" for k in range(8)),
    *("fs0", "fs1"),
    *(f"fa{k}" for k in range(8)),
    *(f"fs{k}" for k in range(2, 12)),
    *(f"ft{k}" for k in range(8, 12)),
)
NAMES = {RegisterClass.INTEGER: INTEGER_NAMES, RegisterClass.FLOAT: FLOAT_NAMES}
CSR_NAMES = {csr.number: name for name, csr in CSRS.items()}
#: Assembly names of the rounding modes; 5 and 6 are reserved.
ROUNDING_NAMES = ("rne", "rtz", "rdn", "rup", "rmm", "5", "6", "dyn")


def register_number(name: str, file: RegisterClass) -> int:
    """Return the number of a register, named as ``x10`` or ``a0``, ``f10`` or ``fa0``."""
    plain = re.fullmatch(rf"{file.value}(\d\d?)", name)
    if plain and int(plain[1]) < 32:
        return int(plain[1])
    if name == "fp" and file is RegisterClass.INTEGER:
        return INTEGER_NAMES.index("s0")
    if name in NAMES[file]:
        return NAMES[file].index(name)
    kind = "an integer" if file is RegisterClass.INTEGER else "a float"
    raise ValueError(f"operand must be {kind} register, not {name!r}")


def immediate_number(operand: str, text: str) -> int:
    """Return the value of an immediate, checked."""
    if operand == "csr" and text in CSR_NUMBERS:
        return CSR_NUMBERS[text]
    if operand == "rm" and text in ROUNDING_NAMES:
        return ROUNDING_NAMES.index(text)
    if operand in ("pred", "succ") and re.fullmatch("i?o?r?w?", text):
        return sum(8 >> "iorw".index(letter) for letter in text)
    try:
        number = int(text, 0)
    except ValueError:
        raise ValueError(f"operand must be a number, not {text!r}") from None
    immediate = IMMEDIATES[operand]
    if not immediate.least <= number <= immediate.largest or number % immediate.step:
        multiple = f"a multiple of {immediate.step} " if immediate.step > 1 else ""
        raise ValueError(
            f"immediate must be {multiple}from {immediate.least} to {immediate.largest}, "
            f"not {number}"
        )
    return number


def encode_operand(instruction: Instruction, operand: str, text: str) -> int:
    """Return the bits that one operand contributes to the word."""
    if operand in IMMEDIATES:
        return IMMEDIATES[operand].encode(immediate_number(operand, text))
    field = field_of(operand)
    return register_number(text, instruction.registers[field]) << REGISTER_FIELDS[field]


def assemble(line: str, instructions: Mapping[str, Instruction] = INSTRUCTIONS) -> int:
    """Return the word of one instruction, ``add a0, a1, a2`` or ``lw t0, -4(sp)``.

    Branches and jumps take their distance in bytes, control registers a name or a number. The
    default rounding mode is ``dyn``. `instructions` are those that the assembler accepts.
    """
    name, _, rest = line.strip().partition(" ")
    spellings = SPELLINGS if instructions is INSTRUCTIONS else spellings_of(instructions)
    if name not in spellings:
        raise ValueError(f"instruction must be in the table, not {name!r}")
    instruction, word = spellings[name]
    texts = [text for text in re.split(r"[,()\s]+", rest) if text]
    operands = instruction.operands
    if operands and operands[-1] == "rm" and len(texts) == len(operands) - 1:
        texts.append("dyn")
    if len(texts) != len(operands):
        raise ValueError(f"operands of {name} must be {instruction.syntax or 'none'}, not {rest!r}")
    for operand, text in zip(operands, texts, strict=True):
        word |= encode_operand(instruction, operand, text)
    return word


def operand_text(instruction: Instruction, operand: str, word: int) -> str:
    """Return the assembly text of an operand of `word`."""
    if operand not in IMMEDIATES:
        field = field_of(operand)
        return NAMES[instruction.registers[field]][word >> REGISTER_FIELDS[field] & 0x1F]
    number = IMMEDIATES[operand].decode(word)
    if operand == "csr":
        return CSR_NAMES.get(number, hex(number))
    if operand == "rm":
        return ROUNDING_NAMES[number]
    if operand in ("pred", "succ"):
        return "".join(c for k, c in enumerate("iorw") if number & 8 >> k) or "0"
    return hex(number) if operand == "u" else str(number)


def disassemble(word: int, find: Callable[[int], Instruction | None] = find) -> str:
    """Return the assembly of a word, ``.word 0x...`` if it is not an instruction.

    `find` returns the instruction encoded by a word.
    """
    instruction = find(word)
    if instruction is None:
        return f".word {word:#010x}"
    text = re.sub(
        r"\w+",
        lambda operand: operand_text(instruction, operand[0], word),
        instruction.syntax,
    )
    return f"{instruction.mnemonic(word)} {text.removesuffix(', dyn')}".rstrip()
