"""Tests of costs of small components, against Yosys's figures for the flattened netlist."""

import random

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.shared_block import SharedBlock
from spica.hw.lib.sram import Sram
from spica.synth import synthesis
from spica.synth.blocks import modules_of, owners_of
from spica.synth.design import rtlil_of
from spica.synth.gates import cell_weight
from spica.synth.measure import measure
from spica.synth.synthesis import MAPPING
from spica.synth.timing.netlist_depth import block_timing
from spica.synth.yosys import YosysError, run_yosys


class MultiplyAdd(SharedBlock):
    """Register a * b + c, and output in the same cycle whether a and b are equal."""

    def __init__(self, config):
        self.config = config
        super().__init__({
            "a": In(config),
            "b": In(config),
            "c": In(2 * config),
            "sum": Out(2 * config),
            "equal": Out(1),
        })

    def build(self, platform):
        m = Module()
        m.d.sync += self.sum.eq(self.a * self.b + self.c)
        m.d.comb += self.equal.eq(self.a == self.b)
        return m


class Store(wiring.Component):
    """A memory elaborated in place."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.sram = sram = Sram(depth=64, width=8)
        address = Signal(6)
        m.d.sync += address.eq(address + 1)
        m.d.comb += [
            sram.write.address.eq(address),
            sram.write.data.eq(self.i + 1),
            sram.write.mask.eq(self.i[0]),
            sram.read.valid.eq(1),
            sram.read.payload.eq(address + 5),
            self.o.eq(sram.data),
        ]
        return m


class Chain(SharedBlock):
    """Multiply-adds in series, with paths through several of them in one cycle."""

    def __init__(self, config):
        self.config = config
        super().__init__({"a": In(4), "b": In(4), "o": Out(8)})

    def build(self, platform):
        m = Module()
        a, c = self.a, Const(0, 8)
        for k in range(self.config):
            m.submodules[f"element_{k}"] = element = MultiplyAdd(4)
            m.d.comb += [element.a.eq(a), element.b.eq(self.b), element.c.eq(c)]
            a, c = self.a ^ element.equal.replicate(4), element.sum
        m.submodules.store = store = Store()
        m.d.comb += [store.i.eq(c), self.o.eq(store.o)]
        return m


@pytest.fixture
def empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path))


@pytest.fixture(scope="module")
def chain():
    return measure(Chain(3), "chain")


def test_a_block_is_synthesised_once_and_counted_per_instance(chain):
    top, element = chain.blocks
    assert chain.name == "chain"
    assert top.name.startswith("chain_")
    assert top.instances == 1
    assert element.name.startswith("multiply_add_")
    assert element.instances == 3
    assert (element.cells, element.flip_flops) == (4, 8)  # multiply, add, compare, register
    assert chain.cells == top.cells + 3 * element.cells
    assert chain.nand2 == top.nand2 + 3 * element.nand2
    assert chain.flip_flops == 6 + 3 * 8


def test_memories_stay_whole(chain):
    assert chain.sram_bits == 64 * 8
    assert chain.flip_flops < 64  # no bits of the memory


def flattened_depth(component, name):
    """Return the result of Yosys's `ltp` for the netlist, flattened after mapping."""
    text, top, _ = rtlil_of(component, name)
    boxes = " ".join(sorted(set(owners_of(modules_of(text), {}).values())))
    script = f"""
        read_rtlil design.il
        setattr -mod -set keep_hierarchy 1 {boxes}
        {MAPPING.format(top=top)}
        setattr -mod -unset keep_hierarchy *
        flatten -noscopeinfo
        opt_clean
        tee -q -o depth.txt ltp -noff {top}/* t:$mem* %d
    """
    report = run_yosys(script, {"design.il": text}, ["depth.txt"])["depth.txt"]
    return int(report.partition("(length=")[2].partition(")")[0])


def test_depth_is_that_of_the_flattened_netlist(chain):
    element = measure(MultiplyAdd(4), "element")
    assert chain.depth > element.depth  # the path through three comparisons counts
    assert element.depth == flattened_depth(MultiplyAdd(4), "element")
    assert chain.depth == flattened_depth(Chain(3), "chain")


def cell(kind, **connections):
    directions = {port: "output" if port in "YQ" else "input" for port in connections}
    wires = {port: [bit] for port, bit in connections.items()}
    return {"type": kind, "port_directions": directions, "connections": wires}


def test_depth_of_random_logic_with_registers():
    """Compared with longest paths found by walking the same random graph gate by gate."""
    rng = random.Random(1)
    for _ in range(20):
        depths = {bit: 0 for bit in range(2, 6)}  # inputs
        cells = {}
        for bit in range(6, 60):
            sources = rng.sample(sorted(depths), 2)
            if rng.random() < 0.2:
                cells[f"{bit}"] = cell("$_DFF_P_", D=sources[0], Q=bit)
                depths[bit] = 0
            else:
                cells[f"{bit}"] = cell("$_NAND_", A=sources[0], B=sources[1], Y=bit)
                depths[bit] = 1 + max(depths[source] for source in sources)
        ports = {
            "i": {"direction": "input", "bits": [2, 3, 4, 5]},
            "o": {"direction": "output", "bits": [59, "0"]},
        }
        shuffled = dict(rng.sample(sorted(cells.items()), len(cells)))
        timing = block_timing({"ports": ports, "cells": shuffled}, {})
        assert timing.depth == max(depths.values())


def test_a_combinational_loop_is_refused():
    loop = {"a": cell("$_NOT_", A=2, Y=3), "b": cell("$_NOT_", A=3, Y=2)}
    with pytest.raises(ValueError, match="logic must not loop"):
        block_timing({"ports": {}, "cells": loop}, {})


def test_second_measurement_is_from_the_cache(empty_cache, monkeypatch):
    first = measure(MultiplyAdd(3), "element")

    def refuse(*arguments):
        raise AssertionError("Yosys ran again")

    monkeypatch.setattr(synthesis, "run_at_once", refuse)
    assert measure(MultiplyAdd(3), "element") == first
    with pytest.raises(AssertionError, match="ran again"):
        measure(MultiplyAdd(5), "element")


def test_a_damaged_cache_entry_is_computed_again(empty_cache, tmp_path):
    first = measure(MultiplyAdd(3), "element")
    entries = list(tmp_path.rglob("*.gz"))
    assert entries
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[: entry.stat().st_size // 2])
    assert measure(MultiplyAdd(3), "element") == first


@pytest.mark.parametrize(
    ("kind", "weight"),
    [
        ("$_NAND_", 1.0),
        ("$_DFF_P_", 5.5),
        ("$_DFF_PP0_", 6.5),
        ("$_SDFF_PP0_", 6.5),
        ("$_DFFE_PP_", 7.5),
        ("$_SDFFCE_PP0P_", 8.5),
        ("$_DFFE_PP0P_", 8.5),
    ],
)
def test_weights(kind, weight):
    assert cell_weight(kind) == weight


def test_a_cell_without_weight_is_refused():
    with pytest.raises(ValueError, match=r"cell must be a gate or a register .* not '\$add'"):
        cell_weight("$add")


def test_errors_of_yosys_are_reported():
    with pytest.raises(YosysError, match="nonsense"):
        run_yosys("nonsense\n", {}, [])
    with pytest.raises(YosysError, match=r"must write absent\.txt"):
        run_yosys("log hello\n", {}, ["absent.txt"])
