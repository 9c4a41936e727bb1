"""Tests of memories kept whole by synthesis: detection and estimated cost."""

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from spica.base.errors import UserError
from spica.hw.lib.sram import Sram
from spica.synth.design import design_of
from spica.synth.macros import Macro, read_macros, tiling_of
from spica.synth.measure import measure
from spica.synth.memories import MACRO_NAND2, MemoryShape, memory_nand2
from spica.synth.synthesis import synthesise

HEAD = "macro,ports,words,width,area_um2\n"


class Stores(wiring.Component):
    """A macro, a single-port macro, and a memory with asynchronous reads."""

    address: In(6)
    i: In(24)
    write: In(1)
    o: Out(24)

    def elaborate(self, platform):
        m = Module()
        m.submodules.sram = sram = Sram(depth=64, width=8)
        m.submodules.single = single = Memory(
            shape=8, depth=32, init=[], attrs={"sram_ports": "1rw"}
        )
        m.submodules.latched = latched = Memory(shape=8, depth=16, init=[])
        write, read = single.write_port(), single.read_port()
        put, get = latched.write_port(), latched.read_port(domain="comb")
        m.d.comb += [
            sram.read.valid.eq(1),
            sram.read.payload.eq(self.address),
            sram.write.address.eq(self.address + 1),
            sram.write.data.eq(self.i[:8]),
            sram.write.mask.eq(self.write),
            *(port.addr.eq(self.address) for port in (write, read, put, get)),
            write.en.eq(self.write),
            read.en.eq(~self.write),
            put.en.eq(self.write),
            write.data.eq(self.i[8:16]),
            put.data.eq(self.i[16:]),
            self.o.eq(Cat(sram.data, read.data, get.data)),
        ]
        return m


def test_kinds_of_ports():
    design = design_of(Stores(), "stores")
    assert synthesise(design.blocks["stores"]).memories == {
        MemoryShape(depth=64, width=8, ports="1r1w"): 1,
        MemoryShape(depth=32, width=8, ports="1rw"): 1,
        MemoryShape(depth=16, width=8, ports="1r1w async"): 1,
    }
    assert measure(Stores(), "stores").sram_bits == (64 + 32 + 16) * 8


def test_the_estimate_fits_the_macros_it_is_made_from():
    for ports, kind in ((1, "1rw"), (2, "1r1w")):
        for bits, nand2 in MACRO_NAND2[ports]:
            shape = MemoryShape(depth=bits // 8, width=8, ports=kind)
            assert memory_nand2(shape) == pytest.approx(nand2)


@pytest.mark.parametrize("ports", ["1rw", "1r1w", "2r1w", "1r1w async"])
def test_the_estimate_rises_with_the_bits_and_falls_per_bit(ports):
    shapes = [MemoryShape(depth=1 << k, width=32, ports=ports) for k in range(1, 18)]
    costs = [memory_nand2(shape) for shape in shapes]
    assert costs == sorted(costs)
    if not ports.endswith("async"):
        large = [cost / shape.bits for cost, shape in zip(costs, shapes, strict=True)][7:]
        assert large == sorted(large, reverse=True)
    assert all(c <= s.flip_flop_nand2 for c, s in zip(costs, shapes, strict=True))


def test_one_port_costs_less_than_two_and_those_less_than_three():
    for depth in (64, 256, 4096):
        one, two, three = (
            memory_nand2(MemoryShape(depth=depth, width=64, ports=ports))
            for ports in ("1rw", "1r1w", "2r1w")
        )
        assert one < two < three


def test_small_memories_are_flip_flops():
    shape = MemoryShape(depth=4, width=8, ports="1r1w")
    # 7.5 each with an enable, and three multiplexers for four words.
    assert memory_nand2(shape) == shape.flip_flop_nand2 == 32 * 7.5 + 8 * 3 * 2.5


MACROS = [
    Macro(name="wide", ports=2, words=256, width=32, area=1000.0),
    Macro(name="deep", ports=2, words=1024, width=8, area=900.0),
    Macro(name="single", ports=1, words=512, width=32, area=500.0),
]


def test_a_memory_is_tiled_by_the_least_area():
    two = tiling_of(MemoryShape(depth=512, width=40, ports="1r1w"), MACROS, 10.0)
    assert (str(two), two.area) == ("4 x wide", 4000.0)
    begun = tiling_of(MemoryShape(depth=300, width=33, ports="1r1w"), MACROS[:1], 10.0)
    assert (str(begun), begun.area) == ("4 x wide", 4000.0)
    deep = tiling_of(MemoryShape(depth=1000, width=8, ports="1r1w"), MACROS, 10.0)
    assert (str(deep), deep.area) == ("1 x deep", 900.0)
    one = tiling_of(MemoryShape(depth=512, width=40, ports="1rw"), MACROS, 10.0)
    assert (str(one), one.area) == ("2 x single", 1000.0)
    copies = tiling_of(MemoryShape(depth=256, width=32, ports="2r1w"), MACROS, 10.0)
    assert (str(copies), copies.area) == ("2 x wide", 2000.0)


def test_what_no_macro_suits_is_flip_flops():
    small = MemoryShape(depth=2, width=4, ports="1r1w")
    assert str(tiling_of(small, MACROS, 10.0)) == "flip-flops"
    latched = MemoryShape(depth=256, width=32, ports="1r1w async")
    assert str(tiling_of(latched, MACROS, 10.0)) == "flip-flops"
    two_ports = MemoryShape(depth=512, width=32, ports="1r1w")
    assert str(tiling_of(two_ports, MACROS[2:], 10.0)) == "flip-flops"


def test_a_table_of_macros(tmp_path):
    table = tmp_path / "macros.csv"
    table.write_text(HEAD + "a,1,256,8,17546.88\nb,2,64,22,39383.8661\n")
    assert read_macros(table) == [
        Macro(name="a", ports=1, words=256, width=8, area=17546.88),
        Macro(name="b", ports=2, words=64, width=22, area=39383.8661),
    ]
    table.write_text("area, Depth ,name,width,ports\n9.5,16,c,4,1R1W\n")
    assert read_macros(table) == [Macro(name="c", ports=2, words=16, width=4, area=9.5)]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has none called macro or name, none called ports"),
        ("macro,ports,words,width\na,1,2,3\n", "has none called area_um2 or area"),
        (HEAD, "must list one macro or more"),
        (HEAD + "a,3,256,8,1\n", "ports in --sram-table must be one of 1, 1rw, 2"),
        (HEAD + "a,1,many,8,1\n", "must be positive numbers, not 'many', '8' and '1' in line 2"),
        (HEAD + "a,1,256,8,nan\n", "must be positive numbers"),
        (HEAD + "a,1,256,8\n", "must be positive numbers"),
        (HEAD + "a,1,256,0,4\n", "must be positive numbers"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, sentence):
    table = tmp_path / "macros.csv"
    table.write_text(text)
    with pytest.raises(UserError) as refused:
        read_macros(table)
    assert sentence in str(refused.value)


def test_a_table_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="there is none at"):
        read_macros(tmp_path / "absent.csv")
