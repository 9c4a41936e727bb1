"""Symbols of an ELF file: functions, labels and variables, with their names in the source."""

import struct
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile

from .demangle import demangled

__all__ = ["Function", "Symbol", "functions", "labels", "symbol_table", "symbols", "variables"]

#: Symbol types: label, function, and every type with an address (none, object, function).
LABEL_KIND, VARIABLE_KIND, FUNCTION_KIND = 0, 1, 2
NAMED_KINDS = (0, 1, 2)
#: Beginnings of names that tools make: mapping symbols, and local labels.
MADE = ("$", ".L")


@dataclass(frozen=True)
class Function:
    """A function or a variable: name, first address, and the address after its last byte."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Symbol:
    """A row of the symbol table: name, value, size and type, and whether it is defined here."""

    name: str
    value: int
    size: int
    kind: int
    is_defined: bool


def symbol_table(elf: ELFFile) -> list[Symbol]:
    """Return the symbols; parsed directly, since a library takes seconds for thousands of them."""
    table = elf.get_section_by_name(".symtab")
    if table is None:
        return []
    names = elf.get_section(table["sh_link"]).data()
    return [
        Symbol(
            name=names[at : names.index(b"\0", at)].decode(errors="replace"),
            value=value,
            size=size,
            kind=info & 0xF,
            is_defined=section != 0,
        )
        for at, value, size, info, _, section in struct.iter_unpack("<IIIBBH", table.data())
    ]


def symbols(table: list[Symbol]) -> dict[str, int]:
    """Return the addresses of named symbols."""
    return {
        symbol.name: symbol.value
        for symbol in table
        if is_named(symbol) and symbol.kind in NAMED_KINDS and symbol.is_defined
    }


def is_named(symbol: Symbol) -> bool:
    """Return whether a symbol has a name of the program, not one that tools made."""
    return bool(symbol.name) and not symbol.name.startswith(MADE)


def labels(table: list[Symbol], text: list[tuple[int, bytes]]) -> list[tuple[int, str]]:
    """Return the symbols in the text that are not functions, by their addresses."""
    return sorted(
        (symbol.value, demangled(symbol.name))
        for symbol in table
        if symbol.kind == LABEL_KIND and symbol.is_defined and is_named(symbol)
        if any(address <= symbol.value < address + len(data) for address, data in text)
    )


def functions(table: list[Symbol], kind: int = FUNCTION_KIND) -> list[Function]:
    """Return the functions, in the order of their addresses."""
    by_address = {
        symbol.value: Function(demangled(symbol.name), symbol.value, symbol.value + symbol.size)
        for symbol in table
        if symbol.kind == kind and symbol.size
    }
    return [by_address[start] for start in sorted(by_address)]


def variables(table: list[Symbol]) -> list[Function]:
    """Return the variables of a known size, in the order of their addresses."""
    return functions(table, VARIABLE_KIND)
