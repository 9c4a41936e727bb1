"""Tests of the runtime: text, C++, tensor instructions, Vortex programs, parallel blocks."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.config import CoreConfig, MachineConfig
from spica.hw.presets import PRESETS
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.kernels.kernel import Buffer, Kernel, Problem
from spica.sim.harness.dram import DramConfig
from support.programs.source_run import cluster, read_words, run_named, run_source
from support.runs import passed, run_kernel, run_program

DATA = 0x9000_0000


# Text


PRINTED = r"""start
-42|   42|42   |-0042|+42| 42|-2147483648
4000000000|beef|BEEF|0xff|00001234|007|%|z|    y|x  |
text|   right|left    |cu|(null)|0x1000
-1234567890123456789|12345678901234567890|123456789abcdef|-1|1|7|9
3.141593|2|-0.001| 1000.00|0.2     |-001.500|+9.9|3.
nan|-inf|INF|100000000000000000000.000000|340282346638528859811704183484516925440.0|0.0000000001
     1|2   |2.000|0.000000000|0|2
task 0 of three: -1.50
task 1 of three: -0.75
task 2 of three: 0.00
abc
1234
"""


@pytest.mark.parametrize("optimize", [0, 2, 3])
def test_text_on_the_console(optimize):
    iss, _ = run_named("printing.c", PRESETS["tiny"], optimize=optimize)
    assert iss.console.decode() == PRINTED


def lines_of(name: str, values: np.ndarray, digits: np.ndarray) -> list[str]:
    """Return the lines that a program prints of numbers, each with a number of digits."""
    place = DATA + values.nbytes
    data = {DATA: values, place: digits.astype(np.int32)}
    iss, _ = run_named(name, PRESETS["tiny"], [len(values), DATA, place], data=data)
    return iss.console.decode().splitlines()


def test_decimals_are_those_of_c():
    """Python prints the exact decimal digits, rounded to nearest, ties to even; so do programs."""
    rng = np.random.default_rng(8)
    exponents = np.concatenate([rng.integers(-1074, 1024, 60), rng.integers(-70, 70, 300)])
    values = np.ldexp(rng.uniform(-2, 2, len(exponents)), exponents)
    ties = np.array([0.5, 1.5, 2.5, 0.125, 0.375, 99.5, 999.995, 2.0**63, 9.9999999, 1e308, 0.0])
    values = np.concatenate([values, ties, -ties])
    # Programs keep 64 bits of a fraction and a sticky bit: at most 18 digits are exact.
    precisions = rng.integers(0, 19, len(values))
    expected = [f"{value:.{digits}f}" for value, digits in zip(values, precisions, strict=True)]
    assert lines_of("decimals.c", values, precisions) == expected


def test_numbers_with_a_power_of_ten_are_those_of_c():
    """Python formats them by C's rules, with exact digits."""
    rng = np.random.default_rng(9)
    exponents = np.concatenate([rng.integers(-1074, 1024, 60), rng.integers(-30, 40, 100)])
    values = np.ldexp(rng.uniform(-2, 2, len(exponents)), exponents)
    tens = 10.0 ** np.arange(-6, 8)
    odd = [0.0, 5e-324, 2.0**-1074 * 3, np.finfo(np.float64).max, 9.5, 2.5, 9.9999999, 123456.5]
    values = np.concatenate([values, tens, -tens, odd, [np.inf, -np.inf, np.nan]])
    digits = rng.integers(0, 21, len(values))
    printed = lines_of("scientific.c", values, digits)
    assert len(printed) == len(values)
    for k, (x, n, line) in enumerate(zip(values, digits, printed, strict=True)):
        expected = f"{x:.{n}e}|{x:.{n}g}|{x:#.{n}G}|{x:+25.{n}E}|{x:<20g}|"
        expected += f"{x:015g}" if np.isfinite(x) else f"{x:15g}"
        octal = oct(k).replace("0o", "0") if k else "0"
        assert line == f"{expected}|{k:o} {octal} {hex(k) if k else '0'}"


WARPS = """
#include <vx_print.h>
#include <vx_spawn.h>
static void task(int i, void *argument) { vx_printf("task %d of all warps\\n", i); }
int main(void) { vx_spawn_tasks(48, task, 0); return 0; }
"""


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("shape", [(1, 4, 8), (3, 2, 4)])
def test_messages_of_all_warps_are_whole(tmp_path, shape, schedule):
    source = tmp_path / "warps.c"
    source.write_text(WARPS)
    iss, _ = run_source(source, cluster(*shape), schedule=schedule)
    printed = iss.console.decode().splitlines()
    assert sorted(printed) == sorted(f"task {k} of all warps" for k in range(48))


@pytest.mark.slow
@pytest.mark.parametrize("lockstep", [True, False])
def test_a_cluster_prints_more_than_its_console_holds(tmp_path, lockstep):
    source = tmp_path / "warps.c"
    source.write_text(WARPS)
    memory = DramConfig(latency=20)
    result = run_program(source, engine="verilator", memory=memory, lockstep=lockstep)
    assert (result["check"]["verdict"], result["check"]["device_errors"]) == ("pass", "")
    assert len(set(result["console"].splitlines())) == 48


def test_a_warp_that_is_ended_while_it_prints_stops_no_others(tmp_path):
    source = tmp_path / "ended.c"
    source.write_text(
        "#include <spica.h>\nstatic void all(void *argument)\n{\n"
        "    if (vx_core_id() == 0 && vx_warp_id() == 1) exit(3);\n"
        '    for (int k = 0; k < 8; k++) printf("%d", k);\n}\n'
        "int main(void) { spica_launch(all, 0); return 0; }\n"
    )
    iss, _ = run_source(source, cluster(2, 3, 4), exit_code=3)
    assert iss.console.decode().count("7") >= 12


# C++


@pytest.mark.parametrize("optimize", [0, 2, 3])
def test_classes_templates_and_constructors(optimize):
    x = np.linspace(-3, 3, 77, dtype=np.float32)
    result, constructed = DATA + 0x1000, DATA + 0x2000
    iss, _ = run_named(
        "classes.cpp",
        cluster(2, 2, 8),
        [len(x), DATA, result, constructed],
        data={DATA: x},
        optimize=optimize,
    )
    assert read_words(iss, constructed, 2).tolist() == [2 * 1234 + 42] * 2
    exact = 1 - 2 * x.astype(np.float64) + 0.5 * x.astype(np.float64) ** 2 + 4.0 * x**3
    stored = read_words(iss, result, len(x)).view(np.float32)
    # Three multiply-adds, each rounded; the largest term is 4 * 27.
    assert np.max(np.abs(stored - exact)) <= 3 * 2.0**-24 * 128


# Vortex


@pytest.mark.parametrize("optimize", [2, 3])
@pytest.mark.quick(1)
def test_program_in_the_manner_of_vortex(optimize):
    rng = np.random.default_rng(4)
    count = 77
    data = rng.integers(0, 1 << 30, (2, count), np.uint32)
    arguments = [count, DATA, DATA + 4 * count, DATA + 0x1000]
    iss, _ = run_named(
        "vortex.cpp", cluster(2, 2, 4), arguments, data={DATA: data}, optimize=optimize
    )
    assert np.array_equal(read_words(iss, DATA + 0x1000, count), data[0] + data[1])
    assert iss.console[:9] == b"-7ff1.50\n"
    # Two warps at a time: each prints the numbers of its threads from 2 on.
    assert sorted(iss.console[9:].decode().replace(" ", "")) == ["2", "2", "3", "3"]


def test_numbers_of_vortex_are_signed(tmp_path):
    """They compare with negative numbers there."""
    source = tmp_path / "signed.c"
    source.write_text(
        "#include <vx_intrinsics.h>\nint main(void)\n{\n    __UNIFORM__ int x = -1;\n"
        "    return !(x < vx_num_threads() && x < vx_num_warps() && x < vx_num_cores() &&\n"
        "             x < vx_thread_id() && x < vx_warp_id() && x < vx_core_id());\n}\n"
    )
    run_source(source, PRESETS["tiny"])


# Tensor instructions


@pytest.mark.parametrize("optimize", [0, 2, 3])
@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.quick(2)
def test_tensor_instruction_on_registers(optimize, steps):
    """Small integers avoid rounding; fragments are as in docs/machine.md."""
    rng = np.random.default_rng(6)
    a = rng.integers(-3, 4, (8, 16 * steps))
    b = rng.integers(-3, 4, (16 * steps, 8))
    parts = [a.reshape(8, steps, 16), b.T.reshape(8, steps, 16)]
    data = b"".join(part.swapaxes(0, 1).astype(np.float16).tobytes() for part in parts)
    config = replace(
        PRESETS["core"], core=CoreConfig(warps=2, threads=8, tensor=RegisterFedConfig())
    )
    half, result = len(data) // 2, DATA + 0x8000
    arguments = [steps, DATA, DATA + half, result]
    iss, _ = run_named("tensor.c", config, arguments, data={DATA: data}, optimize=optimize)
    thread, place = np.indices((8, 8))
    row = (thread & 4 | thread & 1) + 2 * (place >> 1 & 1)
    column = (thread & 2) + (place & 1) + 4 * (place >> 2)
    expected = (a @ b)[row, column]
    for warp in range(2):
        stored = read_words(iss, result + 256 * warp, 64).view(np.float32).reshape(8, 8)
        assert np.array_equal(stored, expected + warp)


@pytest.mark.parametrize(
    ("optimize", "layout"), [(0, "dense"), (2, "dense"), (3, "dense"), (2, "swizzle128")]
)
@pytest.mark.quick(2)
def test_tensor_instruction_on_shared_memory(optimize, layout):
    """Chains of products, with C from memory in odd warps; FP32 and FP16 results."""
    rng, steps, warps = np.random.default_rng(7), 3, 2
    a = rng.integers(-3, 4, (warps, steps, 16, 32))
    b = rng.integers(-3, 4, (warps, steps, 32, 16))
    c = rng.integers(-9, 10, (warps, 16, 16)).astype(np.float32)
    tiles = b"".join(matrix.astype(np.float16).tobytes() for matrix in (a, b))
    core = CoreConfig(warps=warps, threads=8, tensor=SharedFedConfig(layout=layout))
    config = replace(PRESETS["core"], core=core)
    size, results = len(tiles) // 2, DATA + 0x8000
    arguments = [steps, DATA, DATA + size, results, results + c.nbytes]
    data = {DATA: tiles, results: c}
    iss, _ = run_named("hgmma.c", config, arguments, data=data, optimize=optimize)
    expected = (a @ b).sum(1) + c * np.array([0, 1])[:, None, None]
    stored = read_words(iss, results, c.size).view(np.float32).reshape(c.shape)
    assert np.array_equal(stored, expected)
    halves = read_words(iss, results + c.nbytes, c.size // 2).view(np.float16).reshape(c.shape)
    assert np.array_equal(halves, expected)


SOURCE = """
#include <spica.h>
#include <spica_parallel.h>
typedef struct { uint32_t factor; uint32_t *visits, *results; } Arguments;
#define ARGUMENTS ((const Arguments *)spica_arguments())
int main(void) {
    const uint32_t factor = ARGUMENTS->factor;
    const float ratio = 1.5f * (float)factor;
    SPICA_PARALLEL {
        ARGUMENTS->visits[spica_thread()] += 1;
    } SPICA_END_PARALLEL
    for (uint32_t round = 1; round < factor; round++) {
        SPICA_PARALLEL {
            ARGUMENTS->visits[spica_thread()] += 1;
        } SPICA_END_PARALLEL
    }
    ARGUMENTS->results[vx_core_id()] = 10 * factor + (uint32_t)ratio;
    return 0;
}
"""


@pytest.mark.parametrize("schedule", ["round_robin", "random"])
@pytest.mark.parametrize("optimize", [1, 2, 3])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 8, 8), (3, 5, 6), (2, 1, 32), (2, 32, 1)])
@pytest.mark.quick(3)
def test_every_thread_runs_each_block_once(shape, optimize, schedule, tmp_path):
    cores, warps, threads = shape
    source = tmp_path / "program.c"
    source.write_text(SOURCE)
    visits = np.zeros(cores * warps * threads, np.uint32)
    results = np.zeros(cores, np.uint32)

    def pose(rng):
        buffers = {
            "visits": Buffer(data=visits, expected=visits + 3),
            "results": Buffer(data=results, expected=results + 34),
        }
        return Problem(buffers=buffers, arguments=(3, "visits", "results"), operations=0)

    config = MachineConfig(cores=cores, core=CoreConfig(warps=warps, threads=threads), units=())
    kernel = Kernel(name="blocks", dimensions=(), pose=pose, files=(source,))
    passed(run_kernel(kernel, (), config, optimize=optimize, schedule=schedule))
