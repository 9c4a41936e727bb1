"""Tests of memories written by whole words for Verilator: equivalent, and only if safe."""

import re

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emitter import emit
from spica.hw.emit.verilog import YosysError
from spica.hw.lib.sram import Sram
from spica.sim.engine.word_memories import with_whole_words
from spica.synth.equivalence import require_equal

BY_PARTS = r"""module rows(clk, en, data, odd);
  reg [7:0] rows [3:0];
  always @(posedge clk) begin
    if (en[0])
      rows[{ \a , b  }][3:0] <= data[3:0];
    if (odd)
      rows[{ \a , b  }][6:4] <= \$2 ;
    if (en[2])
      rows[{ \a , b  }][7] <= 1'h1;
  end
endmodule
"""
BY_WORDS = r"""module rows(clk, en, data, odd);
  reg [7:0] rows [3:0];
  always @(posedge clk) begin
    if ((en[0]) | (odd) | (en[2]))
      rows[{ \a , b  }] <= {
        ((en[2]) ? (1'h1) : rows[{ \a , b  }][7:7]),
        ((odd) ? (\$2 ) : rows[{ \a , b  }][6:4]),
        ((en[0]) ? (data[3:0]) : rows[{ \a , b  }][3:0]) };
  end
endmodule
"""


class Two(wiring.Component):
    """A memory of words in three parts, and one without parts."""

    mask: In(3)
    address: In(2)
    i: In(12)
    o: Out(12)
    whole: Out(12)

    def elaborate(self, platform):
        m = Module()
        m.submodules.parts = parts = Sram(depth=4, width=12, granularity=4)
        m.submodules.whole = whole = Sram(depth=4, width=12)
        for memory, o in ((parts, self.o), (whole, self.whole)):
            m.d.comb += [
                memory.write.mask.eq(self.mask),
                memory.write.address.eq(self.address),
                memory.write.data.eq(self.i),
                memory.read.valid.eq(1),
                memory.read.payload.eq(~self.address),
                o.eq(memory.data),
            ]
        return m


@pytest.fixture(scope="module")
def text():
    """Emit both memories."""
    return emit(Two(), "two").verilog


def test_text_of_a_memory():
    assert with_whole_words(BY_PARTS) == BY_WORDS


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    if (odd)\n      rows[{ \\a , b  }]", "    if (odd)\n      rows[{ \\a , c  }]"),
        ("[3:0] <=", "[2:0] <="),  # a bit that is never written
        ("[3:0] <=", "[3:1] <="),
        ("[7:0] rows", "[8:0] rows"),
        ("endmodule", "  always @(posedge clk)\n    rows[0][3:0] <= 4'h0;\nendmodule"),
        ("rows[{ \\a , b  }][7] <= 1'h1;", "other[{ \\a , b  }][7] <= 1'h1;"),
    ],
)
def test_other_writes_stay(old, new):
    text = BY_PARTS.replace(old, new)
    assert text != BY_PARTS
    assert with_whole_words(text) == text


def test_memories_are_the_same_as_before(text):
    words = with_whole_words(text)
    assert words.count("<= {\n") == 1
    shown = require_equal(words, text, "two")
    assert int(re.findall(r"(\d+) are proven", shown)[-1]) >= 2 * 4 * 12


def test_another_memory_is_found(text):
    words = with_whole_words(text)
    wrong = words.replace("[0]) ? (", "[1]) ? (", 1)
    assert wrong != words
    with pytest.raises(YosysError, match="unproven"):
        require_equal(wrong, text, "two")
