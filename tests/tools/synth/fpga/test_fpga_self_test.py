"""Tests of the self-testing cluster with the top that goes onto an FPGA."""

from dataclasses import replace

import numpy as np
import pytest

from spica.cli.fpga.self_test import BAUD, received, self_test
from spica.hw.emit.emitter import emit
from spica.hw.presets import PRESETS
from spica.sim.engine.block_bench import BlockBench
from spica.synth.fpga.self_test.report import report_of
from spica.synth.fpga.self_test.self_test import SelfTest

CYCLES_PER_BIT = 4
SIZES = {"m": 19, "n": 17, "k": 37}


@pytest.fixture(scope="module")
def config():
    """Return a test of a ragged product."""
    return self_test(PRESETS["tiny_matrix"], **SIZES, clock=BAUD * CYCLES_PER_BIT, repeat=200)


def run(config, cycles: int) -> dict[str, np.ndarray]:
    """Return every output in every cycle."""
    with BlockBench(SelfTest(config), optimize=1) as bench:
        bench.reset()
        return bench.run(cycles=cycles)


@pytest.mark.full
def test_a_right_product_passes(config):
    outputs = run(config, 8000)
    assert (outputs["running"] + outputs["passed"] + outputs["failed"] == 1).all()
    assert outputs["running"][0]
    assert outputs["passed"][-1]
    cycles = int(outputs["cycles"][-1])
    assert 500 < cycles < 4000
    line = report_of(True, cycles)
    assert received(outputs["tx"], CYCLES_PER_BIT).startswith(line + line[:4])  # and repeated


@pytest.mark.slow
def test_a_wrong_byte_fails(config):
    (window,) = config.windows
    after = bytearray(window.after)
    after[-1] ^= 1
    wrong = replace(config, windows=(replace(window, after=bytes(after)),))
    outputs = run(wrong, 8000)
    assert outputs["failed"][-1]
    assert not outputs["passed"].any()
    assert received(outputs["tx"], CYCLES_PER_BIT).startswith(b"spica FAIL ")


@pytest.mark.full
def test_what_it_compares_is_not_what_it_begins_with(config):
    (window,) = config.windows
    assert sum(a != b for a, b in zip(window.before, window.after, strict=True)) > 600
    assert emit(SelfTest(config), "self_test").domains == ("sync",)
