"""Tests of Verilog from elsewhere with a C++ testbench."""

import ctypes

import pytest

from spica.base.errors import UserError
from spica.sim.engine.foreign_design import TOP, build_foreign_design

COUNTER = f"""
module {TOP}(input clk, input [7:0] step, output reg [7:0] count);
  initial count = 0;
  always @(posedge clk) count <= count + step;
endmodule
"""
TESTBENCH = """
#include "Vtop.h"
extern "C" int count(int cycles, int step)
{
    VerilatedContext context;
    Vtop top{&context};
    top.step = step;
    for (int cycle = 0; cycle < cycles; cycle++) {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
    }
    return top.count;
}
"""


@pytest.fixture
def testbench(tmp_path):
    path = tmp_path / "testbench.cpp"
    path.write_text(TESTBENCH)
    return path


@pytest.mark.full
def test_testbench_simulates_the_design(testbench):
    library = ctypes.CDLL(str(build_foreign_design("counter", COUNTER, testbench)))
    assert library.count(7, 3) == 21
    assert library.count(100, 5) == 500 % 256


def test_bad_verilog_is_one_sentence(testbench):
    with pytest.raises(UserError, match=r"Verilator failed on counter: %Error: design\.v:3"):
        build_foreign_design("counter", COUNTER.replace("initial", "initial initial"), testbench)
