"""Random structured programs in all threads of a warp, each thread against its value alone."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from spica.hw.config import CoreConfig
from spica.hw.presets import PRESETS
from support.programs.source_run import read_words, run_source
from support.programs.structured import CELLS, UNIFORMS, Structured, structured

THREADS = 16
CONFIG = replace(PRESETS["core"], cores=1, core=CoreConfig(warps=1, threads=THREADS))
DATA = 0x9000_0000
INPUTS = UNIFORMS + 2 * THREADS + CELLS * THREADS
HEADER = f"""#include <spica.h>
typedef struct {{
    uint32_t uniforms[{UNIFORMS}], x[{2 * THREADS}], cells[{CELLS * THREADS}], y[];
}} Data;
#define DATA ((Data *){DATA:#x}u)
"""
#: A task keeps its words of memory on its stack; its value accounts for them.
TASK = """static void task_{index}(uint32_t i, void *argument)
{{
    uint32_t m[{cells}];
    for (uint32_t k = 0; k < {cells}; k++)
        m[k] = DATA->cells[{cells} * i + k];
    uint32_t value = {name}(i, DATA->x[2 * i], DATA->x[2 * i + 1], DATA->uniforms, m);
    for (uint32_t k = 0; k < {cells}; k++)
        value = (value << 1 | value >> 31) ^ m[k];
    DATA->y[{index} * {threads} + i] = value;
}}
"""
PROGRAMS, BATCH = 2000, 100


def source(programs: list[Structured]) -> str:
    """Return the C text of a program that runs some after each other."""
    tasks = [
        program.c + "\n" + TASK.format(index=index, name=program.name, cells=CELLS, threads=THREADS)
        for index, program in enumerate(programs)
    ]
    launches = [f"    vx_spawn_tasks({THREADS}, task_{k}, 0);" for k in range(len(programs))]
    return "\n".join([HEADER, *tasks, "int main(void)\n{", *launches, "    return 0;\n}\n"])


def value_alone(program: Structured, inputs: list[int]) -> list[int]:
    """Return the value of each thread as its own sequential execution gives it."""
    names = {}
    exec(program.python, names)
    uniforms, x = inputs[:UNIFORMS], inputs[UNIFORMS : UNIFORMS + 2 * THREADS]
    values = []
    for i in range(THREADS):
        first = UNIFORMS + 2 * THREADS + CELLS * i
        cells = inputs[first : first + CELLS]
        value = names[program.name](i, x[2 * i], x[2 * i + 1], uniforms, cells)
        for cell in cells:
            value = ((value << 1 | value >> 31) ^ cell) & 0xFFFF_FFFF
        values.append(value)
    return values


def require_values(seeds: range, optimize: int) -> None:
    """Run the programs of some seeds at an optimisation level, and compare all values."""
    programs = [structured(seed) for seed in seeds]
    rng = np.random.default_rng(seeds.start)
    inputs = [*rng.permutation(UNIFORMS).tolist()]
    inputs += rng.integers(0, 64, INPUTS - UNIFORMS).tolist()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "programs.c"
        path.write_text(source(programs))
        data = np.array(inputs + [0] * (THREADS * len(programs)), np.uint32)
        iss, _ = run_source(path, CONFIG, data={DATA: data}, optimize=optimize)
    words = read_words(iss, DATA + 4 * INPUTS, THREADS * len(programs)).reshape(-1, THREADS)
    for program, values in zip(programs, words, strict=True):
        assert values.tolist() == value_alone(program, inputs), (optimize, program.c)


def test_a_hundred_programs():
    for optimize in range(4):
        require_values(range(25 * optimize, 25 * (optimize + 1)), optimize)


@pytest.mark.parametrize("first", range(1000, 1000 + PROGRAMS, BATCH))
@pytest.mark.full
def test_two_thousand_programs(first):
    require_values(range(first, first + BATCH), first // BATCH % 4)


def test_programs_have_every_construct():
    text = "".join(structured(seed).c for seed in range(100))
    for word in ("SPICA_IF", "SPICA_ELSE", "SPICA_WHILE", "switch", "break;", "noinline", "m["):
        assert text.count(word) > 20, word
