"""Build of programs, and the memory regions that they may access."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.config import MachineConfig
from ...hw.isa.memory_map import STACK_BYTES
from ...hw.presets import PRESETS
from ...kernels.compile import compile_program
from ...kernels.elf_check import MAGIC
from ...kernels.program import Program
from ..machine.memory_layout import ARGUMENTS_BYTES, PAGE, PROGRAM, MemoryLayout, Region
from ..machine.stacks import stack_bytes_of
from .exact_kernels import kernel_names
from .options import SimtOptions

__all__ = [
    "SOURCE_SUFFIXES",
    "build",
    "is_file_name",
    "memory_layout_of",
    "program_regions",
    "require_cores",
]

SOURCE_SUFFIXES = (".c", ".cpp", ".cc", ".cxx", ".S", ".elf")


def is_file_name(name: str | Path) -> bool:
    """Return whether a name is a file of a program, not a kernel."""
    if isinstance(name, Path) or "." in name or "/" in name:
        return True
    return name not in kernel_names() and os.path.isfile(name)


def is_binary(path: Path) -> bool:
    """Return whether a file is tried as ELF: by its suffix, without one, or by its first bytes."""
    if path.suffix in SOURCE_SUFFIXES or not path.suffix:
        return path.suffix in ("", ".elf")
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def require_cores(name: str, preset: str, config: MachineConfig):
    """Raise `UserError` if the machine has no cores."""
    if not config.cores:
        *others, last = sorted(known for known, machine in PRESETS.items() if machine.cores)
        choice = f"{', '.join(others)} or {last}"
        raise UserError(f"{name} needs cores; {preset} has none: choose {choice}")


def build(
    paths: Sequence[Path],
    config: MachineConfig,
    options: SimtOptions,
    progress: Progress | None,
    *,
    guarded: bool = False,
    is_own: bool = True,
) -> Program:
    """Return the program that is compiled from source files, or loaded from an ELF file.

    A compiled program has guards between its variables if it is `guarded`, and the warnings of the
    compiler if it `is_own`, the user's.
    """
    binaries = [path for path in paths if is_binary(path)]
    for path in paths:
        if path.suffix not in SOURCE_SUFFIXES and path not in binaries:
            known = ", ".join(SOURCE_SUFFIXES)
            raise UserError(f"a program file must end in {known}, not {path}, unless it is ELF")
        if not path.is_file():
            raise UserError(f"the program file {path} does not exist")
    if binaries and len(paths) > 1:
        raise UserError(
            f"an ELF file must be the only program file; {binaries[0]} is one of {len(paths)}"
        )
    if binaries:
        return Program.load(binaries[0])

    warnings: list[str] = []
    path = compile_program(
        list(paths),
        config,
        optimize=options.optimize,
        includes=options.includes,
        defines=options.defines,
        stack_bytes=options.stack_bytes or STACK_BYTES,
        guarded=guarded,
        warnings=warnings,
        progress=progress,
    )
    program = Program.load(path)
    program.remarks.extend(warnings if is_own else ())
    return program


def memory_layout_of(
    config: MachineConfig,
    program: Program,
    buffers: Iterable[Region],
    options: SimtOptions,
    arguments_bytes: int = ARGUMENTS_BYTES,
) -> MemoryLayout:
    """Return where everything lies that a program may touch."""
    more = [Region("allowed memory", *region) for region in options.allow_regions]
    stack_bytes = stack_bytes_of(program, options.stack_bytes)
    return MemoryLayout(
        config,
        [*program_regions(program), *buffers, *more],
        program.symbols,
        stack_bytes=stack_bytes or STACK_BYTES,
        has_stacks=stack_bytes is not None,
        arguments_bytes=arguments_bytes,
    )


def program_regions(program: Program) -> list[Region]:
    """Return the regions of a program; segments closer than a page are merged.

    Start-up code clears whole rows of words, which may include the gap after a segment.
    """
    spans: list[list[int]] = []
    for address, data in sorted(program.segments, key=lambda segment: segment[0]):
        if spans and address - spans[-1][1] < PAGE:
            spans[-1][1] = max(spans[-1][1], address + len(data))
        else:
            spans.append([address, address + len(data)])
    return [Region(PROGRAM, first, end - first) for first, end in spans]
