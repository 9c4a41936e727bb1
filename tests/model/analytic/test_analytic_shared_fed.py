"""Tests of the analytic model of `gemm` on tensor units fed by shared memory, against RTL."""

import pytest

from spica.hw.config import PRESETS
from spica.sim.analytic.gemm import predict, product_of
from spica.sim.harness.dram import DramConfig
from spica.sim.run.exact_kernels import EXACT_KERNELS
from spica.sim.run.options import SimtOptions
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import run_workload
from support.prediction import require_prediction

HOPPER = PRESETS["hopper"]


def product(sizes):
    return product_of(HOPPER, **dict(zip("mnk", sizes, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes",
    [
        *((128, 64, 64), (64, 64, 64), (128, 64, 256), (128, 128, 128), (256, 256, 256)),
        *((16, 16, 512), (128, 192, 64), (192, 192, 192), (512, 64, 64), (64, 512, 64)),
        *((64, 64, 512), (100, 60, 90), (33, 17, 65), (200, 200, 200), (250, 130, 300)),
        (512, 16, 256),
    ],
    ids=str,
)
def test_work_is_exact_and_cycles_are_within_ten_percent(sizes):
    options = SimtOptions(engine="verilator", lockstep=False, memory=DramConfig())
    kernel = EXACT_KERNELS["gemm"](HOPPER)
    workload = KernelWorkload(kernel, dict(zip("mnk", sizes, strict=True)))
    result = run_workload(workload, "hopper", HOPPER, options)
    assert result["check"]["verdict"] == "pass", result["check"]
    found = predict(HOPPER, product(sizes))
    require_prediction(HOPPER, found, result, cycles=0.1)


def test_terms_are_the_cycles():
    found = predict(HOPPER, product((256, 256, 256)))
    assert sum(found.terms.values()) == found.cycles
    assert found.terms["multiply"] == 256**3 // 256
    assert found.traffic.products == 16 * 16 * 8
    assert sum(found.traffic.shared_read_bytes.values()) == 4 * 2**20
