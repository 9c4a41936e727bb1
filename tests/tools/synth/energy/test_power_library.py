"""Power data and Boolean expressions of Liberty files, and files that are refused."""

from itertools import product

import pytest

from spica.base.errors import UserError
from spica.synth.energy.boolean import evaluate, names_in, parse
from spica.synth.energy.liberty_groups import parse_groups
from spica.synth.energy.power_library import read_power_library
from support.pdk import SG13G2, SKY130, needs_pdk

HEAD = """
  nom_voltage : 1200; voltage_unit : "1mV"; time_unit : "10ps";
  capacitive_load_unit (10, ff); leakage_power_unit : "1pW";
  power_lut_template (over_both) {
    variable_1 : input_transition_time; variable_2 : total_output_net_capacitance;
    index_1 ("1, 3"); index_2 ("2, 4, 8");
  }
  power_lut_template (over_load) {
    variable_1 : total_output_net_capacitance; index_1 ("2, 4");
  }
  power_lut_template (load_first) {
    variable_1 : total_output_net_capacitance; variable_2 : input_transition_time;
    index_1 ("2, 4, 8"); index_2 ("1, 3");
  }
"""
INVERTER = """
  cell (INV) {
    area : 2;
    leakage_power () { value : 1500; when : "A"; }
    leakage_power () { value : 500; when : "!A"; }
    pin (A) { direction : input; capacitance : 0.2; }
    pin (Y) { direction : output; function : "!A";
      /* 1 mV2 times 10 fF are 1e-8 pJ. */
      internal_power () { related_pin : "A"; when : "A";
        rise_power (over_both) { values ("1e5, 2e5, 3e5", \\
          "3e5, 4e5, 5e5"); }
        fall_power (load_first) { values ("1e5, 3e5", "2e5, 4e5", "3e5, 5e5"); }
      }
      internal_power () { related_pin : "A"; rise_power (scalar) { values ("7e5"); }
        fall_power (over_load) { values ("1e5, 3e5"); } }
    }
  }
"""
FLIP_FLOP = """
  cell ("DFF") { area : 20; cell_leakage_power : 3000;
    ff ("IQ","IQN") { clocked_on : "C"; next_state : "D"; clear : "!R"; }
    pin ("C") { direction : "input"; clock : true; capacitance : 0.1; }
    pin ("D", "R") { direction : "input"; capacitance : 0.3;
      internal_power () { power (scalar) { values ("2e5"); } } }
    pin ("Q") { direction : "output"; function : "IQ"; } }
"""
LATCH = """
  cell (LATCH) { latch (IQ, IQN) { enable : "G"; data_in : "D"; }
    pin (Q) { direction : output; function : "IQ"; } }
"""


@pytest.fixture
def library(tmp_path):
    def read(*parts):
        path = tmp_path / "some.lib"
        path.write_text("library (some) {" + "".join(parts) + "}\n")
        return read_power_library(path)

    return read


def test_units_and_tables(library):
    read = library(HEAD, INVERTER, FLIP_FLOP, LATCH)
    assert (read.name, read.voltage) == ("some", pytest.approx(1.2))
    inverter, flip_flop = read.cells["INV"], read.cells["DFF"]
    assert inverter.leakage == pytest.approx(1.0)  # nW, the mean of both states
    assert flip_flop.leakage == pytest.approx(3.0)
    assert inverter.pins["A"].capacitance == pytest.approx(0.002)  # pF
    conditional, other = inverter.pins["Y"].power
    assert (conditional.related, conditional.when, other.when) == (("A",), parse("A"), None)
    for table in (conditional.rise, conditional.fall):  # equal tables, of exchanged axes
        assert table.slews == pytest.approx((0.01, 0.03))  # ns
        assert table.loads == pytest.approx((0.02, 0.04, 0.08))  # pF
        assert table.at(0.01, 0.02) == pytest.approx(1e-3)  # pJ
        assert table.at(0.02, 0.06) == pytest.approx(3.5e-3)
        assert table.at(0.0, 0.0) == pytest.approx(1e-3)
        assert table.at(9.0, 9.0) == pytest.approx(5e-3)
    assert other.rise.at(0.5, 0.5) == pytest.approx(7e-3)
    assert other.fall.at(0.5, 0.03) == pytest.approx(2e-3)


def test_cells(library):
    read = library(HEAD, INVERTER, FLIP_FLOP, LATCH)
    assert [cell.is_supported for cell in read.cells.values()] == [True, True, False]
    flip_flop = read.cells["DFF"].flip_flop
    assert flip_flop is not None
    assert (flip_flop.clock, flip_flop.is_falling) == ("C", False)
    assert flip_flop.next_state == parse("D")
    assert (flip_flop.clear, flip_flop.preset) == (parse("!R"), None)
    pins = read.cells["DFF"].pins
    assert list(pins) == ["C", "D", "R", "Q"]
    both = pins["R"].power[0]
    assert (both.rise, both.fall.at(0, 0)) == (both.fall, pytest.approx(2e-3))


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((INVERTER, FLIP_FLOP), "it has no nom_voltage"),
        ((HEAD, INVERTER), "it has no flip-flop"),
        ((HEAD, FLIP_FLOP.replace("internal_power", "other")), "it has no internal_power in 1"),
        ((HEAD, FLIP_FLOP.replace("leakage", "other")), "it has no leakage power in 1 cells"),
        ((HEAD, INVERTER.replace("!A", "A +")), "cell INV: a function must be a Boolean"),
        ((HEAD, INVERTER.replace("(over_both)", "(absent)")), "must be a table over input_tran"),
        ((HEAD, INVERTER.replace("2e5, 3e5", "2e5")), "must have 2 x 3 values, not 2 rows of 2, 3"),
        ((HEAD.replace("1mV", "1mW"), INVERTER), "its unit '1mW' is not a multiple of V"),
        ((HEAD, INVERTER, "}"), "a brace too many"),
        ((HEAD, INVERTER, "cell (A) {"), "a group without its end"),
        ((HEAD, INVERTER, "A = 3"), "line 31: no statement in Liberty format"),
        ((HEAD, "cell (A) { pin (Y) { timing () { { "), "line 15: a group without its end"),
    ],
)
def test_refused_libraries(library, parts, sentence):
    with pytest.raises(UserError, match="--liberty must name a library with power tables") as error:
        library(*parts)
    assert sentence in str(error.value)


def test_a_file_without_a_library(tmp_path):
    path = tmp_path / "some.lib"
    with pytest.raises(UserError, match="there is none at"):
        read_power_library(path)
    path.write_text("cell (A) { }")
    with pytest.raises(UserError, match=r"it holds no library \(...\)"):
        read_power_library(path)


def test_groups_keep_lines_and_lists():
    (group,) = parse_groups('a ("b", c) {\n x : "1 : {2}" ;; y : 3\n z (4, "5, 6");\n d () {} }')
    assert (group.kind, group.names) == ("a", ("b", "c"))
    assert group.attributes == {"x": "1 : {2}", "y": "3"}
    assert group.lists == {"z": ("4", "5, 6")}
    assert [child.kind for child in group.groups] == ["d"]


@needs_pdk
class TestRealLibraries:
    """Entries compared with values read by eye from the files."""

    def test_sg13g2(self):
        library = read_power_library(SG13G2)
        assert library.voltage == 1.2
        nand2 = library.cells["sg13g2_nand2_1"]
        assert nand2.leakage == pytest.approx(0.0812456)  # the file has 81.2456 pW
        assert nand2.pins["A"].capacitance == pytest.approx(0.00288593)
        by_a, by_b = nand2.pins["Y"].power
        assert (by_a.related, by_b.related) == (("A",), ("B",))
        assert by_a.rise.at(0.0966, 0.001) == pytest.approx(0.00153747)
        assert by_b.fall.at(0.0186, 0.0234) == pytest.approx(0.00434687)
        # Halfway between four entries.
        four = (0.00166701, 0.00211483, 0.00153747, 0.00187958)
        assert by_a.rise.at((0.0186 + 0.0966) / 2, 0.0122) == pytest.approx(sum(four) / 4)
        assert nand2.pins["Y"].function == parse("!(A*B)")
        flip_flop = library.cells["sg13g2_dfrbpq_1"]
        assert len(flip_flop.pins["CLK"].power) == 7
        assert flip_flop.pins["CLK"].power[0].rise.at(0.0966, 1.0) == pytest.approx(0.0106749)

    def test_sky130hd(self):
        library = read_power_library(SKY130)
        assert library.voltage == 1.8
        nand2 = library.cells["sky130_fd_sc_hd__nand2_1"]
        assert nand2.leakage == pytest.approx(0.00211796)  # nW
        assert nand2.pins["B"].capacitance == pytest.approx(0.002324)
        by_a = nand2.pins["Y"].power[0]
        assert by_a.fall.at(0.01, 0.0005) == pytest.approx(0.002193)
        # Its tables include half the energy of the load, positive on a rise and negative on a
        # fall. So the slope over the load is half the voltage squared if the unit is the pJ.
        loads = by_a.rise.loads
        for table, sign in ((by_a.rise, 1), (by_a.fall, -1)):
            rise = table.at(0.05, loads[-1]) - table.at(0.05, loads[0])
            assert rise / (loads[-1] - loads[0]) == pytest.approx(sign * 1.8**2 / 2, rel=0.02)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", lambda a, b, c: a),
        ("!A", lambda a, b, c: not a),
        ("A'", lambda a, b, c: not a),
        ("(A B)'", lambda a, b, c: not (a and b)),
        ("A*B+C", lambda a, b, c: (a and b) or c),
        ("A+B*C", lambda a, b, c: a or (b and c)),
        ("A | B & C", lambda a, b, c: a or (b and c)),
        ("A B C'", lambda a, b, c: a and b and not c),
        ("A^B*C", lambda a, b, c: (a ^ b) and c),
        ("A*B^C", lambda a, b, c: a and (b ^ c)),
        ("!(A^B)", lambda a, b, c: a == b),
        ("!A ^ B", lambda a, b, c: a == b),
        ("((A & !C) | (B&C))", lambda a, b, c: b if c else a),
        ("!!A''", lambda a, b, c: a),
        ("A * 1 + B * 0", lambda a, b, c: a),
    ],
)
def test_values(text, expected):
    expression = parse(text)
    states = list(product((0, 1), repeat=3))
    for a, b, c in states:
        assert evaluate(expression, {"A": a, "B": b, "C": c}) == bool(expected(a, b, c))
    # The same for all states at once, one bit each.
    bits = {
        name: sum(state[k] << n for n, state in enumerate(states)) for k, name in enumerate("ABC")
    }
    together = evaluate(expression, bits, (1 << len(states)) - 1)
    assert together == sum(bool(expected(*state)) << n for n, state in enumerate(states))


def test_names():
    assert list(names_in(parse("(A1 & !S0) | (A1 ^ B[3])"))) == ["A1", "S0", "A1", "B[3]"]


@pytest.mark.parametrize("text", ["", "A &", "& A", "(A", "A)", "A ? B", "!", "A ^", "'A", "2"])
def test_refused_texts(text):
    with pytest.raises(ValueError, match="must be a Boolean expression"):
        parse(text)
