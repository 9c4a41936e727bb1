"""Energy of memories: accesses, tables of macros, and tiles that an access uses."""

import numpy as np
import pytest

from spica.base.errors import UserError
from spica.synth.energy.flip_flop_memory import StorageCells, storage_cells
from spica.synth.energy.mapped_netlist import netlist_from
from spica.synth.energy.memory_accesses import memory_pj, memory_ports
from spica.synth.energy.memory_energy import MemoryEnergy, memory_energy, read_energy_macros
from spica.synth.energy.power_library import library_of, read_power_library
from spica.synth.energy.replay import Replay
from spica.synth.macros import Macro, Tiling
from spica.synth.memories import MemoryShape
from support.pdk import SG13G2, SG13G2_SRAM, SKY130, needs_pdk
from support.synth.small_library import SMALL_LIBRARY

HEAD = "macro,ports,words,width,read_pj,write_pj,leakage_nw,area_um2\n"
TWO_PORTS = Macro(
    name="two",
    ports=2,
    words=256,
    width=32,
    area=1000.0,
    read_energy=26.0,
    write_energy=33.5,
    leakage=160.0,
)
CELLS = StorageCells(
    data=0.001,
    clock=0.02,
    change=0.03,
    select=0.004,
    flip_flop_leakage=4.0,
    multiplexer_leakage=3.0,
)
ONE_PORT = Macro(
    name="one",
    ports=1,
    words=512,
    width=32,
    area=500.0,
    read_energy=36.0,
    write_energy=42.0,
    leakage=198.0,
)


@pytest.mark.parametrize(
    ("shape", "tiles", "energies"),
    [
        (MemoryShape(depth=256, width=32, ports="1r1w"), "1 x two", (26, 33.5, 160)),
        # An access uses both tiles of a word, and leaves the other row of tiles idle.
        (MemoryShape(depth=512, width=40, ports="1r1w"), "4 x two", (52, 67, 640)),
        # A write to two read ports is a write to two copies.
        (MemoryShape(depth=256, width=64, ports="2r1w"), "4 x two", (52, 134, 640)),
        (MemoryShape(depth=1024, width=32, ports="1rw"), "2 x one", (36, 42, 396)),
    ],
)
def test_tiles_of_an_access(shape, tiles, energies):
    energy = memory_energy(shape, [TWO_PORTS, ONE_PORT], 10.0, CELLS)
    assert str(energy.tiling) == tiles
    assert (energy.read, energy.write, energy.leakage) == energies


@pytest.mark.parametrize("ports", ["1r1w", "1r1w async"])
def test_small_and_asynchronous_memories_are_flip_flops(ports):
    shape = MemoryShape(depth=2, width=4, ports=ports)
    energy = memory_energy(shape, [TWO_PORTS], 10.0, CELLS)
    assert str(energy.tiling) == "flip-flops"
    # Half of the bits change, and two words have the same data inputs.
    assert energy.write == pytest.approx(4 * (2 * 0.001 / 2 + 0.02 + 0.03 / 2))
    # One multiplexer per bit: half of the reads are of the other word, and half of its bits differ.
    assert energy.read == pytest.approx(4 * 0.004 / 4)
    assert energy.leakage == pytest.approx(8 * 4.0 + 4 * 3.0)
    deep = MemoryShape(depth=4096, width=8, ports="1r1w async")
    assert str(memory_energy(deep, [ONE_PORT], 10.0, CELLS).tiling) == "flip-flops"


def test_reads_of_flip_flops_by_simulation():
    """The rule for multiplexers agrees with a tree of random words read at random addresses."""
    depth, reads = 16, 20_000
    generator = np.random.default_rng(1)
    words = generator.random((reads, depth)) < 0.5
    addresses = generator.integers(0, depth, (reads, 2))
    toggles, rows = 0, [words, words]
    for level in range(4):
        selects = [addresses[:, k] >> level & 1 for k in (0, 1)]
        rows = [
            np.where(select[:, None] == 1, row[:, 1::2], row[:, ::2])
            for select, row in zip(selects, rows, strict=True)
        ]
        toggles += int((rows[0] != rows[1]).sum())
    shape = MemoryShape(depth=depth, width=1, ports="1r1w")
    assert toggles / reads == pytest.approx(CELLS.read_energy(shape) / CELLS.select, rel=0.02)


def test_cells_of_a_library():
    cells = storage_cells(library_of(SMALL_LIBRARY))
    # Pins of 0.004 pF, the clock 0.002 pF, at 1 V; see the library for the tables.
    assert cells.data == pytest.approx((0.007 + 0.005) / 2 + 0.002)
    assert cells.clock == pytest.approx(0.010 + 0.008 + 0.002)
    assert cells.change == pytest.approx(-0.010 + (0.030 + 0.020) / 2 + 0.002)
    assert cells.select == pytest.approx(0.004 + 0.002)
    assert (cells.flip_flop_leakage, cells.multiplexer_leakage) == (4.0, 3.0)
    with pytest.raises(UserError, match="must hold a multiplexer of two inputs; small has none"):
        storage_cells(library_of(SMALL_LIBRARY.replace("(A * S') + (B * S)", "A * B * S")))


@needs_pdk
@pytest.mark.parametrize("library", [SG13G2, SKY130], ids=lambda path: path.stem)
def test_cells_of_real_libraries(library):
    cells = storage_cells(read_power_library(library))
    assert 0.005 < cells.select < cells.clock < cells.clock + cells.change < 0.2


def test_a_table_without_a_macro_that_fits():
    with pytest.raises(UserError, match=r"macro of two ports .* 512 words of 32 bits \(1r1w\)"):
        memory_energy(MemoryShape(depth=512, width=32, ports="1r1w"), [ONE_PORT], 10.0, CELLS)


def test_tables(tmp_path):
    table = tmp_path / "macros.csv"
    table.write_text(HEAD + "two,2,256,32,26,33.5,160,1000\n")
    assert read_energy_macros(table) == [TWO_PORTS]
    table.write_text(HEAD + "two,2,256,32,26,-1,160,1000\n")
    with pytest.raises(UserError, match=r"write_pj .* zero or a positive number, not '-1' in line"):
        read_energy_macros(table)
    table.write_text("macro,ports,words,width,area_um2,read_pj\na,1,2,3,4,5\n")
    with pytest.raises(UserError, match="has none called write_pj, none called leakage_nw"):
        read_energy_macros(table)


@needs_pdk
def test_sg13g2_macros():
    macros = read_energy_macros(SG13G2_SRAM)
    assert len(macros) == 28
    # 4096 words of 64 bits with two ports: two side by side, four rows of the largest macro.
    energy = memory_energy(MemoryShape(depth=4096, width=64, ports="1r1w"), macros, 7.2576, CELLS)
    assert str(energy.tiling) == "8 x RM_IHPSG13_2P_1024x32_c2_bm_bist"
    assert energy.read == pytest.approx(2 * 48.2666)
    assert energy.write == pytest.approx(2 * 58.9183)
    assert energy.leakage == pytest.approx(8 * 637.8015)


def memory(is_clocked, reads=1):
    """Return a netlist with a memory of 4 words of 2 bits."""
    cell = {
        "type": "$mem_v2",
        "parameters": {
            "SIZE": f"{4:b}",
            "WIDTH": f"{2:b}",
            "RD_PORTS": f"{reads:b}",
            "WR_PORTS": "1",
            "RD_CLK_ENABLE": str(int(is_clocked)) * reads,
        },
        "attributes": {},
        "connections": {
            "RD_EN": [10 + k for k in range(reads)],
            "RD_ADDR": [20 + k for k in range(2 * reads)],
            "RD_DATA": [30 + k for k in range(2 * reads)],
            "WR_EN": [40, 41],
        },
        "port_directions": {
            "RD_EN": "input",
            "RD_ADDR": "input",
            "RD_DATA": "output",
            "WR_EN": "input",
        },
    }
    module = {"ports": {}, "cells": {"store": cell}, "netnames": {}}
    return netlist_from(module, library_of(SMALL_LIBRARY), "some", {})


def energy_of(ports, before, now, clocked):
    costs = MemoryEnergy(
        read=10.0, write=100.0, leakage=1.0, tiling=Tiling(macro=None, count=0, area=1.0)
    )
    replayed = Replay(
        toggles=np.zeros(50, np.uint64),
        clocked=np.array(clocked, bool),
        before=np.array(before, bool),
        now=np.array(now, bool),
        batch=np.zeros(len(clocked), np.int64),
        weighted=np.zeros(1),
        counts=(True,),
        differing=(),
    )
    energy, reads, writes = memory_pj([(ports, costs)], replayed)
    return energy.tolist(), reads, writes


def test_clocked_accesses():
    (ports,) = memory_ports(memory(is_clocked=True))
    assert ports.reads == ((10,),)
    assert ports.writes == ((40, 41),)
    assert ports.nets == (10, 40, 41)
    # Enables count before the edges of cycles 0, 1 and 3; either bit makes a write.
    before = [[1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]]
    energy = energy_of(ports, before, np.zeros((3, 4)), [1, 1, 0, 1])
    assert energy == ([10.0, 100.0, 0.0, 110.0], 2, 2)


def test_two_read_ports():
    (ports,) = memory_ports(memory(is_clocked=True, reads=2))
    assert ports.reads == ((10,), (11,))
    energy = energy_of(ports, np.ones((4, 3)), np.ones((4, 3)), [1, 1, 1])
    assert energy == ([120.0] * 3, 6, 3)


def test_reads_without_a_clock_follow_the_address():
    (ports,) = memory_ports(memory(is_clocked=False))
    assert ports.reads == ((20, 21),)
    before = [[0, 1, 1], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    now = [[1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert energy_of(ports, before, now, [0, 1, 0]) == ([10.0, 0.0, 10.0], 2, 0)
