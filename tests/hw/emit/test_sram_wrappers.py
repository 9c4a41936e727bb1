"""Tests of SRAM wrappers in Icarus Verilog: the models, and the example of the documentation."""

import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from spica.hw.emit.sram_macros import ONE_PORT, TWO_PORTS, SramShape, sram_models
from support.memory.sram_wrapper_model import SramStep, sram
from support.verilog.readers import run_icarus

SHAPES = [
    SramShape(depth=depth, width=width, granularity=granularity, ports=ports)
    for depth, width, granularity in [(2, 1, 1), (5, 8, 8), (16, 36, 9), (8, 70, 70), (32, 64, 32)]
    for ports in (TWO_PORTS, ONE_PORT)
]
BENCH = """
module bench;
  reg clk = 0;
  reg [{last}:0] step, steps [0:{count}-1];
  wire [{data}:0] read_data;
  integer k;
  {name} memory(.clk(clk), .read_data(read_data), {pins});
  initial begin
    $readmemb("steps.txt", steps);
    for (k = 0; k < {count}; k = k + 1) begin
      step = steps[k];
      #1 clk = 1;
      #1 $display("%b", read_data);
      clk = 0;
    end
  end
endmodule
"""


@pytest.fixture(autouse=True)
def icarus():
    """Skip if it is not installed."""
    if shutil.which("iverilog") is None:
        pytest.skip("missing: iverilog (apt-get install iverilog)")


def random_steps(shape: SramShape, count: int) -> list[SramStep]:
    """Return steps with many collisions."""
    rng = random.Random(shape.name)
    full, ones = (1 << shape.mask_width) - 1, (1 << shape.width) - 1
    steps = []
    for _ in range(count):
        read = rng.randrange(shape.depth)
        write = rng.choice([read, rng.randrange(shape.depth)])
        steps.append(
            SramStep(
                read=rng.random() < 0.5,
                read_address=read,
                mask=rng.choice([0, 0, full, rng.getrandbits(shape.mask_width)]),
                write_address=read if shape.ports == ONE_PORT else write,
                data=rng.choice([0, ones, rng.getrandbits(shape.width)]),
            )
        )
    return steps


def bench(shape: SramShape, steps: list[SramStep]) -> dict[str, str]:
    """Return the files of a simulation of these steps."""
    fields = {"read_enable": 1, "write_mask": shape.mask_width, "write_data": shape.width}
    names = ["read_address", "write_address"] if shape.ports == TWO_PORTS else ["address"]
    fields |= dict.fromkeys(names, shape.address_width)
    pins, low = [], 0
    for name, width in fields.items():
        pins.append(f".{name}(step[{low + width - 1}:{low}])")
        low += width
    lines = []
    for step in steps:
        values = {
            "read_enable": int(step.read),
            "write_mask": step.mask,
            "write_data": step.data,
            "read_address": step.read_address,
            "address": step.read_address,
            "write_address": step.write_address,
        }
        lines.append("".join(f"{values[name]:0{fields[name]}b}" for name in reversed(fields)))
    text = BENCH.format(
        last=low - 1,
        count=len(steps),
        data=shape.width - 1,
        name=shape.name,
        pins=", ".join(pins),
    )
    return {"bench.v": text, "models.v": sram_models([shape]), "steps.txt": "\n".join(lines) + "\n"}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_wrappers_behave_as_words_that_are_unknown_after_a_clash(shape):
    steps = random_steps(shape, 400)
    expected = list(sram(shape, steps))
    assert sum("x" in bits for bits in expected[100:]) > 20
    assert sum("x" not in bits for bits in expected[100:]) > 20
    assert run_icarus(bench(shape, steps), "bench").split() == expected


#: The parts of a two-port macro that the documentation's example uses.
MACRO = """
module RM_IHPSG13_2P_256x32_c2_bm_bist(
  input A_CLK, A_MEN, A_WEN, A_REN, A_DLY, input [7:0] A_ADDR, input [31:0] A_DIN, A_BM,
  output [31:0] A_DOUT,
  input B_CLK, B_MEN, B_WEN, B_REN, B_DLY, input [7:0] B_ADDR, input [31:0] B_DIN, B_BM,
  output reg [31:0] B_DOUT,
  input A_BIST_CLK, A_BIST_EN, A_BIST_MEN, A_BIST_WEN, A_BIST_REN,
  input [7:0] A_BIST_ADDR, input [31:0] A_BIST_DIN, A_BIST_BM,
  input B_BIST_CLK, B_BIST_EN, B_BIST_MEN, B_BIST_WEN, B_BIST_REN,
  input [7:0] B_BIST_ADDR, input [31:0] B_BIST_DIN, B_BIST_BM
);
  reg [31:0] words [0:255];
  wire quiet = ~(A_BIST_EN | B_BIST_EN) & A_DLY & B_DLY;
  always @(posedge A_CLK)
    if (quiet & A_MEN & A_WEN) words[A_ADDR] <= A_DIN & A_BM | words[A_ADDR] & ~A_BM;
  always @(posedge B_CLK) if (quiet & B_MEN & B_REN) B_DOUT <= words[B_ADDR];
endmodule
"""


def test_example_of_the_documentation_is_a_wrapper():
    page = (Path(__file__).parents[3] / "docs" / "integration.md").read_text()
    (wrapper,) = re.findall(r"```verilog\n(.*?)```", page, re.DOTALL)
    shape = SramShape(depth=256, width=32, granularity=8)
    # Few addresses, so that all are written soon.
    steps = [
        replace(step, read_address=step.read_address % 8, write_address=step.write_address % 8)
        for step in random_steps(shape, 400)
    ]
    expected = list(sram(shape, steps))
    files = bench(shape, steps) | {"models.v": wrapper, "macro.v": MACRO}
    shown = run_icarus(files, "bench").split()
    pairs = [(one, other) for one, other in zip(shown, expected, strict=True) if "x" not in other]
    assert len(pairs) > 100
    assert all(one == other for one, other in pairs)
