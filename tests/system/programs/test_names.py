"""Tests of names of functions in reports: C++ names, labels, none that tools made."""

import pytest

from spica.cli.main import main
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.demangle import demangled
from spica.kernels.inlining import CallChains
from spica.kernels.program import Program
from spica.sim.trace.pipeline.naming import Names
from support.programs.bare_machine import built
from support.runs import failure_of

TINY = PRESETS["tiny"]
CLASSES = """
#include <spica.h>
namespace shapes {
template <typename T> struct Box {
    T side;
    __attribute__((noinline)) T area(const volatile T *where) const { return side * *where; }
};
}
static volatile uint32_t words[4] = {1, 2, 3, 4};
static volatile uint32_t *volatile where = WHERE;
int main()
{
    shapes::Box<uint32_t> box{words[1]};
    auto again = [&](uint32_t k) __attribute__((noinline)) { return box.area(where) + k; };
    return (int)again(words[0]) == 0;
}
"""
AREA = "shapes::Box<unsigned int>::area(unsigned int const volatile*) const"


def program(tmp_path, where):
    path = tmp_path / "box.cpp"
    path.write_text(CLASSES.replace("WHERE", where))
    return path


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("it's [a] *.c", ""),
        ("a:b.c", "the compiler takes no file name with : and no path with \\: rename the file"),
        ("a\\b.c", "the compiler takes no file name with : and no path with \\: rename the file"),
        (f"{'l' * 240}.c", "the compiler takes file names of at most 230 characters: rename the"),
    ],
    ids=["glob", "colon", "backslash", "long"],
)
def test_names_of_files(tmp_path, name, said, capsys):
    (tmp_path / name).write_text("static int x; int main(void) { x = 1; return x - 1; }")
    run = ("run", str(tmp_path / name), "--preset", "tiny", "--engine", "iss")
    assert main(run) == (2 if said else 0)
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_ZN3foo3barEv", "foo::bar()"),
        ("_ZZ4mainENK3$_0clEjPv", "main::$_0::operator()(unsigned int, void*) const"),
        ("_ZL11virgo_fencej", "virgo_fence(unsigned int)"),
        ("_ZTV3Box", "vtable for Box"),
        ("_Z", "_Z"),
        ("f", "f"),  # not the type float
        ("x", "x"),
        ("main", "main"),
        ("", ""),
    ],
)
def test_symbols(symbol, name):
    assert demangled(symbol) == name


def test_functions_of_a_program(tmp_path):
    loaded = Program.load(compile_program([program(tmp_path, "words")], TINY))
    names = [function.name for function in loaded.functions]
    assert AREA in names and not [name for name in names if name.startswith("_Z")]
    area = next(function for function in loaded.functions if function.name == AREA)
    assert CallChains(loaded).at(area.start)[-1].function == AREA
    assert Names(loaded).place(area.start + 4)[0] == f"{AREA} + 0x4"
    assert any(name.startswith("main::$_0::operator()(unsigned int)") for name in names)


def test_a_fault_in_a_member_function(tmp_path):
    report, text = failure_of(program(tmp_path, "(volatile uint32_t *)4"))
    assert report["location"]["function"] == AREA
    assert f"box.cpp:6 in {AREA}" in " ".join(text.split())


def test_an_address_beside_a_variable_of_c_plus_plus(tmp_path):
    path = tmp_path / "beyond.cpp"
    path.write_text(
        "#include <spica.h>\nnamespace own { uint32_t table[4]; volatile uint32_t six = 6; }\n"
        "int main() { return *(volatile int *)((uint32_t)own::table + own::six); }\n"
    )
    _, text = failure_of(path)
    assert "6 bytes from the start of own::table" in text


ASSEMBLY = """
    .section .text.init
    .globl _start
_start:
    li a0, 3
_ZN5outer4loopEv:
    addi a0, a0, -1
    bnez a0, _ZN5outer4loopEv
access:
    lw a1, 6(zero)
    ecall
"""


def test_labels_name_code_without_functions(tmp_path):
    path = built(tmp_path, ASSEMBLY)
    loaded = Program.load(path)
    assert not loaded.functions and not [name for name in loaded.symbols if name[0] in "$."]
    entry = loaded.entry
    names = [loaded.function_of(entry + 4 * word) for word in range(5)]
    assert names == ["_start", "outer::loop()", "outer::loop()", "access", "access"]
    assert loaded.function_of(entry - 4) is None and loaded.function_of(entry + 0x2000) is None
    report, text = failure_of(path)
    assert report["location"]["function"] == "access"
    assert "in access, without source lines" in text
    assert "None" not in text and "$x" not in text


def test_code_without_any_name(tmp_path):
    """The code of the program is at its address in the report, without a name."""
    path = built(tmp_path, ASSEMBLY)
    image = bytearray(path.read_bytes())
    image[32:36], image[48:50] = bytes(4), bytes(2)  # no sections
    path.write_bytes(image)
    _, text = failure_of(path)
    assert "code without source lines" in text and "None" not in text


@pytest.mark.full
def test_loops_and_profiles(tmp_path, capsys):
    path = tmp_path / "endless.cpp"
    path.write_text(
        "#include <spica.h>\nnamespace own {\n"
        "__attribute__((noinline)) void wait(volatile uint32_t *word)\n"
        "{\n    while (*word == 0)\n        ;\n}\n}\nstatic volatile uint32_t word;\n"
        "int main() { own::wait(&word); return 0; }\n"
    )
    _, text = failure_of(path, max_instructions=3000)
    assert "in own::wait(unsigned int volatile*)" in text and "None" not in text
    path.write_text(
        path.read_text().replace("volatile uint32_t word;", "volatile uint32_t word = 1;")
    )
    command = ("run", str(path), "--preset", "tiny", "--profile")
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "own::wait(unsigned" in printed and "None" not in printed
