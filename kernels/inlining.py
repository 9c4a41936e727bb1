"""Call chains of instructions through inlined functions, from DWARF debug information."""

import io
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarfinfo import DWARFInfo
from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from .demangle import demangled
from .program import Program, SourceLine, file_names, read_or

__all__ = ["CallChains"]

#: Attributes with the name of a function, the complete one first.
NAMES = ("DW_AT_linkage_name", "DW_AT_name")


@dataclass(frozen=True)
class Body:
    """Instructions of a function, or of one inlined call of it.

    Attributes
    ----------
    name : str
        Name of the function.
    depth : int
        Number of inlined calls around it.
    parts : tuple of range
        Addresses of its instructions.
    call : tuple of (str, int) or None
        File and line of the inlined call; None for a function that is not inlined.

    """

    name: str
    depth: int
    parts: tuple[range, ...]
    call: tuple[str, int] | None


class CallChains:
    """Finder of the inlined calls that contain an instruction.

    Parameters
    ----------
    program : Program

    """

    def __init__(self, program: Program):
        self.program = program
        what, none = "debug information", (None, [])
        self.information, self.units = read_or(none, program.remarks, what, self.every_unit)
        #: Bodies of the compilation units read so far; reading them is slow.
        self.known: dict[int, list[Body]] = {}

    def every_unit(self) -> tuple[DWARFInfo | None, list[tuple[CompileUnit, tuple[range, ...]]]]:
        """Return the debug information, and each compilation unit with its addresses."""
        elf = ELFFile(io.BytesIO(self.program.image))
        if not elf.has_dwarf_info():
            return None, []
        information = elf.get_dwarf_info()
        units = information.iter_CUs()
        return information, [(unit, tuple(addresses(unit.get_top_DIE()))) for unit in units]

    def bodies_at(self, pc: int) -> list[Body]:
        """Return the bodies that contain an instruction."""
        for index, (unit, parts) in enumerate(self.units):
            if any(pc in part for part in parts):
                if index not in self.known:
                    self.known[index] = self.readable(unit)
                return [body for body in self.known[index] if any(pc in p for p in body.parts)]
        return []

    def readable(self, unit: CompileUnit) -> list[Body]:
        """Return the bodies of a compilation unit, none if they cannot be read."""
        return read_or([], self.program.remarks, "debug information", lambda: list(self.read(unit)))

    def read(self, unit: CompileUnit) -> Iterator[Body]:
        """Yield the bodies of a compilation unit."""
        assert self.information is not None
        table = self.information.line_program_for_CU(unit)
        names = {} if table is None else file_names(table)
        for die in unit.get_top_DIE().iter_children():
            if die.tag == "DW_TAG_subprogram":
                yield from bodies(die, names, 0)

    def at(self, pc: int) -> list[SourceLine]:
        """Return the source lines of an instruction: its own, then of each call around it."""
        line = self.program.line_of(pc)
        if line is None:
            return []
        around = self.bodies_at(pc)
        around.sort(key=lambda body: -body.depth)
        lines = []
        file_and_line = (line.file, line.line)
        for body in around:
            # Debug information has a function's short name only.
            whole = self.program.function_of(pc) if body.call is None else None
            lines.append(SourceLine(*file_and_line, whole or body.name))
            if body.call is None:
                break
            file_and_line = body.call
        return lines or [line]


def bodies(die: DIE, names: dict[int, str], depth: int) -> Iterator[Body]:
    """Yield a function's body and the bodies of the calls inlined into it."""
    attributes = die.attributes
    call = None
    if "DW_AT_call_file" in attributes and "DW_AT_call_line" in attributes:
        file = names.get(attributes["DW_AT_call_file"].value, "?")
        call = (file, attributes["DW_AT_call_line"].value)
    parts = tuple(addresses(die))
    if parts:
        yield Body(name_of(die), depth, parts, call)
    for child in die.iter_children():
        if child.tag in ("DW_TAG_inlined_subroutine", "DW_TAG_lexical_block"):
            inner = depth + (child.tag == "DW_TAG_inlined_subroutine")
            yield from bodies(child, names, inner)


def addresses(die: DIE) -> Iterator[range]:
    """Yield the address ranges of an entry, except those of dropped sections, which begin at 0."""
    attributes = die.attributes
    if "DW_AT_low_pc" in attributes and "DW_AT_high_pc" in attributes:
        low, high = attributes["DW_AT_low_pc"].value, attributes["DW_AT_high_pc"]
        end = high.value if high.form == "DW_FORM_addr" else low + high.value
        if low:
            yield range(low, end)
    elif "DW_AT_ranges" in attributes:
        lists = die.dwarfinfo.range_lists()
        base = die.cu.get_top_DIE().attributes.get("DW_AT_low_pc")
        start = base.value if base is not None else 0
        assert lists is not None and isinstance(die.cu, CompileUnit)
        offset = attributes["DW_AT_ranges"].value
        for entry in lists.get_range_list_at_offset(offset, die.cu):
            if isinstance(entry, BaseAddressEntry):
                start = entry.base_address
            else:
                offset = 0 if getattr(entry, "is_absolute", False) else start
                yield range(offset + entry.begin_offset, offset + entry.end_offset)


def name_of(die: DIE) -> str:
    """Return the name of a function, or of the function that an inlined call refers to."""
    for reference in ("DW_AT_abstract_origin", "DW_AT_specification"):
        if reference in die.attributes and not any(name in die.attributes for name in NAMES):
            return name_of(die.get_DIE_from_attribute(reference))
    for attribute in NAMES:
        if name := die.attributes.get(attribute):
            return demangled(name.value.decode(errors="replace"))
    return "?"
