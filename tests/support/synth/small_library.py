"""Small cell library with power tables of round numbers, for tests without a real one."""

__all__ = ["SMALL_LIBRARY"]

#: Inputs of each gate, function, and energy per transition of its output in pJ.
GATES = {
    "INV": ("A", "!A", 0.001),
    "BUF": ("A", "A", 0.002),
    "NAND2": ("AB", "!(A & B)", 0.002),
    "NOR2": ("AB", "!(A | B)", 0.002),
    "AND2": ("AB", "A B", 0.003),
    "XOR2": ("AB", "A ^ B", 0.005),
    "AOI21": ("ABC", "!((A * B) + C)", 0.003),
    "MUX2": ("ABS", "(A * S') + (B * S)", 0.004),
}
HEAD = """library (small) {
  nom_voltage : 1.0; voltage_unit : "1V"; time_unit : "1ns"; leakage_power_unit : "1nW";
  capacitive_load_unit (1, pf);
"""
FLIP_FLOP = """
  cell (DFF) { area : 20; cell_leakage_power : 4;
    ff (IQ, IQN) { clocked_on : "C"; next_state : "D"; }
    pin (C) { direction : input; clock : true; capacitance : 0.002;
      internal_power () { when : "(D & Q) | (!D & !Q)";
        rise_power (scalar) { values ("0.010"); } fall_power (scalar) { values ("0.008"); } }
      internal_power () {
        rise_power (scalar) { values ("0"); } fall_power (scalar) { values ("0.050"); } } }
    pin (D) { direction : input; capacitance : 0.004;
      internal_power () { when : "!C";
        rise_power (scalar) { values ("0.007"); } fall_power (scalar) { values ("0.005"); } }
      internal_power () { when : "C"; power (scalar) { values ("0.001"); } } }
    pin (Q) { direction : output; function : "IQ";
      internal_power () { related_pin : "C";
        rise_power (scalar) { values ("0.030"); } fall_power (scalar) { values ("0.020"); } } } }
"""


def gate(name: str, inputs: str, function: str, energy: float) -> str:
    """Return a gate of the library; each input has 0.004 pF, and 1 nW leaks for each."""
    pins = "".join(
        f"\n    pin ({pin}) {{ direction : input; capacitance : 0.004; }}" for pin in inputs
    )
    powers = "".join(
        f'\n      internal_power () {{ related_pin : "{pin}";'
        f' power (scalar) {{ values ("{energy}"); }} }}'
        for pin in inputs
    )
    return (
        f"\n  cell ({name}) {{ area : {len(inputs) + 1}; cell_leakage_power : {len(inputs)};{pins}"
        f'\n    pin (Y) {{ direction : output; function : "{function}";{powers} }} }}'
    )


SMALL_LIBRARY = HEAD + "".join(gate(name, *gate_) for name, gate_ in GATES.items()) + FLIP_FLOP
SMALL_LIBRARY += "}\n"
