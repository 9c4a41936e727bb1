"""Tests of the self-testing array, alone and between the pins of a board."""

from dataclasses import replace

import pytest

from spica.cli.fpga.self_test import BAUD, array_test, received, verdict_of
from spica.hw.config import ARRAYS, SystolicConfig
from spica.hw.emit.emission import Emission, EmittedPort
from spica.hw.emit.emitter import emit
from spica.sim.engine.block_bench import BlockBench
from spica.synth.fpga.bitstream import WAKE_BITS, board_top
from spica.synth.fpga.boards import Board, Pin
from spica.synth.fpga.self_test.array_test import ArrayTest, ArrayTestConfig
from spica.synth.fpga.self_test.report import report_of

CYCLES_PER_BIT = 4
CLOCK = BAUD * CYCLES_PER_BIT


def a_test(matrix: SystolicConfig = ARRAYS["nano"]) -> ArrayTestConfig:
    """Return a small test."""
    return array_test(matrix, m=8, k=8, clock=CLOCK, repeat=100)


@pytest.mark.parametrize("operand", ["int8", "bf16"])
@pytest.mark.full
def test_a_right_product_passes(operand):
    verdict, cycles = verdict_of(ArrayTest(a_test(replace(ARRAYS["nano"], operand=operand))))
    assert verdict == "pass"
    assert 56 < cycles < 200


@pytest.mark.parametrize("wrong", ["a beat", "a step"])
@pytest.mark.full
def test_a_wrong_value_fails(wrong):
    config = a_test()
    if wrong == "a beat":
        *rest, last = config.expected
        config = replace(config, expected=(*rest, last ^ 1 << 31))
    else:
        first, *others = config.steps
        changed = replace(first, weights=tuple(x ^ 1 for x in first.weights))
        config = replace(config, steps=(changed, *others))
    verdict, _ = verdict_of(ArrayTest(config))
    assert verdict == "FAIL"


BOARD = Board(
    name="three lights",
    device="iCE40HX8K",
    package="CT256",
    speed="",
    clock=Pin(site="J3", inverted=False, attributes=()),
    frequency=CLOCK,
    lights=tuple(Pin(site=f"C{n}", inverted=n == 1, attributes=()) for n in range(3)),
    serial=Pin(site="B12", inverted=False, attributes=()),
)


def on_board(config: ArrayTestConfig, board: Board) -> Emission:
    """Return the design for place and route, which has no reset."""
    lights = [f"light_{n}" for n in range(len(board.lights))]
    outputs = [*lights, "serial"]
    pins = ", ".join(f".{name}({name})" for name in ("clk", *outputs))
    ports = ", ".join(["input clk", "input rst", *(f"output {name}" for name in outputs)])
    shell = f"module shell({ports});\n  board board({pins});\nendmodule\n"
    inner = emit(ArrayTest(config), "self_test")
    return replace(
        inner,
        name="shell",
        verilog=inner.verilog + board_top(board, "self_test") + shell,
        ports=(*inner.ports[:2], *(EmittedPort(name, "output", 1) for name in outputs)),
    )


@pytest.mark.parametrize("passes", [True, False])
@pytest.mark.full
def test_lights_and_serial_line_of_a_board(passes):
    config = a_test()
    if not passes:
        config = replace(config, expected=tuple(value ^ 1 for value in config.expected))
    with BlockBench(on_board(config, BOARD), optimize=1) as bench:
        outputs = bench.run(cycles=4000)
    passed, failed, running = (outputs[f"light_{n}"] for n in range(3))
    failed = 1 - failed  # inverted on the board
    assert (passed + failed + running == 1).all()
    assert running[: (1 << WAKE_BITS - 1) - 10].all()
    assert (passed[-1], failed[-1]) == (passes, not passes)
    # The cycles that it takes without a board around it.
    _, cycles = verdict_of(ArrayTest(config))
    assert received(outputs["serial"], CYCLES_PER_BIT).startswith(2 * report_of(passes, cycles))
