"""Energy of memories: tables of macros, and the tiles that an access uses."""

import os
from pathlib import Path

import pytest

from spica.hw.base.errors import UserError
from spica.synth.energy.memory_energy import memory_energy, read_energy_macros
from spica.synth.macros import Macro
from spica.synth.memories import MemoryShape

PDK = os.environ.get("SPICA_PDK")

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
    energy = memory_energy(shape, [TWO_PORTS, ONE_PORT], 10.0)
    assert energy is not None
    assert str(energy.tiling) == tiles
    assert (energy.read, energy.write, energy.leakage) == energies


@pytest.mark.parametrize("ports", ["1r1w", "1r1w async"])
def test_small_and_asynchronous_memories_are_flip_flops(ports):
    assert memory_energy(MemoryShape(depth=2, width=4, ports=ports), [TWO_PORTS], 10.0) is None
    deep = MemoryShape(depth=4096, width=8, ports="1r1w async")
    assert memory_energy(deep, [ONE_PORT], 10.0) is None


def test_a_table_without_a_macro_that_fits():
    with pytest.raises(UserError, match=r"macro of two ports .* 512 words of 32 bits \(1r1w\)"):
        memory_energy(MemoryShape(depth=512, width=32, ports="1r1w"), [ONE_PORT], 10.0)


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


@pytest.mark.skipif(PDK is None, reason="SPICA_PDK must name the folder of the macro tables")
def test_sg13g2_macros():
    macros = read_energy_macros(Path(str(PDK)) / "ihp_sg13g2_sram_energy.csv")
    assert len(macros) == 28
    # 4096 words of 64 bits with two ports: two side by side, four rows of the largest macro.
    energy = memory_energy(MemoryShape(depth=4096, width=64, ports="1r1w"), macros, 7.2576)
    assert energy is not None
    assert str(energy.tiling) == "8 x RM_IHPSG13_2P_1024x32_c2_bm_bist"
    assert energy.read == pytest.approx(2 * 48.2666)
    assert energy.write == pytest.approx(2 * 58.9183)
    assert energy.leakage == pytest.approx(8 * 637.8015)
