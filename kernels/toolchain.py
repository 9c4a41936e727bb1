"""Compiler of programs: flags of the cores, the variables passed to it, and its messages."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..base.build_cache import full_disk
from ..base.errors import UserError
from ..base.tools import run_tool
from ..base.zig import zig_command, zig_environment

__all__ = [
    "FLAGS",
    "LANGUAGES",
    "NO_ATOMICS",
    "TARGET",
    "UnmetAssertionError",
    "environment",
    "tool",
]

TARGET = (
    *("-target", "riscv32-freestanding-none"),
    *("-mcpu=generic_rv32+m+f", "-mabi=ilp32f"),
)
FLAGS = (
    *TARGET,
    *("-ffreestanding", "-fno-math-errno", "-fomit-frame-pointer"),
    *("-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-fno-sanitize=all"),
    *("-fno-stack-protector", "-ffunction-sections", "-fdata-sections"),
    # Divergence instructions must not be duplicated or merged; peeling a loop ignores convergence.
    *("-fconvergent-functions", "-mllvm", "-unroll-peel-max-count=0"),
    # Control flow that `divergence` can follow: no jump through a register within a function.
    "-fno-jump-tables",
    # Parallel blocks are functions of their own.
    "-fblocks",
    # Source lines for reports, no other debug information, and none of the working directory.
    *("-gline-tables-only", "-fdebug-compilation-dir=."),
    # Without atomic instructions atomics become calls of a library that relies on them.
    "-Werror=atomic-alignment",
)
LANGUAGES = {
    ".S": ("cc", ()),
    ".c": ("cc", ("-std=gnu17",)),
    ".cpp": ("c++", ("-std=gnu++20", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics")),
}
LANGUAGES[".cc"] = LANGUAGES[".cxx"] = LANGUAGES[".cpp"]
#: The compiler's words for an atomic access that becomes a call.
ATOMIC_ACCESS = re.compile(r"large atomic operation .* \[-Werror,-Watomic-alignment\]")
NO_ATOMICS = "the cores have no atomic instructions: order accesses by barriers and vx_fence"
#: The compiler's words for files that it cannot take and for uses of variables in a parallel block,
#: and what they mean there.
REPLACED = (
    (
        re.compile(r"failed to parse 'tmp/.*\.d': .*"),
        r"the compiler takes no file name with : and no path with \\: rename the file",
    ),
    (
        re.compile(
            r"(unable to open output file|error opening) '.*(Filename|File name) too long.*"
        ),
        "the compiler takes file names of at most 230 characters: rename the file",
    ),
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
#: Warning of the compiler: file, place, and text.
WARNING = re.compile(r"^(.+?)(:\d+:\d+): warning: (.+)$", re.MULTILINE)
#: Compiler output lines that a message quotes.
QUOTED_LINES = 10
#: Assertion of a kernel about its machine: the field to change, and the rule.
ASSERTION = re.compile(
    r"error: static assertion failed.*: \[(?P<change>larger|other) (?P<field>[\w.]+)\] (?P<rule>.*)"
)

#: Variables passed to the compiler: folders of its own files, and folders that sources search. Any
#: other could change an object without a trace in its source.
VISIBLE = (
    *("PATH", "HOME", "TMPDIR", "TMP", "TEMP", "ZIG_GLOBAL_CACHE_DIR"),
    *("SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"),
)
SEARCHED = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")


class UnmetAssertionError(UserError):
    """A machine does not satisfy a static assertion of a program about it.

    Such an assertion has a text as in ``[larger shared.size] shared memory must hold a tile``: the
    change, ``larger`` or ``other``, the field of the config, and the rule.
    """

    def __init__(self, message: str, change: str, field: str, rule: str):
        super().__init__(message)
        self.change, self.field, self.rule = change, field, rule


def environment(*, searched: bool = False, private: Path | None = None) -> dict[str, str]:
    """Return the variables of a compilation.

    Parameters
    ----------
    searched : bool
        Whether variables that name folders of headers are among them.
    private : Path or None
        Folder of a cache for this compilation alone. The compiler's own cache misses changes:
        files that the assembler reads, and headers that appear in a folder searched earlier.

    """
    names = (*VISIBLE, *(SEARCHED if searched else ()))
    variables = {name: value for name, value in zig_environment().items() if name.upper() in names}
    if private is not None:
        variables |= {f"ZIG_{kind}_CACHE_DIR": str(private) for kind in ("GLOBAL", "LOCAL")}
    return variables


def tool(
    language: str,
    arguments: Sequence[str],
    what: str,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """Run the compiler and return its warnings; raise with its first errors if it fails."""
    run = run_tool(
        [*zig_command(), language, *arguments],
        env=environment() if variables is None else variables,
        errors="replace",
    )
    if run.returncode:
        if full := full_disk():
            raise UserError(f"{what}: {full}")
        message = f"{what}:\n{first_errors(run.stderr or run.stdout)}"
        if unmet := ASSERTION.search(run.stderr):
            raise UnmetAssertionError(message, **unmet.groupdict())
        raise UserError(message)
    warnings = (
        f"{Path(file).name}{location}: {text}"
        for file, location, text in WARNING.findall(run.stderr)
    )
    return list(dict.fromkeys(warnings))


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
