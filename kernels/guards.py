"""Guards: bytes between the variables of a program that no right access touches.

A guarded program has the same functions and variables as the usual one, at other addresses. The
check of memory runs it, and finds accesses past one variable into the next.
"""

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

__all__ = ["GUARDED_FLAGS", "guarded_script", "guards_of"]

#: Flags that give each variable a section of its own.
GUARDED_FLAGS = ("-mllvm", "-enable-global-merge=false")
#: Beginnings of the names of variables' sections, by the output section of the linker script.
SECTIONS = {
    ".rodata": (".rodata.", ".srodata."),
    ".data": (".data.", ".sdata."),
    ".bss": (".bss.", ".sbss."),
}
#: Sections of several variables.
SHARED = (".bss.flags",)
#: Least and largest bytes of a guard, which is otherwise as large as the variable before it.
LEAST, LARGEST = 64, 4096
#: Symbols around a guard; a number follows.
BEGIN, END = "__guard_begin_", "__guard_end_"


def guarded_script(script: str, objects: Sequence[Path]) -> str:
    """Return a linker script that places guards around the variables of object files."""
    count = 0
    for output, beginnings in SECTIONS.items():
        lines = [guard(count, LEAST)]
        for path in objects:
            for name, size in variables_of(path, beginnings):
                count += 1
                lines.append(f"*{path.name}({name})")
                lines.append(guard(count, min(max(size, LEAST), LARGEST)))
        count += 1
        head = re.search(rf"^ *{re.escape(output)}( \(NOLOAD\))? : ALIGN\(16\) {{", script, re.M)
        assert head is not None, f"the linker script has no {output}"
        # Flags are first: reports identify them by the symbols around them.
        position = script.index("__flags_end = .;") + 16 if output == ".bss" else head.end()
        script = "\n".join((script[:position], *lines, script[position:]))
    return script


def guard(number: int, nbytes: int) -> str:
    """Return the statements of a guard."""
    return f"{BEGIN}{number} = .; . = ALIGN(. + {nbytes}, {LEAST}); {END}{number} = .;"


def variables_of(path: Path, beginnings: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return name and size of the sections of an object file with one variable each."""
    elf = ELFFile(io.BytesIO(path.read_bytes()))
    return [
        (section.name, section["sh_size"])
        for section in elf.iter_sections()
        if section.name.startswith(beginnings)
        and section.name not in SHARED
        and not section["sh_flags"] & SH_FLAGS.SHF_MERGE
    ]


def guards_of(symbols: Mapping[str, int]) -> list[range]:
    """Return the addresses of the guards of a program with these symbols, none unless guarded."""
    return [
        range(address, symbols[END + name.removeprefix(BEGIN)])
        for name, address in symbols.items()
        if name.startswith(BEGIN)
    ]
