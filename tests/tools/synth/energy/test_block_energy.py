"""Energy of blocks: a netlist computed by hand, and cells of real libraries."""

import numpy as np
import pytest

from spica.synth.energy.block_energy import block_weights, energy_of
from spica.synth.energy.cell_energy import cell_energy
from spica.synth.energy.power_library import library_of, read_power_library
from support.pdk import SG13G2, SKY130, needs_pdk
from support.synth.small_library import SMALL_LIBRARY
from support.synth.small_netlist import netlist_of

LIBRARY = library_of(SMALL_LIBRARY)


def test_three_cells_by_hand():
    netlist = netlist_of(
        LIBRARY,
        {},
        ("INV", {"A": 3, "Y": 5}),
        ("NAND2", {"A": 5, "B": 4, "Y": 6}),
        ("DFF", {"C": 2, "D": 6, "Q": 7}),
    )
    weights = block_weights(netlist, LIBRARY)
    toggles = np.array([0, 0, 0, 10, 6, 10, 8, 5], np.uint64)
    energy = energy_of(weights, toggles, cycles=20, clocked_cycles=16)
    # Outputs of both gates; D while the clock is low; Q; and no rise of the clock pin of 0.010 pJ
    # in the 5 cycles that change the state.
    gates = 10 * 0.001 + 8 * 0.002
    flip_flop = 8 * (0.007 + 0.005) / 2 + 5 * (0.030 + 0.020) / 2 - 5 * 0.010
    assert energy.internal == pytest.approx(gates + flip_flop)
    # Four pins of 0.004 pF at 1 V, one on each net.
    assert energy.switching == pytest.approx((10 + 6 + 10 + 8) * 0.004 / 2)
    # A rise of 0.010 and a fall of 0.008 pJ, and 0.002 pF charged and discharged.
    assert energy.clock == pytest.approx(16 * (0.018 + 0.002))
    assert energy.ungated_clock == pytest.approx(20 * (0.018 + 0.002))
    assert energy.dynamic == pytest.approx(energy.internal + energy.switching + energy.clock)
    assert energy.leakage == pytest.approx(1 + 2 + 4)
    # 20 cycles at 100 MHz are 200 ns.
    assert energy.leakage_energy(100) == pytest.approx(7 * 200e-6)


def test_a_net_drives_several_pins():
    netlist = netlist_of(
        LIBRARY, {}, ("INV", {"A": 3, "Y": 4}), *[("BUF", {"A": 4, "Y": 5 + k}) for k in (0, 1)]
    )
    weights = block_weights(netlist, LIBRARY)
    assert weights.switching[3:].tolist() == pytest.approx([0.002, 0.004, 0, 0])
    assert weights.internal[3:].tolist() == pytest.approx([0, 0.001, 0.002, 0.002])


def test_clocked_cycles_are_a_part_of_the_cycles():
    weights = block_weights(netlist_of(LIBRARY, {}, ("INV", {"A": 3, "Y": 4})), LIBRARY)
    with pytest.raises(ValueError, match="clocked_cycles must be 0 to 3, not 4"):
        energy_of(weights, np.zeros(5, np.uint64), cycles=3, clocked_cycles=4)


CONDITIONS = """library (some) { nom_voltage : 1;
  cell (MUX) {
    pin (A) { direction : input; } pin (B) { direction : input; } pin (S) { direction : input;
      internal_power () { when : "A ^ B"; power (scalar) { values ("8"); } } }
    pin (Y) { direction : output; function : "(A !S) + (B S)";
      internal_power () { related_pin : "A"; rise_power (scalar) { values ("1"); }
        fall_power (scalar) { values ("3"); } }
      internal_power () { related_pin : "B"; power (scalar) { values ("4"); } }
      internal_power () { related_pin : "S"; when : "A"; power (scalar) { values ("10"); } }
      internal_power () { related_pin : "S"; power (scalar) { values ("20"); } } } }
  cell (DFF) { cell_leakage_power : 1; ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; } } }
"""


@pytest.mark.parametrize(
    ("ties", "energies"),
    [
        # A changes Y in 4 of 8 states, B in 4, S in 4, in half of which A is 1.
        ({}, {"Y": (2 + 4 + (10 + 20) / 2) / 3, "S": 4.0, "A": 0.0, "B": 0.0}),
        # Now A changes Y whenever S is 0, and S whenever A is 0, B does so whenever S is 1.
        ({"B": 1}, {"Y": (2 + 20) / 2, "S": 4.0, "A": 0.0}),
        ({"S": 0}, {"Y": 2.0, "A": 0.0, "B": 0.0}),
        ({"A": 0, "B": 0}, {"Y": 0.0, "S": 0.0}),
    ],
)
def test_states_and_ties(ties, energies):
    energy = cell_energy(library_of(CONDITIONS).cells["MUX"], ties)
    assert {pin: mean.at(0.1) for pin, mean in energy.pins.items()} == pytest.approx(energies)


def test_a_falling_edge():
    text = SMALL_LIBRARY.replace('clocked_on : "C"', 'clocked_on : "!C"')
    energy = cell_energy(library_of(text).cells["DFF"], {})
    # The fall is the active edge, and D changes while the clock is high.
    assert energy.clock.at(0.1) == pytest.approx(0.008 + 0.010)
    assert energy.change.at(0.1) == pytest.approx(0.050 + 0.010)
    assert energy.pins["D"].at(0.1) == pytest.approx(0.001)


@needs_pdk
class TestRealCells:
    """Energies computed by hand from entries of the files."""

    def test_sg13g2(self):
        library = read_power_library(SG13G2)
        nand2 = cell_energy(library.cells["sg13g2_nand2_1"], {})
        entries = (0.00153747, 0.00217357, 0.00176814, 0.00384051)
        assert nand2.pins["Y"].at(0.0966, 0.001) == pytest.approx(sum(entries) / 4)
        register = cell_energy(library.cells["sg13g2_dfrbpq_1"], {"RESET_B": 1})
        passive = (0.0207545 + 0.0103653) / 2
        assert register.clock.at(0.0966) == pytest.approx((0.0106749 + 0.0104442) / 2 + passive)
        assert register.change.at(0.0966) == pytest.approx(passive)
        assert register.pins["D"].at(0.0966) == pytest.approx((0.011727 + 0.00867533) / 2)
        assert register.pins["Q"].at(0.0966, 0.001) == pytest.approx((0.0246342 + 0.0256334) / 2)
        assert "RESET_B" not in register.pins

    def test_sky130hd(self):
        library = read_power_library(SKY130)
        nand2 = cell_energy(library.cells["sky130_fd_sc_hd__nand2_1"], {})
        assert nand2.pins["A"].at(0.01) == pytest.approx((0.0047914 - 0.0038955) / 2)
        entries = (0.002193, 0.0037314, 0.0025427, 0.0069497)
        assert nand2.pins["Y"].at(0.01, 0.0005) == pytest.approx(sum(entries) / 4)
        register = cell_energy(library.cells["sky130_fd_sc_hd__dfxtp_1"], {})
        assert register.clock.at(0.01) == pytest.approx(0.0227158 + 0.0178184)
        assert register.change.at(0.01) == register.clock.at(0.01)
