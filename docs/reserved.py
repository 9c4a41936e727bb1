"""Tables of reserved encodings, from `spica.hw.isa.reserved`; `isa.py` puts them into isa.md."""

from collections.abc import Callable, Iterator, Sequence

from pages import table

from spica.hw.isa.instructions import Instruction
from spica.hw.isa.reserved.registers import RESERVED_CSRS
from spica.hw.isa.reserved.row import DESCRIPTOR, Reserved
from spica.hw.isa.reserved.table import GROUPS, RESERVED, SPACES, Space
from spica.hw.isa.reserved.tcgen05 import CONTROL_FIELDS

__all__ = ["allocation", "product_control", "reserved_encodings", "reserved_registers"]

#: Names of the custom opcodes.
OPCODES = {0x0B: "custom-0", 0x2B: "custom-1", 0x5B: "custom-2", 0x7B: "custom-3"}

#: Short forms of parts of texts on registers.
SHORT = {
    ", ".join(DESCRIPTOR): "64-bit descriptor",
    ", ".join(f"coordinate {k}" for k in range(5)): "coordinates 0 to 4",
}


def numbers(values: range) -> str:
    """Return a range as text: one number, or the first and the last."""
    first, last = f"{values.start:#x}", f"{values.stop - 1:#x}"
    return first if first == last else f"{first} to {last}"


def use_of(space: Space) -> str:
    """Return the use of a space: the groups in it, or who has it."""
    groups = ", ".join(title.lower() for title in space.groups)
    if groups and space.use:
        return f"{groups}: {space.use}"
    return groups or space.use or "free"


def allocation() -> str:
    """Return the table of the custom opcodes."""
    rows = []
    for space in SPACES:
        count = sum(space.contains(row) for row in RESERVED.values())
        status = f"{count} reserved" if space.is_ours else "left to others"
        rows.append([
            OPCODES[space.opcode],
            numbers(space.funct3),
            "all" if len(space.funct7) == 128 else numbers(space.funct7),
            use_of(space),
            status if count or not space.is_ours else "",
            space.growth,
        ])
    return table(["opcode", "funct3", "funct7", "use", "encodings", "room for"], rows)


def content(names: Sequence[str]) -> str:
    """Return the content of a group of registers as text, the unused ones at its end left out."""
    if tuple(names) == DESCRIPTOR:
        return "64-bit descriptor"
    last = max(k for k, name in enumerate(names) if name != "unused")
    text = ", ".join(names[: last + 1])
    for long, short in SHORT.items():
        text = text.replace(long, short)
    return f"{len(names)} registers: {text}"


def further_operands(row: Reserved) -> Iterator[str]:
    """Yield texts on groups of registers and on control registers of an encoding."""
    names = {name[1:]: name for name in row.operands}
    for field, count in row.sizes.items():
        if count > 1:
            yield f"`{names[field[1:]]}`: {count} registers"
    for field, contents in row.contents.items():
        yield f"`{names[field[1:]]}`: {content(contents)}"
    if row.control_registers:
        ends = dict.fromkeys((row.control_registers[0], row.control_registers[-1]))
        joint = " to " if len(row.control_registers) > 2 else ", "
        yield f"in control registers: {joint.join(f'`{name}`' for name in ends)}"


def reserved_encodings(encoding: Callable[[Instruction], str]) -> str:
    """Return the tables of reserved encodings; `encoding` returns the word of one as text."""
    lines = []
    for title, group in GROUPS.items():
        rows = [
            [
                f"`{f'{one.name} {one.syntax}'.strip()}`",
                f"`{encoding(one)}`",
                one.meaning,
                "; ".join(further_operands(one)),
            ]
            for one in group
        ]
        header = ["encoding", "word, bit 31 first", "meaning", "operands"]
        has_operands = any(row[-1] for row in rows)
        width = len(header) if has_operands else len(header) - 1
        shown = [row[:width] for row in rows]
        lines += [f"### {title}", "", table(header[:width], shown), ""]
    return "\n".join(lines).rstrip()


def reserved_registers() -> str:
    """Return the table of reserved control registers."""
    rows = [
        [f"`{one.number:#05x}`", one.name, one.access, one.meaning]
        for one in sorted(RESERVED_CSRS.values(), key=lambda one: one.number)
    ]
    return table(["number", "name", "access", "meaning"], rows)


def product_control() -> str:
    """Return the table of the control word of a product in tensor memory."""
    return table(["bits", "meaning"], [[bits, text] for bits, text in CONTROL_FIELDS.items()])
