"""Assembler of programs: text with labels to words."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .assembly import assemble
from .instructions import INSTRUCTIONS
from .memory_map import ENTRY

__all__ = ["Program", "assemble_program"]

LABEL = r"[A-Za-z_.][\w.$]*"
#: Pseudo-instructions of one instruction: its text, with operands as ``{0}``.
ALIASES = {
    "nop": "addi zero, zero, 0",
    "mv": "addi {0}, {1}, 0",
    "not": "xori {0}, {1}, -1",
    "neg": "sub {0}, zero, {1}",
    "seqz": "sltiu {0}, {1}, 1",
    "snez": "sltu {0}, zero, {1}",
    "j": "jal zero, {0}",
    "jr": "jalr zero, 0({0})",
    "ret": "jalr zero, 0(ra)",
    "beqz": "beq {0}, zero, {1}",
    "bnez": "bne {0}, zero, {1}",
    "bltz": "blt {0}, zero, {1}",
    "bgez": "bge {0}, zero, {1}",
    "blez": "bge zero, {0}, {1}",
    "bgtz": "blt zero, {0}, {1}",
    "bgt": "blt {1}, {0}, {2}",
    "ble": "bge {1}, {0}, {2}",
    "bgtu": "bltu {1}, {0}, {2}",
    "bleu": "bgeu {1}, {0}, {2}",
    "csrr": "csrrs {0}, {1}, zero",
    "csrw": "csrrw zero, {0}, {1}",
    "csrs": "csrrs zero, {0}, {1}",
    "csrc": "csrrc zero, {0}, {1}",
    "csrwi": "csrrwi zero, {0}, {1}",
    "fmv.s": "fsgnj.s {0}, {1}, {1}",
    "fneg.s": "fsgnjn.s {0}, {1}, {1}",
    "fabs.s": "fsgnjx.s {0}, {1}, {1}",
}
#: Function that makes a word, given its address and the labels.
Word = Callable[[int, dict[str, int]], int]


class Program(list[int]):
    """Words of a program, in order.

    Parameters
    ----------
    base : int
        Address of the first word.
    labels : dict of str to int
        Addresses of the labels.
    words : list of int

    """

    def __init__(self, base: int, labels: dict[str, int], words: list[int]):
        super().__init__(words)
        self.base = base
        self.labels = labels

    @property
    def data(self) -> bytes:
        """The words as bytes in memory order."""
        return b"".join(word.to_bytes(4, "little") for word in self)


@dataclass(frozen=True)
class Place:
    """A word to be made, and its source line."""

    line: int
    word: Word


def assemble_program(text: str, base: int = ENTRY) -> Program:
    """Return the words of a program that begins at `base`.

    A line has labels (``loop:``), then an instruction of the table in the syntax of `assemble`, a
    pseudo-instruction (`ALIASES`, ``li rd, value``, ``la rd, label``, ``call label``) or ``.word``
    with values. A comment begins with ``#``. Branches and ``jal`` take labels or a distance in
    bytes; a value of ``.word`` may be a label.
    """
    labels: dict[str, int] = {}
    places: list[Place] = []
    for number, line in enumerate(text.splitlines(), 1):
        rest = line.partition("#")[0].strip()
        try:
            while match := re.match(rf"({LABEL})\s*:\s*", rest):
                if match[1] in labels:
                    raise ValueError(f"label must be defined once, not again: {match[1]}")
                labels[match[1]] = base + 4 * len(places)
                rest = rest[match.end() :]
            places += [Place(number, word) for word in words_of(rest)]
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    return Program(base, labels, [made(place, base, k, labels) for k, place in enumerate(places)])


def made(place: Place, base: int, index: int, labels: dict[str, int]) -> int:
    """Return the word of a place; errors name its line."""
    try:
        return place.word(base + 4 * index, labels)
    except ValueError as error:
        raise ValueError(f"line {place.line}: {error}") from None


def words_of(text: str) -> list[Word]:
    """Return the word makers of one line without its labels."""
    name, _, rest = text.partition(" ")
    operands = [operand.strip() for operand in rest.split(",")] if rest.strip() else []
    if not name:
        return []
    if name == ".word":
        return [partial(data_word, operand) for operand in operands]
    if name == "li":
        return load_immediate(*expected(name, operands, 2))
    if name == "la":
        register, label = expected(name, operands, 2)
        return relative(register, f"addi {register}, {register}, {{}}", label)
    if name == "call":
        return relative("ra", "jalr ra, {}(ra)", *expected(name, operands, 1))
    if name in ALIASES:
        count = len(set(re.findall(r"\{\d\}", ALIASES[name])))
        text = ALIASES[name].format(*expected(name, operands, count))
    return [partial(instruction_word, text)]


def expected(name: str, operands: list[str], count: int) -> list[str]:
    """Return the operands if there are `count`."""
    if len(operands) != count:
        raise ValueError(f"{name} must have {count} operands, not {len(operands)}")
    return operands


def address_of(name: str, labels: dict[str, int]) -> int:
    """Return the address of a label."""
    if name not in labels:
        raise ValueError(f"label must be defined, not {name!r}")
    return labels[name]


def instruction_word(text: str, address: int, labels: dict[str, int]) -> int:
    """Return the word of an instruction whose last operand may be a label."""
    instruction = INSTRUCTIONS.get(text.partition(" ")[0])
    jumps = instruction is not None and instruction.operands[-1:] in (("b",), ("j",))
    target = re.search(rf"[\s,]({LABEL})$", text)
    if jumps and target:
        distance = address_of(target[1], labels) - address
        text = f"{text[: target.start(1)]}{distance}"
    return assemble(text)


def data_word(text: str, address: int, labels: dict[str, int]) -> int:
    """Return a value, or the address of a label."""
    if re.fullmatch(LABEL, text):
        return address_of(text, labels)
    return number_of(text) & 0xFFFF_FFFF


def number_of(text: str) -> int:
    """Return a 32-bit number, signed or not."""
    try:
        number = int(text, 0)
    except ValueError:
        raise ValueError(f"value must be a number, not {text!r}") from None
    if not -(1 << 31) <= number < 1 << 32:
        raise ValueError(f"value must have 32 bits, not {number}")
    return number


def halves(number: int) -> tuple[int, int]:
    """Return the immediates of ``lui`` and of a signed 12-bit addition that make `number`."""
    low = ((number & 0xFFF) ^ 0x800) - 0x800
    return (number - low) >> 12 & 0xF_FFFF, low


def load_immediate(register: str, text: str) -> list[Word]:
    """Return the one or two instructions that load any 32-bit value."""
    number = number_of(text) & 0xFFFF_FFFF
    signed = number - (number >> 31 << 32)
    upper, lower = halves(number)
    lines = [f"addi {register}, zero, {signed}"]
    if not -2048 <= signed < 2048:
        lines = [f"lui {register}, {upper}", f"addi {register}, {register}, {lower}"]
        lines = lines[: 1 if lower == 0 else 2]
    return [partial(instruction_word, line) for line in lines]


def relative(register: str, second: str, label: str) -> list[Word]:
    """Return ``auipc`` of `register`, and `second`, which adds the low part of the distance."""

    def upper(address: int, labels: dict[str, int]) -> int:
        return assemble(f"auipc {register}, {halves(address_of(label, labels) - address)[0]}")

    def lower(address: int, labels: dict[str, int]) -> int:
        # The distance is relative to the preceding `auipc`.
        return assemble(second.format(halves(address_of(label, labels) - address + 4)[1]))

    return [upper, lower]
