"""Tests of compilation from C and C++: results, refusals, cache."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from spica.base.errors import UserError
from spica.base.zig import zig_environment
from spica.hw.config import CoreConfig
from spica.hw.isa.commands import CISC_MAPS
from spica.hw.isa.csr import CSRS
from spica.hw.isa.instructions import find
from spica.hw.isa.memory_map import CONSOLE_BASE, ENTRY, SHARED_BASE, STACK_TOP
from spica.hw.presets import PRESETS
from spica.kernels import compile as compiling
from spica.kernels import toolchain
from spica.kernels.bodies import steps
from spica.kernels.compile import INCLUDE_DIRECTORY, compile_program
from spica.kernels.header import INCLUDED, library_header, program_header
from spica.kernels.program import Program
from spica.kernels.toolchain import FLAGS, tool

CORE = PRESETS["core"]
PROGRAMS = Path(__file__).parents[2] / "support" / "c_programs"
HELLO = '#include <spica.h>\nint main(void) { puts("hello"); return 0; }\n'


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    name = "ZIG_GLOBAL_CACHE_DIR"  # not empty: zig would build its libraries in every test
    monkeypatch.setenv(name, zig_environment()[name])
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))


def source_file(folder: Path, text: str, name: str = "program.c") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def count_calls(monkeypatch) -> list[str]:
    """Return a list that grows by the name of each compiled or linked file."""
    calls = []

    def counted(language, arguments, what, variables=None):
        if "-E" not in arguments:
            calls.append(what.split()[0])
        return tool(language, arguments, what, variables)

    monkeypatch.setattr(toolchain, "tool", counted)
    return calls


@pytest.mark.parametrize("optimize", [0, 1, 2, 3])
@pytest.mark.parametrize("name", ["launches.c", "classes.cpp"])
@pytest.mark.quick(2)
def test_program(name, optimize):
    program = Program.load(compile_program([PROGRAMS / name], CORE, optimize=optimize))
    assert program.entry == program.symbols["_start"] == ENTRY
    assert program.segments[0][0] == ENTRY
    assert all(address % 4 == 0 for address, _ in program.segments)
    assert ENTRY < program.end < ENTRY + 0x10000
    assert program.function_of(program.symbols["main"]) == "main"
    assert program.function_of(program.symbols["_start"] + 4) == "_start"
    assert program.function_of(0) is program.function_of(program.end) is None
    assert program.symbols["main"] not in program.runtime
    assert program.symbols["spica_run_warps"] in program.runtime
    for address, data in program.text:
        assert len(data) % 4 == 0
        for step in steps(program, address, address + len(data)):
            assert find(step.word), f"{step.word:#x} at {program.line_of(step.pc)}"


def test_lines_of_source(tmp_path):
    text = HELLO.replace("{ puts", "{\n\n    puts").replace("; return", ";\n    return")
    program = Program.load(compile_program([source_file(tmp_path, text)], CORE))
    main = program.function_at(program.symbols["main"])
    assert main is not None
    lines = [program.line_of(pc) for pc in range(main.start, main.end, 4)]
    assert {line.line for line in lines if line} >= {2, 4}
    assert {line.function for line in lines if line} == {"main"}
    assert {line.file for line in lines if line} == {str(tmp_path / "program.c")}
    start = program.line_of(ENTRY)
    assert start is not None
    assert Path(start.file).name == "start.S"
    assert str(start).startswith("start.S:")
    assert str(start).endswith(" in _start")
    assert program.line_of(ENTRY - 4) is program.line_of(program.end + 4) is None


def test_several_files_and_assembly(tmp_path):
    main = "int seven(void); int eight(void);\nint main(void) { return seven() + eight(); }\n"
    paths = [
        source_file(tmp_path, main),
        source_file(tmp_path, 'extern "C" int seven() { return 7; }\n', "seven.cpp"),
        source_file(
            tmp_path,
            '#include "spica.h"\n.globl eight\neight: li a0, SPICA_THREADS\n ret\n',
            "eight.S",
        ),
    ]
    program = Program.load(compile_program(paths, CORE))
    assert {"seven", "eight"} <= program.symbols.keys()


def test_variables(tmp_path):
    text = (
        'static int cleared[1000], set = 3; const char *text = "text";\n'
        "int main(int argc, char **argv) { return cleared[argc] + set + text[argc]; }\n"
        "int *volatile where[] = {cleared, &set};\n"
    )
    program = Program.load(compile_program([source_file(tmp_path, text)], CORE, optimize=0))
    assert len(program.bss) >= 4000
    assert program.symbols["cleared"] in program.bss
    address, data = program.segments[0]
    place = program.symbols["set"] - address
    assert data[place : place + 4] == (3).to_bytes(4, "little")
    assert program.end - address == len(data), "variables are part of what is placed"
    assert program.symbols["_end"] == program.end


def test_header_has_the_machine():
    config = replace(PRESETS["virgo"], cores=3, core=CoreConfig(warps=5, threads=6))
    text = program_header(config)
    defined = dict(
        line.split(" /*")[0].removeprefix("#define ").split(" ", 1)
        for line in text.splitlines()
        if line.startswith("#define SPICA_") and " " in line.removeprefix("#define ")
    )
    assert [int(defined[f"SPICA_{name}"]) for name in ("CORES", "WARPS", "THREADS")] == [3, 5, 6]
    addresses = {
        "SHARED_BASE": SHARED_BASE,
        "STACK_TOP": STACK_TOP,
        "CONSOLE_BASE": CONSOLE_BASE,
        "WINDOW_BASE": SHARED_BASE + config.shared.size,
        # The matrix unit of a machine with 128 KB is at 0xFF023000.
        "MATRIX_INSTRUCTION": 0xFF02_3000,
        "MATRIX_BUSY": 0xFF02_3020,
    }
    for name, address in addresses.items():
        assert int(defined[f"SPICA_{name}"], 0) == address
    for name, csr in CSRS.items():
        assert int(defined[f"SPICA_CSR_{name.upper()}"], 0) == csr.number
    for code, command in CISC_MAPS["current"].items():
        assert int(defined[f"SPICA_CISC_{command.name.upper()}"]) == code
    assert "SPICA_MATRIX" not in program_header(CORE).replace("SPICA_MATRIX_STRIDE", "")


@pytest.mark.parametrize("language", ["cc", "c++"])
@pytest.mark.quick(1)
def test_headers_draw_no_warnings(tmp_path, language):
    """All headers, each included first, for machines with and without a matrix unit."""
    strict = ["-Wall", "-Wextra", "-Werror", "-O2", f"-I{INCLUDE_DIRECTORY}", "-c"]
    headers = ["spica.h", *sorted(path.name for path in INCLUDE_DIRECTORY.iterdir())]
    assert set(headers) >= {*INCLUDED, "vx_intrinsics.h", "vx_spawn.h", "vx_print.h"}
    for preset in ("core", "virgo"):
        (tmp_path / "spica.h").write_text(program_header(PRESETS[preset]))
        for header in headers:
            text = f"#include <{header}>\nint main(void) {{ return 0; }}\n"
            path = source_file(tmp_path, text, "program.c" if language == "cc" else "program.cpp")
            output = [f"-I{tmp_path}", str(path), "-o", str(tmp_path / "program.o")]
            tool(language, [*FLAGS, *strict, *output], header)


def test_macros_of_a_program_do_not_change_those_of_headers(tmp_path):
    """Names of blocks and registers are parts of names only."""
    path = source_file(
        tmp_path,
        "#include <virgo.h>\nint main(void)\n{\n    virgo_dma_load(0, 0, 4, 4, 1, 4, 0, 0);\n"
        "    virgo_tile(8, 8, VIRGO_TILE_K);\n    virgo_fence(0);\n    return VIRGO_A_BLOCK;\n}\n",
    )
    names = ("ROWS", "COLUMNS", "TILE_2", "BYTES", "DMA", "MATRIX", "SHAPE", "START", "RS1_LOW")
    defines = [f"{name}=15" for name in names]
    tiny = PRESETS["tiny"]
    plain, changed = (
        Program.load(compile_program([path], tiny, defines=given)) for given in ((), defines)
    )
    assert plain.text == changed.text


def test_library_knows_no_sizes():
    """The library is compiled once for all machines, so it must not depend on one."""
    text = library_header()
    assert "SPICA_STACK_TOP" in text
    for name in (
        "SPICA_STACK_BYTES",
        "SPICA_CORES",
        "SPICA_WARPS",
        "SPICA_THREADS",
        "SPICA_BARRIERS",
        "SPICA_CONFIG",
    ):
        assert name not in text


# Refused


def error_of(paths, config=CORE, **options) -> str:
    with pytest.raises(UserError) as caught:
        compile_program(paths, config, **options)
    return str(caught.value)


def test_errors_of_the_compiler(tmp_path):
    path = source_file(tmp_path, "int main(void)\n{\n    return missing;\n}\n")
    lines = error_of([path]).splitlines()
    assert lines[0] == "program.c does not compile:"
    assert lines[1] == f"{path}:3:12: error: use of undeclared identifier 'missing'"
    assert "return missing;" in lines[2]
    path = source_file(
        tmp_path, "template <int n> struct A { static_assert(n); };\nA<0> a;\n", "a.cpp"
    )
    assert f"{path}:1:43: error: static assertion failed" in error_of([path])


ATOMICS = {
    "builtin": ("a.c", "static int x;\nint main(void) { return __atomic_fetch_add(&x, 1, 5); }\n"),
    "header": (
        "a.c",
        "#include <stdatomic.h>\n"
        "int main(void) { static atomic_int x; return atomic_fetch_add(&x, 1); }\n",
    ),
    "load": ("a.c", "static int x;\nint main(void) { return __atomic_load_n(&x, 2); }\n"),
}


@pytest.mark.parametrize("case", ATOMICS)
def test_atomics_are_refused_where_they_are(case, tmp_path):
    name, text = ATOMICS[case]
    path = source_file(tmp_path, text, name)
    error = error_of([path])
    assert f"{path}:2:" in error
    assert "error: the cores have no atomic instructions: order accesses by barriers" in error


UNITS = {
    "hmma": (
        "tiny",
        "int main(void) { float c[8] = {0}; spica_hmma(c, c, c); return (int)c[0]; }\n",
        "hmma needs tensor units of core.tensor=hmma and this machine has none",
    ),
    "hgmma": (
        "tiny",
        "int main(void) { spica_hgmma(0, 0); return 0; }\n",
        "hgmma needs tensor units of core.tensor=hgmma and this machine has none",
    ),
    "hgmma beside hmma": (
        "ampere",
        "int main(void) { spica_hgmma_wait(); return 0; }\n",
        "hgmma needs tensor units of core.tensor=hgmma and this machine has none",
    ),
    "assembler": (
        "tiny",
        'int main(void) { __asm__(SPICA_INSN("x0, x0, x0", SPICA_INSN_HMMA)); return 0; }\n',
        "hmma needs tensor units of core.tensor=hmma and this machine has none",
    ),
    "RoCC": (
        "core",
        "int main(void) { spica_rocc(0, 0, 0); return 0; }\n",
        "this needs a matrix unit and this machine has none",
    ),
    "virgo": (
        "core",
        "int main(void) { virgo_fence(0); return 0; }\n",
        "this needs a matrix unit and this machine has none",
    ),
}


@pytest.mark.parametrize("case", UNITS)
@pytest.mark.quick(2)
def test_intrinsics_of_missing_units_are_refused_where_they_are(case, tmp_path):
    preset, text, sentence = UNITS[case]
    path = source_file(tmp_path, f"#include <spica.h>\n{text}")
    error = error_of([path], PRESETS[preset])
    assert f"{path}:2:" in error or "<inline asm>" in error
    assert "error: " in error and sentence in error


def test_every_instruction_of_registers_can_be_written(tmp_path):
    """A machine with the unit has it, and an integer instruction needs no entry of its own."""
    for preset, name in (("ampere", "HMMA"), ("hopper", "HGMMA")):
        text = program_header(PRESETS[preset])
        assert f"#define SPICA_INSN_{name} 0x7b, 0, 0x00" in text
        assert f"SPICA_LACKS_{name} " not in text
    source = (
        "#include <spica.h>\nint main(void) { uint32_t x;\n"
        '__asm__(SPICA_INSN("%0, %1, %2", SPICA_INSN_MULHU) : "=r"(x) : "r"(1u << 31), "r"(10));\n'
        "return (int)x - 5; }\n"
    )
    program = Program.load(compile_program([source_file(tmp_path, source)], CORE))
    assert program.segments


def test_calls_of_atomics_are_refused(tmp_path):
    text = "static int x;\nint main(void) { return __sync_fetch_and_add(&x, 1); }\n"
    error = error_of([source_file(tmp_path, text)])
    assert "it calls __atomic_fetch_add_4, but the cores have no atomic instructions" in error


def test_many_errors_are_cut(tmp_path):
    path = source_file(tmp_path, "#warning first\n" + "int f(void) { return x; }\n" * 30)
    lines = error_of([path]).splitlines()
    assert len(lines) <= 12
    assert "error: use of undeclared identifier 'x'" in lines[1]
    assert lines[-1].endswith("more lines")


def test_errors_of_the_linker(tmp_path):
    text = error_of([source_file(tmp_path, "int other(void) { return 0; }\n")])
    assert text.startswith("the program does not link:")
    assert "undefined symbol: main" in text
    text = error_of([source_file(tmp_path, "__thread int x;\nint main(void) { return x++; }\n")])
    assert "variables must not be __thread" in text


def test_requests_that_make_no_sense(tmp_path):
    path = source_file(tmp_path, HELLO)
    assert error_of([]) == "a program needs at least one source file, and none was given"
    assert "must end in .S, .c, .cpp" in error_of([tmp_path / "program.f90"])
    assert "must exist" in error_of([tmp_path / "nothing.c"])
    assert error_of([path], optimize=4) == "optimize must be 0 to 3, not 4"
    assert "set cores" in error_of([path], PRESETS["matrix"])


def test_what_is_no_program(tmp_path):
    path = tmp_path / "x.elf"
    with pytest.raises(UserError, match="must be readable"):
        Program.load(path)
    path.write_bytes(b"not a program")
    with pytest.raises(UserError, match="must be an ELF file"):
        Program.load(path)
    with pytest.raises(UserError, match=r"must be for 32-bit RISC-V; .* is for 64-bit"):
        Program.load(Path(sys.executable).resolve())


# Built again


def test_what_is_built_once_is_found_again(tmp_path, monkeypatch, empty_cache):
    calls = count_calls(monkeypatch)
    path = source_file(tmp_path, HELLO)
    steps = []
    first = compile_program([path], CORE, progress=lambda *step: steps.append(step))
    assert "program.c" in calls and "start.S" in calls and "print.c" in calls
    assert [(kind, done, total) for kind, done, total, _ in steps] == [
        ("compiling the runtime", 0, 1),
        ("compiling the runtime", 0, 1),
        ("compiling the program", 0, 1),
        ("linking the program", 0, 1),
    ]
    calls.clear()
    assert compile_program([path], CORE) == first
    assert not calls
    # Another machine: new assembly objects, the same library.
    other = compile_program([path], PRESETS["tiny"])
    assert other != first
    assert "start.S" in calls and "print.c" not in calls
    calls.clear()
    assert len({compile_program([path], CORE, optimize=level) for level in range(4)}) == 4
    assert set(calls) == {"program.c", "the"}
    os.utime(path)
    calls.clear()
    assert compile_program([path], CORE) == first
    assert not calls


@pytest.mark.parametrize(
    "name", ["include/spica_math.h", "start.S", "decimal.h", "print.c", "link.ld"]
)
@pytest.mark.quick(1)
def test_a_changed_runtime_is_built_again(tmp_path, monkeypatch, empty_cache, name):
    runtime = tmp_path / "runtime"
    for path in sorted(compiling.RUNTIME_DIRECTORY.rglob("*.*")):
        copy = runtime / path.relative_to(compiling.RUNTIME_DIRECTORY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text())
    monkeypatch.setattr(compiling, "RUNTIME_DIRECTORY", runtime)
    monkeypatch.setattr(compiling, "INCLUDE_DIRECTORY", runtime / "include")
    monkeypatch.setattr(compiling, "LINKER_SCRIPT", runtime / "link.ld")
    path = source_file(tmp_path, HELLO)
    first = compile_program([path], CORE)
    changed = runtime / name
    changed.write_text(changed.read_text() + "\n/* changed */\n")
    assert compile_program([path], CORE) != first


@pytest.mark.full
def test_other_flags_and_another_compiler_are_built_again(tmp_path, monkeypatch, empty_cache):
    path = source_file(tmp_path, HELLO)
    programs = {compile_program([path], CORE)}
    monkeypatch.setattr(toolchain, "FLAGS", (*FLAGS, "-DOTHER"))
    programs.add(compile_program([path], CORE))
    monkeypatch.setattr(compiling, "compiler_version", lambda: "another")
    programs.add(compile_program([path], CORE))
    assert len(programs) == 3


@pytest.mark.full
def test_several_callers_at_a_time(tmp_path, empty_cache):
    path = source_file(tmp_path, HELLO)
    script = (
        "import sys; from pathlib import Path; from spica.hw.presets import PRESETS\n"
        "from spica.kernels.compile import compile_program\n"
        "print(compile_program([Path(sys.argv[1])], PRESETS['core']))"
    )

    def call(_):
        command = [sys.executable, "-c", script, str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    with ThreadPoolExecutor(3) as pool:
        (built,) = set(pool.map(call, range(3)))
    assert Path(built.strip()) == compile_program([path], CORE)
    with Path(built.strip()).open("rb") as file:
        assert ELFFile(file).get_section_by_name(".symtab") is not None
