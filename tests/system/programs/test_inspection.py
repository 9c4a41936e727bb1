"""Tests of the inspection of programs: complaints, and accepted programs."""

from pathlib import Path

import pytest

from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.inspection import inspect_program
from spica.kernels.program import Program

CORE = PRESETS["core"]
TASK = "static void task(uint32_t i, void *argument)"
SPAWN = "int main(void) { vx_spawn_tasks(9, task, (void *)0x90000000u); return 0; }\n"


def complaints(tmp_path: Path, text: str, optimize: int = 3) -> list[str]:
    path = tmp_path / "program.c"
    path.write_text("#include <spica.h>\n#include <spica_parallel.h>\n" + text)
    return inspect_program(Program.load(compile_program([path], CORE, optimize=optimize)))


SOUND = {
    "task": f"{TASK} {{ ((float *)argument)[i] = expf((float)i); }}\n{SPAWN}",
    "main may keep what it likes": (
        f"{TASK} {{ ((uint32_t *)argument)[i] = i; }}\n"
        "__attribute__((noinline)) static uint32_t sum(uint32_t n)\n"
        "{ volatile uint32_t x[20]; for (uint32_t k = 0; k < 20; k++) x[k] = n; return x[n]; }\n"
        "int main(void)\n"
        '{ vx_spawn_tasks(9, task, 0); printf("%u", sum(3)); return (int)sum(4); }\n'
    ),
    "a function that main calls by its address": (
        f"{TASK} {{ ((uint32_t *)argument)[i] = i; }}\n"
        "typedef uint32_t (*Function)(uint32_t);\n"
        "__attribute__((noinline)) static uint32_t sum(uint32_t n)\n"
        "{ volatile uint32_t x[20]; for (uint32_t k = 0; k < 20; k++) x[k] = n; return x[n]; }\n"
        "static volatile Function function = sum;\n"
        "int main(void) { vx_spawn_tasks(9, task, 0); return (int)function(4); }\n"
    ),
    "no launch": (
        "typedef uint32_t (*Function)(uint32_t);\n"
        "__attribute__((noinline)) static uint32_t sum(uint32_t n)\n"
        "{ volatile uint32_t x[20]; for (uint32_t k = 0; k < 20; k++) x[k] = n; return x[n]; }\n"
        "static volatile Function function = sum;\n"
        "int main(void) { return (int)function(4); }\n"
    ),
    "main whose address is taken": (
        "int main(void);\nint (*volatile again)(void) = main;\n"
        "static const spica_task tasks[] = {0, 0};\n"
        "int main(void)\n{ volatile uint32_t x[20]; x[3] = 1;\n"
        "  vx_spawn_tasks(x[5], tasks[x[3]], 0);\n  return again == main ? (int)x[3] : 0; }\n"
    ),
    "parallel block": (
        "int main(void)\n"
        "{ SPICA_PARALLEL { ((uint32_t *)0x90000000u)[spica_thread()] = 1; } SPICA_END_PARALLEL\n"
        "  return 0; }\n"
    ),
    "parallel block with a variable from before it": (
        "int main(void)\n{\n"
        "    uint32_t before = ((volatile uint32_t *)0x90000000u)[1];\n"
        "    SPICA_PARALLEL {\n"
        "        ((uint32_t *)0x90000000u)[spica_thread()] = before;\n"
        "    } SPICA_END_PARALLEL\n    return 0;\n}\n"
    ),
    "branches": (
        f"{TASK}\n{{ uint32_t *a = argument, x = 0; SPICA_IF (i & 1) {{ x = 2;\n"
        "SPICA_IF (i & 2) { x = a[i]; } SPICA_END_IF } SPICA_ELSE { x = 9; } SPICA_END_IF\n"
        f"a[i] = x; if (a[99]) {{ SPICA_IF (i & 4) {{ a[i]++; }} SPICA_END_IF }} }}\n{SPAWN}"
    ),
}


@pytest.mark.parametrize("optimize", [1, 2, 3])
@pytest.mark.parametrize("name", SOUND)
@pytest.mark.quick(5)
def test_nothing_to_complain_of(tmp_path, name, optimize):
    assert complaints(tmp_path, SOUND[name], optimize) == []


SPILLS = {
    "array": f"{TASK}\n{{ volatile uint32_t x[4]; x[0] = i;\n x[1] = 2; }}\n{SPAWN}",
    "call": (
        "__attribute__((noinline)) static uint32_t other(uint32_t x)\n"
        '{ __asm__ volatile(""); return x * 3; }\n'
        f"{TASK}\n{{ ((uint32_t *)argument)[i] = other(i) + other(i + 1); }}\n{SPAWN}"
    ),
    "what a task calls": (
        "__attribute__((noinline)) static void other(uint32_t x)\n"
        "{ volatile uint32_t keep[2]; keep[1] = x; keep[0] = keep[1]; }\n"
        f"{TASK} {{ other(i); }}\n{SPAWN}"
    ),
    "launch of all": (
        "static void task(void *argument)\n"
        "{ volatile uint32_t x[4]; x[3] = vx_thread_id();\nx[0] = x[3]; }\n"
        "int main(void) { spica_launch(task, 0); return 0; }\n"
    ),
    "beside a function of main": (
        f"{TASK}\n{{ volatile uint32_t x[4]; x[0] = i; }}\n"
        "static volatile spica_task other;\n"
        "static void one(uint32_t i, void *argument) { volatile uint32_t x[4]; x[i] = 1; }\n"
        "int main(void) { other = one; other(1, 0); vx_spawn_tasks(9, task, 0); return 0; }\n"
    ),
    "pointer in a table": (
        f"{TASK}\n{{ volatile uint32_t x[4]; x[0] = i; }}\n"
        "static void sound(uint32_t i, void *argument) { ((uint32_t *)argument)[i] = 1; }\n"
        "static const spica_task tasks[] = {task, sound};\n"
        "int main(int argc, char **argv) { vx_spawn_tasks(9, tasks[argc], argv); return 0; }\n"
    ),
}


FIRST_LINES = {"call": 6}


@pytest.mark.parametrize("optimize", [1, 3])
@pytest.mark.parametrize("name", SPILLS)
@pytest.mark.quick(3)
def test_spills(tmp_path, name, optimize):
    (line,) = complaints(tmp_path, SPILLS[name], optimize)
    function = "other" if name == "what a task calls" else "task"
    assert line.startswith(f"{function}, which every thread runs, stores to its stack in ")
    assert f"first at program.c:{FIRST_LINES.get(name, 4)} in {function} (0x8000" in line


def test_what_a_parallel_block_calls(tmp_path):
    text = (
        "__attribute__((noinline)) static void other(void)\n"
        "{ volatile uint32_t keep[2]; keep[1] = 1; }\n"
        "int main(void) { SPICA_PARALLEL { other(); } SPICA_END_PARALLEL return 0; }\n"
    )
    assert [line.split(",")[0] for line in complaints(tmp_path, text)] == ["other"]


@pytest.mark.parametrize(
    ("expression", "helper"),
    [("x[i] * 1.1", "__muldf3"), ("(float)(0x123456789ull / (uint32_t)x[i])", "__udivdi3")],
)
def test_arithmetic_that_branches_by_value(tmp_path, expression, helper):
    text = f"{TASK} {{ float *x = argument; x[i] = (float)({expression}); }}\n{SPAWN}"
    lines = complaints(tmp_path, text)
    assert any(f"task, which every thread runs, calls {helper}" in line for line in lines)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("vx_split(i & 1);", "task has 1 splits and 0 joins"),
        ("uint32_t t = vx_split(i & 1); if (i == 3) vx_join(t);", "splits and joins differ"),
        (
            "uint32_t t = 0; if (i == 3) t = vx_split(i & 1); vx_fence(); vx_join(t);",
            "splits and joins differ",
        ),
        ("vx_join(0); vx_split(i & 1);", "splits and joins differ"),
    ],
)
@pytest.mark.quick(2)
def test_splits_and_joins_that_do_not_pair(tmp_path, body, sentence):
    (line,) = complaints(tmp_path, f"{TASK} {{ {body} }}\n{SPAWN}")
    assert sentence in line or ("differ" in sentence and "inside a split and outside it" in line)
    assert line.startswith("task has ")


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        (0x1234_5601, "compressed instructions"),
        (0x0005_202F, "atomic instructions"),
        (0xFFFF_FFFF, "the word 0xffffffff, which is not an instruction"),
    ],
)
@pytest.mark.quick(1)
def test_words_that_are_no_instructions(tmp_path, word, sentence):
    text = f'int main(void)\n{{\n    __asm__ volatile(".4byte {word:#x}");\n    return 0;\n}}\n'
    (line,) = complaints(tmp_path, text)
    assert line.startswith(f"the program contains {sentence}")
    assert "program.c:5 in main (0x8000" in line


def test_atomic_instructions_are_those_of_cores_with_them(tmp_path):
    text = 'int main(void) { __asm__ volatile(".4byte 0x0005202F"); return 0; }\n'
    path = tmp_path / "program.c"
    path.write_text(text)
    program = Program.load(compile_program([path], CORE))
    (line,) = inspect_program(program)
    assert "atomic instructions, which the cores do not support" in line
    assert inspect_program(program, has_atomics=True) == []
