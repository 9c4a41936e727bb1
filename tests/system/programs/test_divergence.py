"""Tests of divergent branches and loops: compiled instructions and computed values."""

import re

import numpy as np
import pytest

from spica.hw.isa.instructions import INSTRUCTIONS
from spica.hw.presets import PRESETS
from spica.kernels.bodies import steps
from spica.kernels.compile import INCLUDE_DIRECTORY, compile_program
from spica.kernels.header import program_header
from spica.kernels.inspection import inspect_program
from spica.kernels.program import Program
from spica.kernels.toolchain import FLAGS, tool
from support.programs.source_run import PROGRAMS, cluster, read_words, run_source

SOURCE = PROGRAMS / "divergence.c"
CORE = PRESETS["core"]
#: Splits and preds of each function, as in the source.
WRITTEN = {
    "branch": (2, 0),
    "nest": (4, 0),
    "loop": (1, 1),
    "loops": (1, 2),
    "choose": (3, 0),
    "selections": (0, 0),
}
COUNT = 203
SHAPES = [(1, 1, 1), (1, 8, 8), (1, 3, 5), (2, 2, 32), (4, 1, 7)]


def program_of(optimize: int) -> Program:
    return Program.load(compile_program([SOURCE], CORE, optimize=optimize))


@pytest.mark.parametrize("optimize", [1, 2, 3])
@pytest.mark.quick(1)
def test_instructions_of_divergence_are_convergent(tmp_path, optimize):
    """LLVM must not duplicate or merge a convergent call of inline assembly."""
    (tmp_path / "spica.h").write_text(program_header(CORE))
    target = tmp_path / "divergence.ll"
    directories = [f"-I{tmp_path}", f"-I{INCLUDE_DIRECTORY}"]
    output = ["-S", "-emit-llvm", "-o", str(target), str(SOURCE)]
    tool("cc", [*FLAGS, f"-O{optimize}", *directories, *output], "no IR")
    text = target.read_text()
    groups = dict(re.findall(r"^attributes #(\d+) = \{ (.*?) \}", text, re.MULTILINE))
    calls = re.findall(r'asm sideeffect "9:\\09(?:\.insn r 0x0b|csrr).*?#(\d+)', text)
    assert len(calls) >= sum(2 * splits + preds for splits, preds in WRITTEN.values())
    assert all("convergent" in groups[group].split() for group in calls)


@pytest.mark.parametrize("optimize", [0, 1, 2, 3])
@pytest.mark.quick(1)
def test_each_split_and_pred_is_in_the_program_once(optimize):
    program = program_of(optimize)
    for function in program.functions:
        if function.name not in WRITTEN:
            continue
        names = [step.name for step in steps(program, function.start, function.end)]
        splits, preds = WRITTEN[function.name]
        assert names.count("vx_split") == names.count("vx_join") == splits, function.name
        assert names.count("vx_pred") == preds, function.name
    assert {function.name for function in program.functions} >= WRITTEN.keys()
    assert not [line for line in inspect_program(program) if "split" in line]


def expected(kind: str, x: np.ndarray) -> list[int]:
    return [REFERENCES[kind](int(value), index) & 0xFFFF_FFFF for index, value in enumerate(x)]


def branch(x, _):
    y = x * 3 + 1 if x & 1 else x // 2
    y &= 0xFFFF_FFFF
    return y - 100 if y > 100 else y


def nest(x, _):
    if not x & 1:
        return (x ^ 0x55) + (1000 if x & 8 else 0)
    if x & 2:
        return x + 10
    return (x + 20 if x & 4 else 7) + 3


def loop(x, _):
    x, steps = x % 1000 + 1, 0
    while x != 1:
        x = 3 * x + 1 if x & 1 else x >> 1
        steps += 1
    return steps


def loops(x, i):
    outer, total = x % 7, 0
    if outer == 3:
        return 0
    for k in range(outer):
        j = k
        while j * j < outer + i % 5:
            total += j + 1
            j += 1
    return total + (outer << 16)


def choose(x, _):
    y, z = x ^ 0x1234, x * 7
    if x & 1:
        y = z
    twice = 2 * (x & 0xFF) + 1 if x & 2 else 2 * (x & 0xFFF) + 2
    if x & 1:
        z = y + 5
    return y + 3 * z + twice


def selections(x, _):
    y = x + 1 if x & 4 else x - 1
    y ^= min(x, 50) + max(x % 9, 5)
    signed = x - (1 << 32) if x >> 31 else x
    return y + 3 * min(signed - 30, 4) + max(signed - 40, -6)


REFERENCES = {
    "branch": branch,
    "nest": nest,
    "loop": loop,
    "loops": loops,
    "choose": choose,
    "selections": selections,
}
KINDS = [*REFERENCES, "strings"]
DATA, RESULT = 0x9000_0000, 0x9001_0000


def run(kind: str, x: np.ndarray, shape, optimize: int, schedule: str, words: int) -> np.ndarray:
    arguments = [KINDS.index(kind), len(x), DATA, RESULT]
    options = {"arguments": arguments, "optimize": optimize, "schedule": schedule}
    iss, _ = run_source(SOURCE, cluster(*shape), data={DATA: x}, **options)
    return read_words(iss, RESULT, words)


def operands() -> np.ndarray:
    rng = np.random.default_rng(5)
    return np.concatenate([np.arange(64), rng.integers(0, 2000, COUNT - 64)]).astype(np.uint32)


@pytest.mark.parametrize("optimize", [0, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.quick(2)
def test_values(shape, optimize):
    x = operands()
    for kind in REFERENCES:
        for schedule in ("round_robin", "random"):
            results = run(kind, x, shape, optimize, schedule, COUNT)
            assert results.tolist() == expected(kind, x), (kind, schedule)


def string_reference(source: bytes, i: int) -> bytes:
    target = bytearray([i & 0x7F] * 32)
    target[i & 3 : (i & 3) + i % 13] = source[i : i + i % 13]
    begin = 15 + i % 3
    target[begin : begin + 8] = bytes(target[13:21])
    target[30] = source[:9] != source[i % 3 : i % 3 + 9]
    target[31] = 8 - i % 8
    return bytes(target)


@pytest.mark.parametrize("optimize", [0, 2, 3])
@pytest.mark.quick(1)
def test_memory_and_strings_with_arguments_that_differ(optimize):
    x = np.arange(COUNT, dtype=np.uint32) * 0x01020305
    for shape in SHAPES[1:4]:
        results = run("strings", x, shape, optimize, "round_robin", 8 * COUNT).tobytes()
        for i in range(COUNT):
            assert results[32 * i : 32 * i + 32] == string_reference(x.tobytes(), i), i


def test_every_custom_instruction_has_its_encoding_in_the_header():
    text = program_header(PRESETS["ampere"])
    for name in ("vx_tmc", "vx_wspawn", "vx_split", "vx_join", "vx_bar", "vx_pred", "hmma"):
        word = INSTRUCTIONS[name].match
        macro = f"#define SPICA_INSN_{name.upper()} "
        (line,) = [line for line in text.splitlines() if line.startswith(macro)]
        opcode, funct3, funct7 = re.findall(r"0x[0-9a-f]+|\d+", line[len(macro) :])[:3]
        assert int(opcode, 0) | int(funct3, 0) << 12 | int(funct7, 0) << 25 == word
