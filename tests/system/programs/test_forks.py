"""Tests of values across the start of threads: in the program they are right, or an error."""

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from support.programs.source_run import cluster, run_named

CORE = PRESETS["core"]
THREADS = [1, 4, 8, 16, 32]
HEADERS = "#include <spica.h>\n#include <spica_parallel.h>\n"


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("optimize", [0, 1, 2, 3])
@pytest.mark.quick(3)
def test_every_block_has_its_constants_addresses_and_variables(optimize, threads):
    run_named("forks.c", cluster(1, 3, threads), optimize=optimize, garbage=True)


@pytest.mark.parametrize("shape", [(1, 3, 1), (2, 2, 8), (1, 2, 32)])
@pytest.mark.parametrize("optimize", [0, 2])
def test_blocks_of_cpp(optimize, shape):
    run_named("forks.cpp", cluster(*shape), optimize=optimize, garbage=True)


#: The fork and its end as statements within one function, which any program could have.
FORK = (
    'static inline __attribute__((always_inline)) void wake(void)\n{ __asm__ volatile("'
    'csrr t0, " SPICA_TEXT(SPICA_CSR_NUM_WARPS) "\\n\\tla t1, 1f\\n\\t" '
    'SPICA_INSN("x0, t0, t1", SPICA_INSN_VX_WSPAWN) "\\n1:\\tli t0, -1\\n\\t" '
    'SPICA_INSN("x0, t0, x0", SPICA_INSN_VX_TMC) : : : SPICA_EVERY_REGISTER_); }\n'
)
OUT = "static volatile uint32_t out[64], first;\n"
TILES = "#include <spica_tiles.h>\n"

#: Programs in which threads use what they do not have, with the line of the use.
CROSSING = {
    "a constant in a register": (
        "int main(void) {\n"
        "  first = 12345;\n"
        "  vx_tmc(-1);\n"
        "  out[vx_thread_id()] = 12345;\n"
        "  vx_tmc(1); return 0; }",
        4,
    ),
    "a variable in a register": (
        "int main(void) {\n  uint32_t x = first;\n  vx_tmc(0xff);\n"
        "  out[vx_thread_id()] = x;\n  vx_tmc(1); return 0; }",
        4,
    ),
    "a variable on the stack": (
        "int main(void) {\n  uint32_t x = first;\n  wake();\n"
        "  out[vx_thread_id()] = x;\n  vx_tmc(1); return 0; }",
        4,
    ),
    "an argument of a call": (
        "__attribute__((noinline)) static void put(uint32_t x)\n"
        "{ out[vx_thread_id()] = x; }\n"
        'int main(void) {\n  register uint32_t x __asm__("a0") = first;\n'
        '  __asm__ volatile("" : "+r"(x));\n  vx_tmc(-1);\n  put(x);\n  vx_tmc(1); return 0; }',
        2,
    ),
    "threads that a function wakes": (
        "__attribute__((noinline)) static void start(uint32_t threads)\n{ vx_tmc(threads); }\n"
        "int main(void) {\n  uint32_t x = first;\n  start(first);\n"
        "  out[vx_thread_id()] = x;\n  vx_tmc(1); return 0; }",
        6,
    ),
    "a warp that starts inside a function": (
        "int main(void) {\n  uint32_t x = first;\n"
        '  __asm__ goto("li t0, 2\\n\\tla t1, %l[other]\\n\\t" '
        'SPICA_INSN("x0, t0, t1", SPICA_INSN_VX_WSPAWN) : : : "t0", "t1", "memory" : other);\n'
        "  first = x + 1; return 0;\n"
        "other:\n  out[1] = x;\n  vx_tmc(0);\n  __builtin_unreachable(); }",
        6,
    ),
    "what one thread of a warp has computed": (
        "static void task(void *argument) {\n  (void)argument;\n  vx_tmc(1);\n"
        "  uint32_t x = first;\n  vx_tmc(-1);\n  out[vx_thread_id()] = x; }\n"
        "int main(void) { spica_launch(task, 0); return 0; }",
        6,
    ),
    "all threads from main": (
        f"{TILES}int main(void) {{\n  uint32_t x = first;\n  spica_tile_load(0, 0, 0);\n"
        "  out[3] = x;\n  return 0; }",
        5,
    ),
}


@pytest.mark.parametrize("optimize", [0, 1, 3])
@pytest.mark.parametrize("name", CROSSING)
@pytest.mark.quick(4)
def test_a_value_that_only_the_starting_thread_has(tmp_path, name, optimize):
    text, line = CROSSING[name]
    source = tmp_path / "program.c"
    source.write_text(f"{HEADERS}{FORK}{OUT}#line 1\n{text}\n")
    with pytest.raises(UserError) as caught:
        compile_program([source], CORE, optimize=optimize)
    assert "from before other threads became active" in str(caught.value)
    if optimize:
        assert f"program.c:{line} in " in str(caught.value), str(caught.value)


#: Programs whose threads have all that they use.
SOUND = {
    "in the manner of Vortex": (
        "__attribute__((noinline)) static void work(void) { out[vx_thread_id()] = 12345; }\n"
        "static void stub(void) { vx_tmc(-1); work(); vx_tmc_zero(); }\n"
        "int main(void) { first = 12345; vx_wspawn(vx_num_warps(), stub);\n"
        "  vx_tmc(-1); work(); vx_tmc_one(); while (vx_warp_mask() != 1); return 0; }"
    ),
    "one thread for a while": (
        f"{TILES}int main(void) {{\n"
        "  SPICA_PARALLEL { uint32_t x = first;\n"
        "    spica_tile_load(0, 0, 0); out[vx_thread_id()] = x + first * 54321; }\n"
        "  SPICA_END_PARALLEL return 0; }"
    ),
    "the mask from before": (
        "static void task(void *argument) { (void)argument;\n"
        "  uint32_t x = first, mask = vx_thread_mask();\n"
        "  vx_tmc(1); out[9] = x; vx_tmc(mask); out[vx_thread_id()] = x; }\n"
        "int main(void) { spica_launch(task, 0); return 0; }"
    ),
}


@pytest.mark.parametrize("optimize", [1, 3])
@pytest.mark.parametrize("name", SOUND)
def test_threads_that_have_what_they_use(tmp_path, name, optimize):
    source = tmp_path / "program.c"
    source.write_text(f"{HEADERS}{OUT}{SOUND[name]}\n")
    compile_program([source], CORE, optimize=optimize)


REFUSED = {
    "a block inside another": (
        "int main(void) {\n  SPICA_PARALLEL {\n    SPICA_PARALLEL {\n      first = 1;\n"
        "    } SPICA_END_PARALLEL\n  } SPICA_END_PARALLEL\n  return 0; }",
        "program.c:3:5: error: static assertion failed due to requirement",
    ),
    "a block in a function that a block calls": (
        "__attribute__((noinline)) static void other(void) {\n"
        "  SPICA_PARALLEL { first = 1; } SPICA_END_PARALLEL }\n"
        "int main(void) { SPICA_PARALLEL { other(); first = 2; } SPICA_END_PARALLEL return 0; }",
        "other starts warps from several threads: a parallel block must not be inside another",
    ),
    "a result in a variable": (
        "int main(void) {\n  uint32_t sum = 0;\n"
        "  SPICA_PARALLEL {\n    sum = 1;\n  } SPICA_END_PARALLEL\n  return (int)sum; }",
        "program.c:4:9: error: a parallel block has copies of the variables from before it",
    ),
    "an array": (
        "int main(void) {\n  uint32_t sums[4] = {0};\n"
        "  SPICA_PARALLEL {\n    out[0] = sums[1];\n  } SPICA_END_PARALLEL\n  return 0; }",
        "program.c:4:14: error: a parallel block has no copies of arrays from before it",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_blocks_that_are_refused(tmp_path, name):
    text, sentence = REFUSED[name]
    source = tmp_path / "program.c"
    source.write_text(f"{HEADERS}{OUT}#line 1\n{text}\n")
    with pytest.raises(UserError) as caught:
        compile_program([source], CORE, optimize=3)
    assert sentence in str(caught.value), str(caught.value)
