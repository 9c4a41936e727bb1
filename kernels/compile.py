"""Compiler driver: C, C++ and assembly to an ELF file with start-up code, cached by content."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from ..hw.base.build_cache import cached, digest
from ..hw.base.build_step import build_step
from ..hw.base.errors import UserError
from ..hw.base.progress import Progress
from ..hw.base.tools import run_tool
from ..hw.base.zig import compiler_version, zig_environment
from ..hw.config import ClusterConfig
from ..hw.isa.memory_map import STACK_BYTES
from .entries import dropped_saves
from .forks.check import crossing_values
from .header import library_header, program_header
from .program import Program

__all__ = ["INCLUDE_DIRECTORY", "RUNTIME_DIRECTORY", "UnmetAssertionError", "compile_program"]

RUNTIME_DIRECTORY = Path(__file__).with_name("runtime")
INCLUDE_DIRECTORY = RUNTIME_DIRECTORY / "include"
LINKER_SCRIPT = RUNTIME_DIRECTORY / "link.ld"

TARGET = (
    *("-target", "riscv32-freestanding-none"),
    *("-mcpu=generic_rv32+m+f", "-mabi=ilp32f"),
)
FLAGS = (
    *TARGET,
    *("-ffreestanding", "-fno-math-errno", "-fomit-frame-pointer"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fno-sanitize=all"),
    *("-fno-stack-protector", "-ffunction-sections", "-fdata-sections"),
    # Divergence instructions must not be duplicated or merged.
    "-fconvergent-functions",
    # Parallel blocks are functions of their own.
    "-fblocks",
    # Source lines for reports, no other debug information.
    "-gline-tables-only",
    # Without atomic instructions atomics become calls of a library that relies on them.
    "-Werror=atomic-alignment",
)
LANGUAGES = {
    ".S": ("cc", ()),
    ".c": ("cc", ("-std=gnu17",)),
    ".cpp": ("c++", ("-std=gnu++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")),
}
LANGUAGES[".cc"] = LANGUAGES[".cxx"] = LANGUAGES[".cpp"]
#: The compiler's words for an atomic access that becomes a call, and names of such calls.
ATOMIC_ACCESS = re.compile(r"large atomic operation .* \[-Werror,-Watomic-alignment\]")
ATOMIC_CALL = re.compile(rb"\0(__(?:sync|atomic)_\w+)\0")
NO_ATOMICS = "the cores have no atomic instructions: order accesses by barriers and vx_fence"
#: The compiler's words for uses of variables in a parallel block, and what they mean there.
REPLACED = (
    (ATOMIC_ACCESS, NO_ATOMICS),
    (
        re.compile(
            r"variable is not assignable \(missing __block .*|cannot assign to a variable cap.*"
        ),
        "a parallel block has copies of the variables from before it and cannot assign to them: "
        "store results in static variables or through pointers",
    ),
    (
        re.compile(r"cannot refer to declaration with an? (array|variable.*) type inside block"),
        "a parallel block has no copies of arrays from before it: declare the array static, or "
        "use a pointer to it",
    ),
)
#: Header whose users contain functions that threads enter.
PARALLEL_HEADER = "spica_parallel.h"
#: Compiler output lines that a message quotes.
QUOTED_LINES = 10
#: Assertion of a kernel about its machine: the field to change, and the rule.
ASSERTION = re.compile(
    r"error: static assertion failed.*: \[(?P<change>larger|other) (?P<field>[\w.]+)\] (?P<rule>.*)"
)


class UnmetAssertionError(UserError):
    """A machine does not meet a static assertion of a program about it.

    Such an assertion has a text as in ``[larger shared.size] shared memory must hold a tile``: the
    change, ``larger`` or ``other``, the field of the config, and the rule.
    """

    def __init__(self, message: str, change: str, field: str, rule: str):
        super().__init__(message)
        self.change, self.field, self.rule = change, field, rule


def tool(language: str, arguments: Sequence[str], what: str) -> None:
    """Run the compiler; raise with its first errors if it fails."""
    command = [sys.executable, "-m", "ziglang", language, *arguments]
    run = run_tool(command, env=zig_environment())
    if run.returncode:
        message = f"{what}:\n{first_errors(run.stderr or run.stdout)}"
        if unmet := ASSERTION.search(run.stderr):
            raise UnmetAssertionError(message, **unmet.groupdict())
        raise UserError(message)


def first_errors(output: str) -> str:
    """Return the compiler's output from its first error on, shortened to `QUOTED_LINES` lines."""
    lines = [line for line in output.splitlines() if line.strip()]
    first = next((k for k, line in enumerate(lines) if "error:" in line), 0)
    said = [in_own_words(line) for line in lines[first:]]
    more = [f"… {len(said) - QUOTED_LINES} more lines"] if len(said) > QUOTED_LINES else []
    return "\n".join([*said[:QUOTED_LINES], *more]) or "no message"


def in_own_words(line: str) -> str:
    """Return a line of the compiler with what its words mean here."""
    for words, meaning in REPLACED:
        line = words.sub(meaning, line)
    return line


def compile_one(
    source: Path,
    target: Path,
    includes: Sequence[Path],
    optimize: int,
    defines: Sequence[str] = (),
) -> None:
    """Compile one file to an object."""
    language, flags = LANGUAGES[source.suffix]
    directories = [f"-I{directory}" for directory in includes]
    macros = [f"-D{define}" for define in defines]
    arguments = [*FLAGS, *flags, f"-O{optimize}", *macros, *directories, "-fno-color-diagnostics"]
    what = f"{source.name} does not compile"
    if PARALLEL_HEADER not in (path.name for path in included([source], includes)):
        tool(language, [*arguments, "-c", str(source), "-o", str(target)], what)
        return
    text = target.with_suffix(".s")
    tool(language, [*arguments, "-S", str(source), "-o", str(text)], what)
    text.write_text(dropped_saves(text.read_text()))
    tool("cc", [*TARGET, "-c", str(text), "-o", str(target)], what)


def runtime_sources(suffix: str) -> list[Path]:
    """Return the files that every program links: assembly per machine, C for all machines."""
    return sorted(RUNTIME_DIRECTORY.glob(f"*{suffix}"))


def texts(paths: Sequence[Path]) -> list[str | bytes]:
    """Return names and contents of files."""
    return [part for path in paths for part in (str(path), path.read_bytes())]


def tools_key() -> list[str | bytes]:
    """Return everything that determines objects, except sources and `spica.h`."""
    headers = sorted(RUNTIME_DIRECTORY.rglob("*.h"))
    passes = [
        Path(__file__).with_name("entries.py"),
        *sorted(Path(__file__).parent.glob("forks/*.py")),
    ]
    return [compiler_version(), *FLAGS, repr(LANGUAGES), *texts([*headers, *passes])]


def build_runtime(header: str, sources: Sequence[Path], progress: Progress | None) -> Path:
    """Return a directory with `spica.h` and the objects of a part of the runtime."""

    def build(directory: Path) -> None:
        (directory / "spica.h").write_text(header)
        size = sum(source.stat().st_size for source in sources)
        with build_step(progress, "compiling the runtime", size=size):
            for source in sources:
                # The linker script matches this name.
                target = directory / f"spica_runtime_{source.stem}.o"
                compile_one(source, target, (directory, INCLUDE_DIRECTORY), 2)

    return cached("runtime", digest([header, *tools_key(), *texts(sources)]), build, progress)


def included(sources: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    """Return the files named in ``#include`` or ``#embed`` of sources, transitively.

    They are beside the file that names them, or in a folder of headers.
    """
    found: dict[Path, None] = {}
    waiting = list(sources)
    while waiting:
        path = waiting.pop()
        text = path.read_text(errors="replace")
        for name in re.findall(r'#\s*(?:include|embed)\s*["<]([^">]+)[">]', text):
            for place in (path.parent, *folders):
                named = (place / name).resolve()
                if named.is_file() and named not in found:
                    found[named] = None
                    waiting.append(named)
    return list(found)


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
    config: ClusterConfig,
    *,
    optimize: int = 3,
    includes: Sequence[Path] = (),
    defines: Sequence[str] = (),
    stack_bytes: int = STACK_BYTES,
    progress: Progress | None = None,
) -> Path:
    """Return the ELF file of a program for a cluster; build it if it is not cached.

    Parameters
    ----------
    sources : sequence of Path
        C, C++ and assembly files, told apart by suffix.
    config : ClusterConfig
        The machine; the program gets its sizes from ``spica.h``.
    optimize : int
        Optimisation level of the compiler, 0 to 3.
    includes : sequence of Path
        Further folders of headers, searched before those of the library.
    defines : sequence of str
        Macros, as ``NAME`` or ``NAME=VALUE``.
    stack_bytes : int
        Bytes of each thread's stack, a multiple of 16.
    progress : callable or None
        Progress callback.

    """
    sources = [Path(source).resolve() for source in sources]
    folders = [Path(folder).resolve() for folder in includes]
    require_sources(sources, optimize, folders, defines)
    header = program_header(config, stack_bytes)
    files = [*sources, *included(sources, folders)]
    parts = [*texts(files), *map(str, folders), *defines]

    def build(directory: Path) -> None:
        runtime = build_runtime(header, runtime_sources(".S"), progress)
        library = build_runtime(library_header(), runtime_sources(".c"), progress)
        objects = [*sorted(runtime.glob("*.o")), *sorted(library.glob("*.o"))]
        size = sum(path.stat().st_size for path in files)
        with build_step(progress, "compiling the program", size=size, variant=f"-O{optimize}"):
            for index, source in enumerate(sources):
                target = directory / f"{index}_{source.stem}.o"
                headers = (*folders, runtime, INCLUDE_DIRECTORY)
                compile_one(source, target, headers, optimize, defines)
                objects.append(target)
        with build_step(progress, "linking the program"):
            link(objects, directory / "program.elf")
        require_no_crossing(directory / "program.elf", config)

    runtime_parts = texts([*runtime_sources(".S"), *runtime_sources(".c"), LINKER_SCRIPT])
    key = digest([header, *tools_key(), *runtime_parts, str(optimize), str(len(sources)), *parts])
    return cached("program", key, build, progress) / "program.elf"


def require_no_crossing(path: Path, config: ClusterConfig) -> None:
    """Raise if threads of a program use values of the thread that starts them."""
    assert config.core is not None
    for complaint in crossing_values(Program.load(path), config.core.threads):
        raise UserError(complaint)


def link(objects: Sequence[Path], target: Path) -> None:
    """Link objects to a program."""
    flags = [
        *TARGET,
        "-O2",
        "-static",
        "-Wl,--gc-sections,--no-eh-frame-hdr",
        f"-Wl,-T,{LINKER_SCRIPT}",
    ]
    for path in objects:
        if call := ATOMIC_CALL.search(path.read_bytes()):
            what = "the program does not link"
            raise UserError(f"{what}: it calls {call[1].decode()}, but {NO_ATOMICS}")
    tool("cc", [*flags, *map(str, objects), "-o", str(target)], "the program does not link")
