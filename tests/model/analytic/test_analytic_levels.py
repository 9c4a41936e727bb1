"""Tests of predicted bytes between caches and DRAM, without RTL."""

from dataclasses import replace

import pytest

from spica.hw.config import PRESETS
from spica.kernels.attention.cores import problem_of
from spica.sim.analytic.attention.prediction import predict_attention
from spica.sim.analytic.finished.prediction import KERNELS
from spica.sim.analytic.gemm import predict, product_of
from spica.sim.analytic.levels.program import ATTENTION, FINISHED, PRODUCT
from spica.sim.analytic.levels.read_lines import added_lines, bias_lines
from spica.sim.analytic.program_steps import program_steps

VIRGO = PRESETS["virgo"]
LINE = 64


def predicted(preset, sizes, kernel="gemm", **options):
    config = PRESETS[preset]
    product = product_of(config, **dict(zip("mnk", sizes, strict=True)), **options)
    return predict(config, product, kernel=kernel)


def levels(*arguments, **options):
    return predicted(*arguments, **options).levels


@pytest.mark.parametrize("preset", PRODUCT)
@pytest.mark.parametrize("depth", [64, 192])
def test_dram_has_operands_result_and_program(preset, depth):
    """Where the DMA loads operands, it reads them from DRAM as often as it loads them."""
    found, size = predicted(preset, (128, 128, depth)), 4 if preset == "ampere_fp32" else 2
    read = found.levels.dram_read_bytes - PRODUCT[preset].read
    assert read == (found.traffic.dma_read_bytes or 2 * 128 * depth * size)
    assert found.levels.dram_written_bytes == 128 * 128 * size + PRODUCT[preset].written


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
def test_cores_write_every_beat_of_c_once(kernel, c_format):
    found = levels("virgo", (33, 17, 40), kernel, c_format=c_format)
    size = {"fp16": 2, "fp32": 4}[c_format]
    beats = -(-33 * 17 * size // 32)
    assert found.dram_written_bytes == 32 * beats + FINISHED[kernel].written


def test_every_core_reads_the_bias():
    product = product_of(VIRGO, m=64, n=100, k=16)
    found = bias_lines(VIRGO, product)
    assert (found.all, found.filled) == (7, 4 * 7)
    assert found.prefetched == VIRGO.l2.prefetch * VIRGO.axi.masters
    assert bias_lines(VIRGO, replace(product, n=32, c_pitch=32, b_pitch=32)).prefetched == 0


@pytest.mark.parametrize("c_format", ["fp16", "fp32"])
@pytest.mark.parametrize(
    "sizes", [(16, 16, 16), (130, 66, 40), (200, 200, 8), (33, 17, 8), (250, 130, 70)], ids=str
)
def test_lines_of_c_are_those_of_the_warps(sizes, c_format):
    """The program: warp ``w`` from the last one has group ``w % 4``, and row ``w / 4`` of seven."""
    m, n, _ = sizes
    product = product_of(VIRGO, **dict(zip("mnk", sizes, strict=True)), c_format=c_format)
    size = product.element_bytes("c")
    read = set()
    for row in range(m):
        for column in range(n):
            warp = row % 128 % 7 * 4 + column % 64 // 16
            core = 3 - warp // 8
            read.add((core, (product.c_base + (row * n + column) * size) // LINE))
    found = added_lines(VIRGO, product, list(program_steps(VIRGO, product, is_finished=True)))
    assert found.filled == len(read)
    assert found.all == len({line for _, line in read})


@pytest.mark.parametrize(
    ("sizes", "c_format", "is_prefetched"),
    [
        ((128, 64, 64), "fp16", True),
        ((128, 128, 64), "fp16", False),
        ((128, 128, 64), "fp32", True),
        ((200, 200, 8), "fp16", True),
        ((256, 192, 8), "fp16", False),
    ],
    ids=str,
)
def test_two_lines_of_each_row_do_not_make_the_l2_prefetch(sizes, c_format, is_prefetched):
    product = product_of(VIRGO, **dict(zip("mnk", sizes, strict=True)), c_format=c_format)
    found = added_lines(VIRGO, product, list(program_steps(VIRGO, product, is_finished=True)))
    assert (found.prefetched > 0) is is_prefetched


def test_operands_that_the_l2_does_not_keep_have_no_closed_form():
    assert levels("volta", (256, 256, 256)).dram_read_bytes is not None
    assert levels("volta", (256, 256, 272)).dram_read_bytes is None
    assert levels("ampere", (256, 256, 272)).dram_read_bytes is not None


@pytest.mark.parametrize(
    ("queries", "keys", "is_kept"), [(512, 512, True), (512, 1024, False), (384, 1024, True)]
)
def test_keys_that_the_l2_does_not_keep_have_no_closed_form(queries, keys, is_kept):
    ampere = PRESETS["ampere"]
    found = predict_attention(ampere, problem_of(ampere, queries=queries, keys=keys, depth=64))
    assert found.levels is not None
    assert (found.levels.dram_read_bytes is not None) is is_kept


def test_caches_that_were_not_measured_have_no_levels():
    config = replace(VIRGO, l2=replace(VIRGO.l2, size=VIRGO.l2.size // 2))
    assert predict(config, product_of(config, m=64, n=64, k=64)).levels is None


@pytest.mark.parametrize(("preset", "depth"), ATTENTION)
def test_attention_has_the_bytes_of_its_operands_and_results(preset, depth):
    config, size = PRESETS[preset], 4 if preset.endswith("fp32") else 2
    short, long = (
        predict_attention(config, problem_of(config, queries=64, keys=keys, depth=depth)).levels
        for keys in (64, 320)
    )
    assert short is not None and long is not None
    more = long.dram_read_bytes - short.dram_read_bytes
    assert more >= 2 * 256 * depth * size  # K and V, read once or more
    assert short.dram_written_bytes > 64 * (depth * size + 4)  # O and LSE
    has_stored_blocks = not preset.startswith("virgo")
    assert (long.dram_written_bytes > short.dram_written_bytes) is has_stored_blocks
