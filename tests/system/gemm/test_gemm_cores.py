"""Bit-exact tests of the matrix product as a program of the cores, on the instruction-set model."""

import dataclasses
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from spica.hw.config import SharedMemoryConfig
from spica.hw.isa.memory_map import DMA, DMA_BASE, MATRIX, MATRIX_BASE
from spica.hw.presets import PRESETS
from spica.kernels.bodies import bodies_of
from spica.kernels.compile import compile_program
from spica.kernels.gemm.cluster_array.cores import pose
from spica.kernels.gemm.host.plan import plan
from spica.kernels.gemm.problem import GemmProblem
from spica.kernels.gemm.product import widened
from spica.kernels.program import Program
from spica.sim.run.exact_kernels import EXACT_KERNELS, exact_cores_kernel
from support.command_line import run_spica
from support.gemm_runs import assert_right, count_accesses, run_product
from support.runs import is_found, planted

SIZES = [
    (1, 1, 1),
    (17, 33, 65),
    (64, 64, 64),
    (128, 64, 128),
    (100, 130, 70),
    (33, 1, 129),
]
#: Unused elements at the ends of rows.
GAPS = (3, 5, 7)
#: Instructions of two threads, for each compute with its loads and stores.
MOST_INSTRUCTIONS = 215
#: A machine without a warp for loads.
ONE_WARP = dataclasses.replace(
    PRESETS["tiny"], core=dataclasses.replace(PRESETS["tiny"].core, warps=1)
)


def changed(preset, **matrix):
    """Return a preset with a different matrix unit."""
    config = PRESETS[preset]
    return dataclasses.replace(config, units=(dataclasses.replace(config.units[0], **matrix),))


#: Tall and wide units, in which the other operand is kept; panels that stay, rings of slots.
MACHINES = {
    "virgo": (PRESETS["virgo"], [(300, 64, 300), (64, 300, 1100)]),
    "tiny": (PRESETS["tiny"], [(260, 20, 70), (40, 100, 300), (100, 40, 300), (96, 48, 96)]),
    "virgo_fp32": (PRESETS["virgo_fp32"], [(70, 20, 150)]),
    "output-stationary": (changed("tiny", dataflow="output_stationary"), [(40, 20, 100)]),
    "int8": (changed("tiny", operand="int8", read_scale=False), [(40, 20, 100)]),
    "small shared memory": (
        dataclasses.replace(PRESETS["tiny"], shared=SharedMemoryConfig(size=8192, banks=2)),
        [(70, 50, 100)],
    ),
    "blocks of less than a word": (
        changed("tiny", operand="int8", rows=2, columns=2, read_scale=False),
        [(40, 20, 30)],
    ),
    "one warp": (ONE_WARP, [(8, 8, 8), (260, 20, 70), (100, 90, 100)]),
}


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("preset", ["virgo", "tiny"])
@pytest.mark.quick(2)
def test_products_are_right_to_the_bit(preset, size, c_format):
    result = run_product(PRESETS[preset], size, c_format=c_format, gaps=GAPS)
    assert_right(result)


@pytest.mark.parametrize("name", MACHINES)
@pytest.mark.quick(2)
def test_every_way_through_the_tiles(name):
    config, sizes = MACHINES[name]
    for seed, size in enumerate(sizes, 1):
        assert_right(run_product(config, size, gaps=GAPS))
        assert_right(run_product(config, size, schedule="random", seed=seed))


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.quick(1)
def test_no_order_that_the_machine_leaves_open_does_harm(seed):
    config = PRESETS["tiny"]
    assert_right(run_product(config, (100, 50, 140), schedule="random", seed=seed, data="extreme"))


def test_values_that_break_arithmetic_are_equal_to_the_bit():
    assert_right(run_product(PRESETS["tiny"], (70, 60, 50), c_format="fp32", data="extreme"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from->b += from->b_step;", "from->b += from->b_step + 2;"),
        ("    from->described = 0;\n", ""),
        ("        target->depth = gemm_aside(0);\n", ""),
        (".c_pitch = gemm_aside(gemm->c_pitch)", ".c_pitch = gemm_aside(gemm->c_pitch + 1)"),
        ("bytes = VIRGO_A_PITCH(depth);", "bytes = VIRGO_A_PITCH(GEMM_K);"),
        ("virgo_prepare(target->accumulate);", "virgo_prepare(0);"),
        ("    gemm_await_loads(known, loads);\n", ""),
        ("least(from->distance, swept)", "least(from->distance + 1, 99)"),
        (
            "loads_resident ? gemm_of(reuse->resident)",
            "loads_resident ? 1 + gemm_of(reuse->resident)",
        ),
        ("GEMM_A_ROOM, GEMM_B_SLOTS, GEMM_B", "GEMM_A_ROOM - GEMM_A_BYTES, GEMM_B_SLOTS, GEMM_B"),
    ],
)
@pytest.mark.quick(1)
def test_mistakes_are_found(tmp_path, old, new):
    """Wrong pitches, a tile without padding at its edge, waits that are missing or too short."""
    config = PRESETS["tiny"]
    kernel = planted(exact_cores_kernel(config, gaps=GAPS), tmp_path, (old, new))
    # In the second size, tiles of the kept operand are freed last. In the third, all steps have one
    # depth, and only the sizes of edges differ.
    assert any(
        is_found(kernel, size, config, schedule="random", seed=seed)
        for size, seed in product(((100, 50, 141), (100, 90, 100), (100, 50, 64)), range(1, 7))
    )


@pytest.mark.full
def test_a_thread_alone_that_waits_too_little_is_found(tmp_path):
    old, new = "at->step + 1 - from->distance", "at->step - 1 - from->distance"
    kernel = planted(exact_cores_kernel(ONE_WARP, gaps=GAPS), tmp_path, (old, new))
    assert any(
        is_found(kernel, (260, 20, 70), ONE_WARP, schedule="random", seed=seed)
        for seed in range(1, 7)
    )


@pytest.mark.parametrize("name", ["gemm", "gemm_add", "gemm_bias_gelu"])
@pytest.mark.quick(1)
def test_no_loop_uses_the_stack(name):
    """Memory is slow, and the matrix unit would wait for the commanding thread."""
    config = PRESETS["virgo"]
    program = Program.load(compile_program(EXACT_KERNELS[name](config).sources, config))
    bodies = {body.function.name: body for body in bodies_of(program).values()}
    for body in (bodies["main"], bodies["gemm_supply"]):
        assert not [step for step in stack_accesses(body) if step.pc in reached(body, step)]


def stack_accesses(body):
    """Return the instructions of a function that load from its stack or store there."""
    return [s for s in body.steps.values() if s.loads_from_stack or s.stores_to_stack]


def reached(body, step):
    """Return the addresses of a function that can execute after an instruction."""
    pcs, waiting = set(), body.successors(step)
    while waiting:
        pc = waiting.pop()
        if pc not in pcs:
            pcs.add(pc)
            waiting += body.successors(body.steps[pc])
    return pcs


@pytest.mark.full
def test_the_result_is_there_on_return(tmp_path):
    """The program checks this itself: at its end the model would complete queued commands."""
    config = PRESETS["tiny"]
    registers = ("MATRIX, BUSY", "DMA, ERROR")
    words = " | ".join(f"spica_load_register(SPICA_OF_UNIT({register}))" for register in registers)
    replacement = ("gemm_error()", f"(int)({words})")
    for fence, expected in (("    gemm_fence();\n", {0}), ("", {0, 1})):
        kernel = planted(exact_cores_kernel(config), tmp_path, ("    gemm_fence();\n", fence))
        (program,) = kernel.sources
        program.write_text(program.read_text().replace(*replacement))
        runs = [
            run_product(config, (8, 8, 8), kernel=kernel, seed=s, schedule="random")
            for s in range(8)
        ]
        assert {result["check"]["exit_code"] for result in runs} == expected


def test_a_wrong_bit_within_the_bound_is_wrong():
    config = PRESETS["tiny"]
    kernel = exact_cores_kernel(config)

    def posed(rng, **sizes):
        problem = kernel.pose(rng, **sizes)
        c = problem.buffers["c"]
        bits = c.bits.copy()
        bits.view(np.uint16)[1, 2] ^= 1
        c = dataclasses.replace(c, golden=lambda: bits)
        return dataclasses.replace(problem, buffers={**problem.buffers, "c": c})

    result = run_product(config, (8, 8, 8), kernel=dataclasses.replace(kernel, pose=posed))
    assert result["check"]["buffers"]["c"]["wrong"] == 1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("preset", ["virgo", "tiny"])
@pytest.mark.quick(1)
def test_results_through_shared_memory(preset, seed):
    """Spilled, waited for, stored by the DMA: a tile with blocks in both directions."""
    config = PRESETS[preset]
    rows, columns = config.units[0].rows, config.units[0].columns
    source = Path(__file__).parents[2] / "support" / "c_programs" / "virgo_spill.c"
    kernel = dataclasses.replace(exact_cores_kernel(config), files=(source,))
    size = (2 * rows, 2 * columns, 2 * rows)
    assert_right(run_product(config, size, kernel=kernel, schedule="random", seed=seed))


def test_commands_and_instructions_of_a_tile(monkeypatch):
    """256 x 256 x 256: 32 computes, 8 loads of A, each once, 24 of B, 8 stores of C."""
    writes, reads = count_accesses(monkeypatch)
    result = run_product(PRESETS["virgo"], (256, 256, 256))
    assert_right(result)
    assert writes[DMA_BASE + DMA["start"].offset] == 8 + 24
    # Per compute: operands and start. Per tile of C: address and store.
    instructions = writes[MATRIX_BASE + MATRIX["instruction"].offset]
    assert instructions == 2 * 32 + 2 * 8 + 2
    # A load takes seven words, a command three.
    assert sum(writes.values()) <= 7 * 32 + 3 * instructions + 4
    own = result["cores"][0]["instructions"] - result["cores"][1]["instructions"]
    assert own < MOST_INSTRUCTIONS * 32
    assert sum(reads.values()) < 4 * 32


@pytest.mark.parametrize("size", [(300, 64, 300), (64, 300, 1100), (256, 512, 128)], ids=str)
@pytest.mark.quick(1)
def test_loads_are_those_of_the_host(monkeypatch, size):
    writes, _ = count_accesses(monkeypatch)
    m, n, k = size
    assert_right(run_product(PRESETS["virgo"], size))
    steps = plan(PRESETS["virgo"], GemmProblem.placed(m=m, n=n, k=k))
    assert writes[DMA_BASE + DMA["start"].offset] == len(steps.loads)


def test_operands_have_gaps_that_are_not_numbers():
    problem, _ = pose(PRESETS["tiny"], np.random.default_rng(1), m=3, n=4, k=5, gaps=GAPS)
    assert problem.buffers["a"].data.shape == (3, 8)
    assert np.isnan(problem.buffers["b"].data[:, 4:].astype(float)).all()
    assert widened(np.zeros((2, 2), np.float16), 2).shape == (2, 2)


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.quick(1)
def test_command_line_runs_the_program_on_the_model(capsys, c_format):
    options = f"--preset tiny --engine iss --size 20 --c {c_format}"
    assert run_spica(f"run gemm {options}") == 0
    out = capsys.readouterr().out
    assert out.startswith("PASS: gemm m=20 n=20 k=20 on tiny\n")
    assert "Check: c 400 values, bit-exact, largest error" in out


def test_command_line_refuses_what_the_model_has_not(capsys):
    base = "run gemm --preset tiny --engine iss --size 20"
    assert run_spica(f"{base} --dram-latency 5") != 0
    assert (
        "--dram-latency does not apply to gemm on engine iss; leave it out"
        in capsys.readouterr().err
    )
    assert run_spica(f"{base} --c int32") != 0
    assert run_spica(f"{base} --data odd") != 0
