"""Tests of predicted bytes between caches and DRAM, without RTL."""

import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.cores import problem_of
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.finished import KERNELS
from spica.sim.analytic.gemm import predict, product_of

VIRGO = PRESETS["virgo"]
LINE = 64


def predicted(preset, sizes, kernel="gemm", **options):
    config = PRESETS[preset]
    product = product_of(config, **dict(zip("mnk", sizes, strict=True)), **options)
    return predict(config, product, kernel=kernel)


def levels(*arguments, **options):
    return predicted(*arguments, **options).levels


@pytest.mark.parametrize("preset", ["virgo", "hopper", "ampere", "ampere_fp32", "volta"])
@pytest.mark.parametrize("depth", [64, 192])
def test_dram_has_operands_and_result(preset, depth):
    """Where the DMA loads operands, it reads them from DRAM as often as it loads them."""
    found, size = predicted(preset, (128, 128, depth)), 4 if preset == "ampere_fp32" else 2
    assert found.levels.dram_read_bytes == (found.traffic.dma_read_bytes or 2 * 128 * depth * size)
    assert found.levels.dram_written_bytes == 128 * 128 * size


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
def test_cores_write_every_beat_of_c_once(kernel, c_format):
    found = levels("virgo", (33, 17, 40), kernel, c_format=c_format)
    size = {"fp16": 2, "fp32": 4}[c_format]
    beats = -(-33 * 17 * size // 32)
    assert found.dram_written_bytes == 32 * beats


def test_every_core_reads_the_bias_and_all_together_c():
    added, biased = (levels("virgo", (64, 100, 16), kernel) for kernel in ("gemm_add", "gemm_bias"))
    operands = levels("virgo", (64, 100, 16)).dram_read_bytes
    assert biased.dram_read_bytes == operands + 7 * LINE
    assert biased.l1d_filled_bytes == 4 * 7 * LINE
    assert added.dram_read_bytes == operands + 64 * 100 * 2
    assert added.l1d_filled_bytes is None


def test_operands_that_the_l2_does_not_keep_have_no_closed_form():
    assert levels("volta", (256, 256, 256)).dram_read_bytes is not None
    assert levels("volta", (256, 256, 272)).dram_read_bytes is None
    assert levels("ampere", (256, 256, 272)).dram_read_bytes is not None


@pytest.mark.parametrize("preset", ["virgo", "virgo_fp32"])
@pytest.mark.parametrize("depth", [64, 128])
def test_attention_on_a_matrix_unit_has_the_bytes_of_its_operands_and_results(preset, depth):
    config, size = PRESETS[preset], 4 if preset.endswith("fp32") else 2
    short, long = (
        predict_attention(config, problem_of(config, queries=64, keys=keys, depth=depth)).levels
        for keys in (64, 320)
    )
    assert short is not None and long is not None
    more = long.dram_read_bytes - short.dram_read_bytes
    assert more >= 2 * 256 * depth * size  # K and V, read once or more
    assert short.dram_written_bytes >= 64 * (depth * size + 4)  # O and LSE
    assert long.dram_written_bytes == short.dram_written_bytes


def test_attention_on_tensor_units_has_no_closed_form_of_dram():
    hopper = PRESETS["hopper"]
    problem = problem_of(hopper, queries=64, keys=64, depth=64)
    assert predict_attention(hopper, problem).levels is None
