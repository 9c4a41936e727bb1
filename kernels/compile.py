"""Compiler driver: C, C++ and assembly to an ELF file with start-up code, cached by content."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.build_cache import cached, digest, scratch_folder
from ..base.build_step import build_step
from ..base.errors import UserError
from ..base.progress import Progress
from ..base.zig import compiler_version
from ..hw.config import MachineConfig
from ..hw.isa.memory_map import STACK_BYTES
from . import toolchain
from .divergence.check import Crossing, first_crossing
from .forks.check import crossing_values
from .guards import GUARDED_FLAGS, guarded_script
from .header import library_header, program_header
from .object_files import SourceFile, object_of
from .program import Program
from .toolchain import LANGUAGES, NO_ATOMICS, TARGET

__all__ = ["INCLUDE_DIRECTORY", "RUNTIME_DIRECTORY", "compile_program"]

RUNTIME_DIRECTORY = Path(__file__).with_name("runtime")
INCLUDE_DIRECTORY = RUNTIME_DIRECTORY / "include"
LINKER_SCRIPT = RUNTIME_DIRECTORY / "link.ld"
FOLDER = Path(__file__).parent
GUARDS = FOLDER / "guards.py"

#: Names of calls that atomic accesses become, and the section of ``#pragma comment(lib, …)``.
ATOMIC_CALL = re.compile(rb"\0(__(?:sync|atomic)_\w+)\0")
#: Characters of a file name with a meaning in linker scripts, such as blanks and colons.
SPECIAL = re.compile(r"[^\w.-]")
LIBRARIES = b"\0.deplibs\0"


def runtime_sources(suffix: str) -> list[Path]:
    """Return the files that every program links: assembly per machine, C for all machines."""
    return sorted(RUNTIME_DIRECTORY.glob(f"*{suffix}"))


def texts(paths: Sequence[Path]) -> list[str | bytes]:
    """Return names and contents of files."""
    return [part for path in paths for part in (str(path), path.read_bytes())]


def tools_key() -> list[str | bytes]:
    """Return everything that determines objects, except sources and `spica.h`."""
    passes = [*sorted(RUNTIME_DIRECTORY.rglob("*.h")), FOLDER / "entries.py"]
    return [compiler_version(), *toolchain.FLAGS, repr(LANGUAGES), *texts(passes)]


def checks_key() -> list[str | bytes]:
    """Return the text of the checks that a linked program has passed."""
    return texts(sorted([*FOLDER.glob("divergence/*.py"), *FOLDER.glob("forks/*.py")]))


def build_runtime(
    tools: Sequence[str | bytes],
    header: str,
    sources: Sequence[Path],
    progress: Progress | None,
) -> Path:
    """Return a directory with `spica.h` and the objects of a part of the runtime."""

    def build(directory: Path) -> None:
        (directory / "spica.h").write_text(header)
        size = sum(source.stat().st_size for source in sources)
        with build_step(progress, "compiling the runtime", size=size):
            for source in sources:
                library = (directory, INCLUDE_DIRECTORY)
                part = SourceFile(path=source, optimize=2, library=library, is_own=False)
                with scratch_folder() as folder:
                    contents, _ = part.object(part.preprocessed(folder), folder)
                # The linker script matches this name.
                (directory / f"spica_runtime_{source.stem}.o").write_bytes(contents)

    return cached("runtime", digest([header, *tools, *texts(sources)]), build, progress)


@dataclass(frozen=True, kw_only=True)
class ProgramBuild:
    """Objects of a program, their link, and the checks of the linked program.

    Parameters
    ----------
    sources : tuple of SourceFile
    runtime : tuple of Path
        Folders with the objects of the runtime.
    threads : int
        Threads of a warp of the machine.
    guarded : bool
        Whether the variables have guards between them.
    progress : callable or None

    """

    sources: tuple[SourceFile, ...]
    runtime: tuple[Path, ...]
    threads: int
    guarded: bool
    progress: Progress | None

    def objects(self, warnings: list[str]) -> dict[str, bytes]:
        """Return the objects of the sources, by file name; add warnings of the compiler."""
        compiled = {}
        for index, source in enumerate(self.sources):
            name = f"{index}_{SPECIAL.sub('_', source.path.stem)[:100]}.o"
            compiled[name], said = object_of(source, self.progress)
            warnings += said
        return compiled

    def link(self, contents: Mapping[str, bytes], directory: Path) -> Program:
        """Link objects and the runtime to ``program.elf`` in a directory."""
        for name, object_bytes in contents.items():
            (directory / name).write_bytes(object_bytes)
        objects = [path for folder in self.runtime for path in sorted(folder.glob("*.o"))]
        objects += [directory / name for name in contents]
        with build_step(self.progress, "linking the program"):
            script = LINKER_SCRIPT
            if self.guarded:
                script = directory / "guarded.ld"
                script.write_text(guarded_script(LINKER_SCRIPT.read_text(), objects))
            link(objects, directory / "program.elf", script)
        return Program.load(directory / "program.elf")

    def check(self, program: Program) -> None:
        """Raise if paths or values of a program cross what they must not."""
        if crossing := first_crossing(program):
            # Unoptimised code has each path as in the source, with its line.
            plain = replace(
                self, sources=tuple(replace(source, optimize=0) for source in self.sources)
            )
            with scratch_folder() as folder:
                in_source = first_crossing(plain.link(plain.objects([]), folder))
            raise structure_error(crossing, in_source, self.sources[0].optimize)
        for complaint in crossing_values(program, self.threads):
            raise UserError(complaint)


def require_sources(
    sources: Sequence[Path], optimize: int, includes: Sequence[Path], defines: Sequence[str]
) -> None:
    """Raise unless the sources and the options of the compiler are valid."""
    if not sources:
        raise UserError("a program needs at least one source file, and none was given")
    for source in sources:
        if source.suffix not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise UserError(f"a source file must end in {known}, not {source.name!r}")
        if not source.is_file():
            raise UserError(f"a source file must exist; {source} does not")
    if optimize not in range(4):
        raise UserError(f"optimize must be 0 to 3, not {optimize}")
    for folder in includes:
        if not folder.is_dir():
            raise UserError(f"a folder of headers must exist; {folder} does not")
    for define in defines:
        if not re.match(r"[A-Za-z_]\w*(\([^)]*\))?(=|$)", define):
            raise UserError(f"a macro must be NAME or NAME=VALUE, not {define!r}")


def compile_program(
    sources: Sequence[Path],
    config: MachineConfig,
    *,
    optimize: int = 3,
    includes: Sequence[Path] = (),
    defines: Sequence[str] = (),
    stack_bytes: int = STACK_BYTES,
    guarded: bool = False,
    warnings: list[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the ELF file of a program for a cluster; build it if it is not cached.

    Parameters
    ----------
    sources : sequence of Path
        C, C++ and assembly files, distinguished by suffix.
    config : MachineConfig
        The machine; the program gets its sizes from ``spica.h``.
    optimize : int
        Optimisation level of the compiler, 0 to 3.
    includes : sequence of Path
        Further folders of headers, searched before those of the library.
    defines : sequence of str
        Macros, as ``NAME`` or ``NAME=VALUE``.
    stack_bytes : int
        Bytes of each thread's stack, a multiple of 16.
    guarded : bool
        Whether the variables have guards between them.
    warnings : list of str or None
        Gets the warnings of the compiler.
    progress : callable or None
        Progress callback.

    """
    sources = [Path(source).resolve() for source in sources]
    folders = [Path(folder).resolve() for folder in includes]
    require_sources(sources, optimize, folders, defines)
    header, tools = program_header(config, stack_bytes), tools_key()
    runtime = build_runtime(tools, header, runtime_sources(".S"), progress)
    library = build_runtime(tools, library_header(), runtime_sources(".c"), progress)
    assert config.core is not None
    program = ProgramBuild(
        sources=tuple(
            SourceFile(
                path=path,
                optimize=optimize,
                folders=tuple(folders),
                library=(runtime, INCLUDE_DIRECTORY),
                defines=tuple(defines),
                more=GUARDED_FLAGS if guarded else (),
            )
            for path in sources
        ),
        runtime=(runtime, library),
        threads=config.core.threads,
        guarded=guarded,
        progress=progress,
    )
    objects = program.objects([] if warnings is None else warnings)

    def build(directory: Path) -> None:
        program.check(program.link(objects, directory))

    # Objects depend on the machine only where sources use its header.
    key = [*tools, *checks_key(), header, runtime.name, library.name, str(optimize), *objects]
    key += [*objects.values(), *texts([LINKER_SCRIPT, *([GUARDS] if guarded else [])])]
    return cached("program", digest(key), build, progress) / "program.elf"


def structure_error(crossing: Crossing, in_source: Crossing | None, optimize: int) -> UserError:
    """Return the error for a path over the bounds of a construct.

    Parameters
    ----------
    crossing : Crossing
        The path in the program.
    in_source : Crossing or None
        The same without optimisation, None if there is none: the compiler made the path.
    optimize : int
        Optimisation level of the program.

    """
    if in_source is None:
        return UserError(
            f"the compiler must keep {crossing.name} in one piece; at -O{optimize} it does not in "
            f"{crossing.construct}: compile with --optimize 0, or change the loops around it"
        )
    end = in_source.name.replace("SPICA_", "SPICA_END_")
    return UserError(
        f"{in_source.name} must be left through {end} alone; the one of {in_source.construct} is "
        f"left or entered otherwise at {in_source.path}: replace break, continue, goto, return or "
        "case there by a flag in conditions"
    )


def link(objects: Sequence[Path], target: Path, script: Path) -> None:
    """Link objects to a program by a linker script."""
    flags = [
        *TARGET,
        "-O2",
        "-static",
        "-Wl,--gc-sections,--no-eh-frame-hdr",
        f"-Wl,-T,{script}",
    ]
    what = "the program does not link"
    for path in objects:
        contents = path.read_bytes()
        if call := ATOMIC_CALL.search(contents):
            raise UserError(f"{what}: it calls {call[1].decode()}, but {NO_ATOMICS}")
        if LIBRARIES in contents:
            raise UserError(f"{what}: leave out #pragma comment(lib), give its files as sources")
    toolchain.tool("cc", [*flags, *map(str, objects), "-o", str(target)], what)
