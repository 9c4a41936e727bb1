"""Tests of command lists of matrix products, run on a model without a clock."""

import dataclasses
import random
from itertools import pairwise

import numpy as np
import pytest

from spica.hw.config import (
    AxiConfig,
    DmaConfig,
    MachineConfig,
    SharedMemoryConfig,
    SystolicConfig,
)
from spica.hw.config.arithmetic import ARITHMETIC
from spica.hw.presets import PRESETS
from spica.kernels.commands import CommandList, Host, Operation
from spica.kernels.gemm.data import KINDS, operands
from spica.kernels.gemm.host.plan import loaded_elements, plan, tilings, unroll
from spica.kernels.gemm.host.schedule import schedule
from spica.kernels.gemm.problem import GUARD_BYTES, GemmProblem
from spica.kernels.gemm.tile import default_tile
from spica.sim.golden.matrix.gemm import gemm
from spica.sim.iss.cluster_model import ClusterModel
from spica.sim.iss.devices import DeviceFault
from support.cluster.gemm_bench import checked, random_problem

TINY = PRESETS["tiny_matrix"]
ACCESS_CYCLES = 20


def run(config, problem, kind="random", seed=0, change=lambda commands: commands, order="random"):
    """Return the check of `problem` on the model, and the model."""
    a, b = operands(problem, kind, seed)
    model = ClusterModel(config, problem.image(a, b), seed, order)
    model.run(change(schedule(config, problem).commands.array()))
    return checked(config, problem, a, b, kind, model.region(*problem.c_region)), model


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.quick(30)
def test_random_products_on_tiny(seed):
    rng = random.Random(seed)
    problem = random_problem(TINY, rng, 110)
    outcome, model = run(TINY, problem, rng.choice(KINDS), seed)
    assert outcome.passed, (problem, outcome)
    assert model.most_in_flight <= 2


def random_config(rng):
    rows, columns = rng.choice([2, 4, 8, 16]), rng.choice([2, 4, 8, 16])
    tile = tuple(unit * rng.randint(1, 4) for unit in (rows, columns, rows))
    matrix = SystolicConfig(
        rows=rows,
        columns=columns,
        operand=rng.choice(list(ARITHMETIC)),
        dataflow=rng.choice(["weight_stationary", "output_stationary"]),
        accumulator_bytes=32768,
        tile=tile,
    )
    line = max(matrix.a_bytes, matrix.b_bytes, matrix.drain_bytes, 16)
    banks = rng.choice([1, 2, 4])
    least = 1 << (matrix.a_bytes * rows + matrix.b_bytes * rows).bit_length()
    return MachineConfig(
        shared=SharedMemoryConfig(
            size=max(least, line * banks * 2) * rng.choice([1, 2, 8, 32]),
            banks=banks,
            subbanks=line // 4,
        ),
        units=(matrix,),
        dma=DmaConfig(queue=rng.choice([1, 2, 4]), contexts=rng.choice([1, 2])),
        axi=AxiConfig(data_width=line * 8, interleave_bytes=64),
    )


@pytest.mark.parametrize(
    ("seed", "order"),
    [*((seed, "random") for seed in range(100)), *((seed, "round_robin") for seed in range(30))],
)
@pytest.mark.quick(26)
def test_random_products_on_random_machines(seed, order):
    rng = random.Random(seed)
    config = random_config(rng)
    problem = random_problem(config, rng, 60)
    outcome, model = run(config, problem, rng.choice(KINDS), seed, order=order)
    assert outcome.passed, (config, problem, outcome)
    assert order == "round_robin" or model.most_in_flight <= 2


@pytest.mark.parametrize(
    ("m", "n", "k"),
    [(1, 1, 1), (129, 65, 257), (127, 130, 40), (5, 4100, 3), (4100, 3, 5), (3, 5, 4200)],
)
def test_products_on_matrix(m, n, k):
    problem = GemmProblem.placed(m=m, n=n, k=k, a_pitch=k + 5000, b_pitch=n + 4099, c_pitch=n + 1)
    outcome, _ = run(PRESETS["matrix"], problem, "extreme", seed=m)
    assert outcome.passed, outcome


def test_a_second_product_continues_from_the_first():
    first = GemmProblem.placed(m=40, n=20, k=70, scale=2.0)
    second = GemmProblem.placed(m=33, n=33, k=33, c_format="fp32")
    host = Host()
    model = None
    for seed, problem in enumerate((first, second)):
        a, b = operands(problem, "random", seed)
        if model is None:
            model = ClusterModel(TINY, problem.image(a, b), seed)
        model.dram = problem.image(a, b)
        done = len(host.commands)
        schedule(TINY, problem, host)
        model.run(host.commands.array()[done:])
        c, touched = problem.result(model.region(*problem.c_region))
        assert np.array_equal(c, gemm(TINY.units[0], problem, a, b, 32)) and not touched


HOST = Host()


@pytest.mark.parametrize(
    "register",
    [HOST.dma.address("loads_done"), HOST.matrix.address("computes_done")],
    ids=["loads", "computes"],
)
@pytest.mark.full
def test_the_model_misses_each_wait(register):
    """Without the waits for one counter, some event orders give wrong results."""

    def change(commands):
        keep = (commands[:, 0] != Operation.WAIT_REACHED) | (commands[:, 1] != register)
        return commands[keep]

    problem = GemmProblem.placed(m=64, n=64, k=500)
    caught = 0
    for seed in range(20):
        try:
            caught += not run(TINY, problem, seed=seed, change=change)[0].passed
        except DeviceFault:
            caught += 1
    assert caught >= 3


def test_a_list_that_waits_for_ever_is_an_error():
    commands = CommandList()
    commands.wait_reached(HOST.dma.address("loads_done"), 1)
    with pytest.raises(RuntimeError, match="never becomes 0x1"):
        ClusterModel(TINY, [], 0).run(commands.array())


def test_a_list_whose_command_is_refused_is_an_error():
    host = Host()
    host.matrix.fire("cisc", 31)
    host.wait_computes(1)
    with pytest.raises(AssertionError, match="an illegal command"):
        ClusterModel(TINY, [], 0).run(host.commands.array())


@pytest.mark.parametrize("size", [256, 512, 1024])
def test_the_host_keeps_up_with_the_array(size):
    config = PRESETS["matrix"]
    problem = GemmProblem.placed(m=size, n=size, k=size)
    steps = plan(config, problem).steps
    commands = schedule(config, problem).commands
    assert len(commands) * ACCESS_CYCLES / len(steps) < 400
    first_start = next(
        index for index, row in enumerate(commands.rows) if row[1] == HOST.dma.address("start")
    )
    assert first_start <= 5


@pytest.mark.parametrize(
    ("size", "keep", "bytes_per_cycle"), [(256, "a", 8), (512, "b", 10.1), (1024, "a", 12.6)]
)
def test_plans_move_few_bytes(size, keep, bytes_per_cycle):
    config = PRESETS["matrix"]
    problem = GemmProblem.placed(m=size, n=size, k=size)
    chosen = plan(config, problem)
    moved = 2 * (chosen.loaded_elements + size * size)
    assert chosen.tiling.keep == keep
    assert moved / (problem.macs / config.units[0].macs) <= bytes_per_cycle


def test_the_choice_knows_what_will_be_loaded():
    rng = random.Random(1)
    config = PRESETS["matrix"]
    for _ in range(40):
        m, n, k = (rng.randint(1, 600) for _ in range(3))
        problem = GemmProblem.placed(m=m, n=n, k=k)
        limits = default_tile(config)
        estimates = [
            (loaded_elements(problem, tiling), unroll(problem, tiling).loaded_elements)
            for tiling in tilings(config, problem, limits)
        ]
        assert all(0.8 * about <= exact <= 1.2 * about for about, exact in estimates), problem
        assert min(estimates)[1] <= 1.05 * min(exact for _, exact in estimates), problem


def test_operands_of_a_step_lie_in_different_banks():
    config = PRESETS["matrix"]
    bank = config.shared.size // config.shared.banks
    for size in (256, 512, 1024):
        tiling = plan(config, GemmProblem.placed(m=size, n=size, k=size)).tiling
        ends = {"a": 2 * tiling.m * tiling.k - 1, "b": 2 * tiling.n * tiling.k - 1}
        a_banks = {(slot + at) // bank for slot in tiling.a_slots for at in (0, ends["a"])}
        b_banks = {(slot + at) // bank for slot in tiling.b_slots for at in (0, ends["b"])}
        assert not a_banks & b_banks


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"m": 0}, "m must be between 1 and 4294967295, not 0"),
        ({"k": 1.5}, "k must be an integer, not 1.5"),
        ({"a_pitch": 7}, "a_pitch must be at least a row, 8, not 7"),
        ({"operand": "fp8"}, "operand must be one of fp16, bf16, .*, int8, not 'fp8'"),
        ({"operand": "bf16"}, "c_format must be one of bf16, fp32, not 'fp16'"),
        ({"c_format": "int32"}, "c_format must be one of fp16, fp32, not 'int32'"),
        ({"c_base": 0x8000_0001}, "c_base must be a multiple of 2, not 0x80000001"),
        ({"a_base": 0x1000}, "A of 8 x 8 with pitch 8 must lie within DRAM, 0x80000000 to"),
    ],
)
def test_bad_problems_are_refused(settings, message):
    good = GemmProblem.placed(m=8, n=8, k=8)
    with pytest.raises((ValueError, TypeError), match=message):
        dataclasses.replace(good, **settings)


def test_problems_beyond_dram_are_refused():
    with pytest.raises(ValueError, match="must lie within DRAM"):
        GemmProblem.placed(m=1 << 16, n=1 << 16, k=8)


def test_a_memory_without_room_for_two_blocks_is_refused():
    matrix = SystolicConfig(rows=32, columns=32, tile=(32, 32, 32))
    shared = SharedMemoryConfig(size=2048, banks=1, subbanks=16)
    config = MachineConfig(shared=shared, units=(matrix,))
    with pytest.raises(ValueError, match="a block of A and one of B, 2048 \\+ 2048 = 4096 bytes"):
        plan(config, GemmProblem.placed(m=1, n=1, k=1))


def test_matrices_and_guards_do_not_overlap():
    problem = GemmProblem.placed(m=3, n=5, k=7, a_pitch=9, skew=1)
    a, b = operands(problem, "random", 0)
    regions = sorted((base, base + len(data)) for base, data in problem.image(a, b))
    assert all(end <= start for (_, end), (start, _) in pairwise(regions))
    base, size = problem.c_region
    region = bytearray(problem.image(a, b)[2][1].tobytes())
    assert (base, size) == (problem.c_base - GUARD_BYTES, len(region))
    assert problem.result(region)[1] == 0
    region[GUARD_BYTES - 1] ^= 1
    region[-GUARD_BYTES] ^= 1
    assert problem.result(region)[1] == 2


def test_registers_are_written_when_they_change():
    host = Host()
    descriptor = {"dram": 0x8000_0000, "dram_pitch": 64, "local": 0, "local_pitch": 32, "rows": 2}
    host.load(**descriptor, size=8)
    assert len(host.commands) == 5  # `local` and `fill` are 0 after a reset
    host.load(**descriptor | {"dram": 0x8000_1000}, size=8)
    assert len(host.commands) == 7
    unknown = Host(after_reset=False)
    unknown.load(**descriptor, size=8)
    assert len(unknown.commands) == 7


def test_data_wider_than_a_register_is_refused():
    with pytest.raises(ValueError, match="data of a register must fit 32 bits, not 4294967296"):
        CommandList().write(0, 1 << 32)
