"""Compiled programs: loadable segments, symbols, functions and source lines of an ELF file."""

import bisect
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from elftools.dwarf.lineprogram import LineProgram
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from ..base.errors import UserError
from ..hw.isa.memory_map import ENTRY
from .elf_check import checked_segments
from .symbols import Function, Symbol, functions, labels, symbol_table, symbols, variables

__all__ = ["Function", "Program", "SourceLine", "file_names", "read_or"]

RUNTIME_SECTION = ".text.runtime"


@dataclass(frozen=True)
class SourceLine:
    """Source location of an instruction: file, line and enclosing function."""

    file: str
    line: int
    function: str | None

    def __str__(self):
        inside = f" in {self.function}" if self.function else ""
        return f"{Path(self.file).name}:{self.line}{inside}"


@dataclass(frozen=True, kw_only=True)
class Program:
    """An ELF file for the cores.

    Parameters
    ----------
    path : Path
    entry : int
        Address of the first instruction.
    segments : list of (int, bytes)
        Address and contents of each loadable segment, zeros included.
    symbols : dict of str to int
        Addresses of functions and variables.
    functions : list of Function
        In the order of their addresses.
    text : list of (int, bytes)
        Address and contents of each executable section.
    runtime : range
        Addresses of start-up code and library, which are not the user's.
    image : bytes
        The file.
    is_text_exact : bool
        Whether `text` has no data; False without sections, where it is the executable segments.
    remarks : list of str
        A sentence for each part of the file that is unusual, or cannot be read and is not needed
        to run, and warnings of the compiler.
    labels : list of (int, str)
        Address and name of each symbol in the text that is no function, ascending.
    variables : list of Function
        Variables of a known size, in the order of their addresses.

    """

    path: Path
    entry: int
    segments: list[tuple[int, bytes]]
    symbols: dict[str, int]
    functions: list[Function]
    text: list[tuple[int, bytes]]
    runtime: range
    image: bytes = field(repr=False)
    is_text_exact: bool = True
    remarks: list[str] = field(default_factory=list, repr=False)
    labels: list[tuple[int, str]] = field(default_factory=list, repr=False)
    variables: list[Function] = field(default_factory=list, repr=False)

    @classmethod
    def load(cls, path: Path) -> "Program":
        """Return the program in a file.

        `UserError` unless its segments are whole. A program whose sections are damaged or absent
        runs, without names or without source lines.
        """
        try:
            image = Path(path).read_bytes()
        except OSError as error:
            raise UserError(f"a program must be readable; {path}: {error.strerror}") from error
        parts = checked_segments(image, Path(path).name)
        damage = [note for part in parts for note in part.notes]
        sections = read_or(Sections(), damage, "sections", lambda: sections_of(image, damage))
        text = sections.text or [
            (part.address, part.contents) for part in parts if part.is_executable
        ]
        return cls(
            path=Path(path),
            entry=ENTRY,
            segments=[(part.address, part.contents) for part in parts],
            symbols=symbols(sections.table),
            functions=functions(sections.table),
            labels=labels(sections.table, text),
            variables=variables(sections.table),
            text=text,
            is_text_exact=bool(sections.text),
            runtime=sections.runtime,
            image=image,
            remarks=damage,
        )

    @property
    def end(self) -> int:
        """The address after the last byte of the program, variables included."""
        return max(address + len(data) for address, data in self.segments)

    @property
    def text_addresses(self) -> range:
        """Addresses from the first word of the text to its end, with gaps between sections."""
        ends = (address + len(data) for address, data in self.text)
        return range(min(address for address, _ in self.text), max(ends))

    @property
    def bss(self) -> range:
        """Addresses of zero-initialised variables; start-up code clears them."""
        return range(self.symbols.get("__bss_start", 0), self.symbols.get("__bss_end", 0))

    def function_at(self, pc: int) -> Function | None:
        """Return the function that contains an address."""
        index = bisect.bisect_right(self.functions, pc, key=lambda function: function.start)
        if index and pc < self.functions[index - 1].end:
            return self.functions[index - 1]
        return None

    def function_of(self, pc: int) -> str | None:
        """Return the name of the function that contains an address, or of the label before it."""
        named = self.named_at(pc)
        return named[0] if named else None

    def named_at(self, pc: int) -> tuple[str, int] | None:
        """Return name and address of the function that contains an address, or of the label."""
        if function := self.function_at(pc):
            return function.name, function.start
        index = bisect.bisect_right(self.labels, pc, key=lambda label: label[0])
        for address, data in self.text if index else ():
            start, name = self.labels[index - 1]
            if address <= start <= pc < address + len(data):
                return name, start
        return None

    def word_at(self, pc: int) -> int | None:
        """Return the word at an address of the text, None elsewhere."""
        for address, data in self.text:
            if address <= pc <= address + len(data) - 4:
                return int.from_bytes(data[pc - address : pc - address + 4], "little")
        return None

    def line_of(self, pc: int) -> SourceLine | None:
        """Return the source line of the instruction at an address."""
        index = bisect.bisect_right(self.lines, pc, key=lambda row: row[0])
        if not index:
            return None
        _, file, line = self.lines[index - 1]
        return SourceLine(file, line, self.function_of(pc)) if line else None

    @cached_property
    def lines(self) -> list[tuple[int, str, int]]:
        """Address, file and line of each row of the line table, ascending; line 0: no source."""
        return read_or([], self.remarks, "debug information", lambda: every_line(self.image))


Part = TypeVar("Part")


def read_or(default: Part, damage: list[str], what: str, read: Callable[[], Part]) -> Part:
    """Return a part of a file, or a default and a sentence in `damage` if it cannot be read.

    The reader of ELF files raises errors of any type for a damaged part.
    """
    try:
        return read()
    except Exception:
        sentence = f"the program's {what} cannot be read, so reports lack names or source lines"
        if sentence not in damage:
            damage.append(sentence)
        return default


@dataclass(frozen=True)
class Sections:
    """Contents of a program's sections: symbols, instructions, addresses of the runtime."""

    table: list[Symbol] = field(default_factory=list)
    text: list[tuple[int, bytes]] = field(default_factory=list)
    runtime: range = range(0)


def sections_of(image: bytes, damage: list[str]) -> Sections:
    """Return the contents of the sections of a file."""
    elf = ELFFile(io.BytesIO(image))
    text = [
        (section["sh_addr"], section.data())
        for section in elf.iter_sections("SHT_PROGBITS")
        if section["sh_flags"] & SH_FLAGS.SHF_EXECINSTR
    ]
    return Sections(
        read_or([], damage, "symbols", lambda: symbol_table(elf)), text, runtime_addresses(elf)
    )


def every_line(image: bytes) -> list[tuple[int, str, int]]:
    """Return the rows of all line tables of a file, ascending."""
    elf = ELFFile(io.BytesIO(image))
    if not elf.has_dwarf_info():
        return []
    information = elf.get_dwarf_info()
    rows = []
    for unit in information.iter_CUs():
        table = information.line_program_for_CU(unit)
        if table is not None:
            rows += unit_lines(table)
    # If one sequence ends at the first address of another, the latter counts.
    rows.sort(key=lambda row: (row[0], row[2] > 0))
    return rows


def unit_lines(table: LineProgram) -> list[tuple[int, str, int]]:
    """Return the rows of one compilation unit's line table."""
    names = file_names(table)
    rows, sequence = [], []
    for entry in table.get_entries():
        state = entry.state
        if state is None:
            continue
        line = 0 if state.end_sequence else state.line
        sequence.append((state.address, names.get(state.file, "?"), line))
        if state.end_sequence:
            # The linker leaves sequences of dropped sections at address 0.
            rows += sequence if sequence[0][0] else []
            sequence = []
    return rows


def file_names(table: LineProgram) -> dict[int, str]:
    """Return the path of each file of a line table, by its number."""
    header = table.header
    is_zero_based = header["version"] >= 5
    directories = [decoded(directory) for directory in header["include_directory"]]
    if not is_zero_based:
        directories = ["", *directories]  # 0 is the compilation directory
    return {
        number: str(Path(directories[entry["dir_index"]]) / decoded(entry["name"]))
        for number, entry in enumerate(header["file_entry"], 0 if is_zero_based else 1)
    }


def decoded(name: str | bytes) -> str:
    """Return a name as text."""
    return name.decode(errors="replace") if isinstance(name, bytes) else name


def runtime_addresses(elf: ELFFile) -> range:
    """Return the addresses of start-up code and library."""
    section = elf.get_section_by_name(RUNTIME_SECTION)
    if section is None:
        return range(0)
    return range(section["sh_addr"], section["sh_addr"] + section["sh_size"])
