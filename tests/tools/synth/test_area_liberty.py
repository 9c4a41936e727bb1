"""Tests of cell libraries: required contents, and areas of gates and flip-flops."""

import os
from pathlib import Path

import pytest
from amaranth import *
from amaranth.lib.wiring import In, Out

from spica.base.errors import UserError
from spica.hw.arith.float.multiply_add import MultiplyAdd, MultiplyAddConfig
from spica.hw.emit.shared_block import SharedBlock
from spica.synth.liberty import read_library
from spica.synth.measure import measure

GATE = """
  cell ({name}) {{ area : {area}; pin (A) {{ direction : input; }} pin (B) {{ direction : input; }}
    pin (Y) {{ direction : output; function : "{function}"; }} }}"""
INVERTERS = """
  cell (INV) { area : 2; pin (A) { direction : input; }
    pin (Y) { direction : output; function : "!A"; } }
  cell (BUF) { area : 4; pin (A) { direction : input; }
    pin (Y) { direction : output; function : "A"; } }"""
FLIP_FLOP = """
  cell (DFF) { area : 20; ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; }
    pin (C) { direction : input; clock : true; } pin (D) { direction : input; }
    pin (Q) { direction : output; function : "IQ"; } }"""
NAND2 = GATE.format(name="NAND2", area=4, function="!(A & B)")
NOR2 = GATE.format(name="NOR2", area=4, function="!(A | B)")


#: Multiply, add, and register the sum.
MULTIPLY_ADD = MultiplyAddConfig(operand="int8", accumulator="int32", latency=1)


class Pair(SharedBlock):
    """Two multiply-adds in series."""

    def __init__(self, config):
        self.config = config
        super().__init__({"a": In(8), "sum": Out(32)})

    def build(self, platform):
        m = Module()
        m.submodules.first = first = MultiplyAdd(self.config)
        m.submodules.second = second = MultiplyAdd(self.config)
        m.d.comb += [
            first.a.eq(self.a),
            first.b.eq(~self.a),
            second.a.eq(self.a),
            second.b.eq(self.a),
            second.c.eq(first.o),
            self.sum.eq(second.o),
        ]
        return m


def library_of(*cells):
    return "/* a comment before it */\nlibrary (tiny) {" + "".join(cells) + "\n}\n"


@pytest.fixture
def written(tmp_path):
    def write(*cells):
        path = tmp_path / "folder" / "tiny.lib"
        path.parent.mkdir(exist_ok=True)
        path.write_text(library_of(*cells))
        return path

    return write


def test_area_in_a_cell_library(written):
    measured = measure(
        Pair(MULTIPLY_ADD), "pair", liberty=written(NAND2, INVERTERS, NOR2, FLIP_FLOP)
    )
    top, element = measured.blocks
    assert element.area is not None and top.area is not None and measured.area is not None
    assert element.flip_flop_area == 20 * element.flip_flops
    assert element.area > element.flip_flop_area
    assert element.area % 2 == 0
    assert measured.area == top.area + 2 * element.area


@pytest.mark.parametrize("function", ["!(A&B)", "(!A) | (!B)", "(!(A*B))", "(A * B)'", "A'+B'"])
def test_a_nand_is_known_by_its_function(written, function):
    larger = GATE.format(name="NAND2_X2", area=7, function=function)
    smallest = GATE.format(name="NAND2_X1", area=3.7536, function=function)
    library = read_library(written(larger, NOR2, smallest, INVERTERS, FLIP_FLOP))
    assert library.nand2 == 3.7536


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ((NAND2, INVERTERS), "must hold a flip-flop, a cell with ff (...)"),
        ((NOR2, INVERTERS, FLIP_FLOP), "must hold a NAND of two inputs with an area"),
        ((GATE.format(name="AND2", area=1, function="(A&B)"), FLIP_FLOP), "a NAND of two inputs"),
        ((), "must hold a flip-flop"),
    ],
)
def test_libraries_that_are_refused(written, cells, sentence):
    with pytest.raises(UserError) as refused:
        read_library(written(*cells))
    assert sentence in str(refused.value)


def test_a_library_that_cannot_be_mapped_to_is_reported(written):
    with pytest.raises(UserError, match=r"cannot map .* to the cells of"):
        measure(
            MultiplyAdd(MULTIPLY_ADD), "element", liberty=written(NAND2, FLIP_FLOP, "cell (A) {")
        )


if PDK := os.environ.get("SPICA_PDK"):
    NAND2_AREAS = {
        "sky130_fd_sc_hd__tt_025C_1v80": 3.7536,
        "sg13g2_stdcell_typ_1p20V_25C": 7.2576,
    }

    @pytest.mark.parametrize("library", sorted(Path(PDK).glob("*.lib")), ids=lambda path: path.stem)
    def test_nand2_equivalents_are_those_of_real_libraries(library):
        measured = measure(MultiplyAdd(MULTIPLY_ADD), "element", liberty=library)
        assert measured.area is not None
        nand2 = read_library(library).nand2
        assert nand2 == NAND2_AREAS[library.stem]
        assert measured.area / nand2 == pytest.approx(measured.nand2, rel=0.15)
