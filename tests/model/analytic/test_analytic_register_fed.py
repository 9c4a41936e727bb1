"""Tests of the analytic model of `gemm` on tensor units fed by registers, against RTL."""

import pytest

from spica.hw.base.errors import UserError
from spica.hw.config import PRESETS
from spica.kernels.gemm.tensor.plan import tensor_plan
from spica.sim.analytic.gemm import predict, product_of, traffic_of
from spica.sim.analytic.register_fed_tiles import program_rounds, store_instructions
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from support.prediction import require_prediction

AMPERE, VOLTA, FP32 = (PRESETS[name] for name in ("ampere", "volta", "ampere_fp32"))
SIZES = (
    *((128, 64, 64), (16, 16, 16), (64, 128, 64), (128, 128, 128), (33, 17, 65), (100, 60, 90)),
    *((192, 192, 192), (128, 256, 80), (1, 1, 1), (64, 256, 128), (255, 255, 255)),
)


def product(config, sizes):
    return product_of(config, **dict(zip("mnk", sizes, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("preset", ["ampere", "volta", "ampere_fp32"])
def test_work_is_exact_and_cycles_are_within_ten_percent(preset, sizes):
    config = PRESETS[preset]
    options = SimtOptions(engine="verilator", lockstep=False, memory=DramConfig())
    kernel = EXACT_KERNELS["gemm"](config)
    workload = KernelWorkload(kernel, dict(zip("mnk", sizes, strict=True)))
    result = run_workload(workload, preset, config, options)
    assert result["check"]["verdict"] == "pass", result["check"]
    found = predict(config, product(config, sizes))
    require_prediction(config, found, result, cycles=0.1)


@pytest.mark.parametrize("config", [AMPERE, VOLTA, FP32], ids=["ampere", "volta", "ampere_fp32"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_rounds_cover_the_padded_product_once(config, sizes):
    plan, (m, n, k) = tensor_plan(config), sizes
    rounds = program_rounds(plan, product(config, sizes))
    padded = -(-m // plan.m) * plan.m * (-(-n // plan.n) * plan.n) * -(-k // plan.depth)
    assert sum(round_.steps for round_ in rounds) * plan.m * plan.n == padded
    assert len({(r.row, r.column) for r in rounds}) == sum(r.last for r in rounds)
    unit = config.tensor_units
    traffic = traffic_of(config, product(config, sizes))
    assert traffic.products * unit.rows * 8 == padded
    assert traffic.active == traffic.products * unit.steps


def test_operands_enter_shared_memory_once():
    """The DMA copies fragments of whole panels; cores copy whole tiles, and the last one twice."""
    found = traffic_of(AMPERE, product(AMPERE, (256, 128, 96)))
    assert found.dma_read_bytes == (256 * 2 + 128 * 2) * 96 * 2
    assert found.shared_written_bytes == {"rows": 0}
    found = traffic_of(VOLTA, product(VOLTA, (256, 128, 96)))
    assert found.dma_read_bytes == 0
    assert found.shared_written_bytes == {"rows": (4 * 2 + 1) * (128 + 64) * 64 * 2}


def test_terms_are_the_cycles():
    for config, macs in ((AMPERE, 256), (VOLTA, 256), (FP32, 64)):
        found = predict(config, product(config, (256, 256, 256)))
        assert sum(found.terms.values()) == found.cycles
        assert found.terms["multiply"] == 256**3 // macs
        assert all(cycles >= 0 for cycles in found.terms.values())
    assert (
        sum(traffic_of(AMPERE, product(AMPERE, (256,) * 3)).shared_read_bytes.values()) == 6 * 2**20
    )


def test_slow_memory_delays_the_first_tiles_and_is_refused_below_what_was_measured():
    fast, slow = (
        predict(AMPERE, product(AMPERE, (256,) * 3), DramConfig(bytes_per_cycle=rate))
        for rate in (64, 16)
    )
    assert fast.terms["first_load"] < slow.terms["first_load"]
    assert fast.terms["wait_operands"] == 0
    for config, memory in (
        (AMPERE, DramConfig(bytes_per_cycle=8)),
        (VOLTA, DramConfig(bytes_per_cycle=16)),
        (VOLTA, DramConfig(latency=400)),
    ):
        with pytest.raises(UserError, match="on these tensor units needs DRAM of"):
            predict(config, product(config, (16,) * 3), memory)


def test_elements_at_the_edges_cost_instructions():
    plan = tensor_plan(AMPERE)

    def stored(sizes):
        posed = product(AMPERE, sizes)
        return store_instructions(AMPERE, plan, posed, program_rounds(plan, posed)[0])

    assert stored((128, 64, 16)) == 0
    found = [stored(sizes) for sizes in ((1, 1, 16), (64, 64, 16), (127, 64, 16))]
    assert 0 < found[0] < found[1] < found[2]
    assert stored((128, 66, 16)) == 0
    assert stored((128, 65, 16)) > 0  # words of FP16 that are not aligned
