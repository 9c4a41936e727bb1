"""Tests of registers in emitted Verilog: one block each, equivalent to two."""

import re

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit import verilog
from spica.hw.emit.emitter import emit
from spica.hw.emit.verilog import YosysError
from spica.hw.emit.verilog_registers import with_whole_registers
from spica.synth.equivalence import require_equal

TWO_BLOCKS = r"""module counter(clk, rst, step, o);
  reg wake_7;
  initial wake_7 = 0;
  reg [3:0] \$2 ;
  output [3:0] o;
  reg [3:0] o = 4'h3;
  always @(posedge clk)
    o <= \$2 ;
  always @* begin
    if (wake_7 ) begin end
    \$2  = o;
    if (step) begin
      \$2 [1:0] = \$1 ;
    end
    if (rst) begin
      \$2  = 4'h3;
    end
  end
endmodule
"""
ONE_BLOCK = r"""module counter(clk, rst, step, o);
  output [3:0] o;
  reg [3:0] o = 4'h3;
  always @(posedge clk) begin
    if (rst) begin
      o <= 4'h3;
    end else begin
      if (step) begin
        o[1:0] <= \$1 ;
      end
    end
  end
endmodule
"""


class Registers(wiring.Component):
    """Registers of each kind: held, reset, of another clock, selected by a value, set in parts."""

    a: In(8)
    choice: In(3)
    enable: In(1)
    stored: Out(8, init=0x5A)
    counted: Out(4)
    parts: Out(32)
    late: Out(8)
    state: Out(2)

    def elaborate(self, platform):
        m = Module()
        free = Signal(8, reset_less=True)
        m.d.sync += free.eq(self.a)
        m.d.late += self.late.eq(Mux(self.enable, free, self.late + 1))
        with m.If(self.enable):
            m.d.sync += self.stored.eq(self.a)
        with m.Elif(self.choice == 5):
            m.d.sync += self.stored[2:6].eq(self.a)
        with m.Switch(self.choice):
            with m.Case(0):
                m.d.sync += self.counted.eq(self.counted + 1)
            with m.Case("1--"):
                m.d.sync += self.counted.eq(0)
            with m.Default():
                m.d.sync += self.counted.eq(free)
        with m.If(self.enable):
            m.d.sync += self.parts.word_select(self.choice, 8).eq(self.a)
        with m.If(self.choice == 6):
            m.d.sync += self.parts.eq(0)
        with m.FSM() as machine:
            with m.State("first"), m.If(self.enable):
                m.next = "second"
            with m.State("second"):
                m.d.comb += self.state.eq(2)
                with m.If(self.choice.any()):
                    m.next = "first"
        m.d.comb += self.state[0].eq(machine.ongoing("first"))
        return m


@pytest.fixture(scope="module")
def texts():
    """Emit the component with its registers in one block each, and in two."""
    with pytest.MonkeyPatch.context() as patch:
        whole = emit(Registers(), "registers").verilog
        patch.setattr(verilog, "with_whole_registers", lambda text: text)
        return whole, emit(Registers(), "registers").verilog


def test_text_of_a_register():
    assert with_whole_registers(TWO_BLOCKS) == ONE_BLOCK


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("endmodule", "  assign x = \\$2 ;\nendmodule"),  # the next value has another reader
        ("endmodule", "  always @(posedge clk)\n    p <= \\$2 ;\nendmodule"),
        ("\\$2 [1:0] = \\$1 ;", "\\$2  = \\$2 + 1;"),  # it depends on its previous value
        (
            "  always @(posedge clk)\n    o <= \\$2 ;",
            "  always @(posedge clk)\n    p <= \\$4 ;\n  assign o = \\$2 ;",
        ),
        ("    if (step)", "    other = 1'h1;\n    if (step)"),
        ("    if (step)", "    \\$3  = \\$2 ;\n    if (step)"),
    ],
)
def test_next_value_that_is_used_stays(old, new):
    text = TWO_BLOCKS.replace(old, new)
    assert text != TWO_BLOCKS
    assert with_whole_registers(text) == text


def test_modules_are_distinguished():
    """Names of one module have no meaning in another."""
    other = "module other(\\$2 );\n  input \\$2 ;\nendmodule\n"
    assert with_whole_registers(TWO_BLOCKS + other) == ONE_BLOCK + other


def test_what_follows_an_attribute_stays_behind_it():
    text = TWO_BLOCKS.replace("    if (rst)", "    (* full_case = 32'd1 *)\n    if (rst)")
    assert "(* full_case = 32'd1 *)\n    if (rst)" in with_whole_registers(text)


def test_all_registers_of_an_emission_are_whole(texts):
    whole, _ = texts
    assert not re.search(r"<= \\\$\d+ ;\n  (?:always|assign|endmodule)", whole)
    for block in re.findall(r"^  always @\* begin\n.*?^  end\n", whole, re.M | re.S):
        assert " rst" not in block and "(rst" not in block


def test_registers_are_the_same_as_before(texts):
    whole, two = texts
    assert whole != two
    shown = require_equal(whole, two, "registers")
    assert int(re.findall(r"(\d+) are proven", shown)[-1]) >= 8 + 8 + 4 + 32 + 8 + 1


@pytest.mark.parametrize(
    ("old", "new"),
    [("8'h5a;", "8'h5b;"), ("if (enable)", "if (~enable)"), ("[7:0] <=", "[7:0] <= ~")],
)
@pytest.mark.quick(1)
def test_another_register_is_found(texts, old, new):
    whole, two = texts
    head, rest = whole.split("  always", 1)
    assert old in rest
    with pytest.raises(YosysError, match="unproven"):
        require_equal(f"{head}  always{rest.replace(old, new, 1)}", two, "registers")
