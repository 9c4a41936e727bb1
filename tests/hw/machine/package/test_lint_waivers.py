"""Tests of lint waivers: they apply where they say, and nowhere else."""

from spica.hw.machine.package.lint_waivers import WAIVERS, LintWaiver, waiver_file
from support.verilog.verilator import verilator_complaints

DESIGN = """\
module first(input [7:0] a, output [3:0] y);
  assign y = a;
endmodule
module second(input [7:0] a, output [3:0] y);
  assign y = a;
endmodule
module pair(input [7:0] a, output [3:0] x, output [3:0] y);
  first one(.a(a), .y(x));
  second two(.a(a), .y(y));
endmodule
"""


OPTIONS = (
    *("-Wall", "--top-module", "pair"),
    *("-Wno-UNUSEDSIGNAL", "-Wno-DECLFILENAME"),
)


def warnings(tmp_path, text, name="pair"):
    """Return rule and line of each message of Verilator, given a text of waivers."""
    (tmp_path / f"{name}.v").write_text(DESIGN)
    (tmp_path / "pair.vlt").write_text(text)
    complaints = verilator_complaints(*OPTIONS, "pair.vlt", f"{name}.v", folder=tmp_path)
    lines = [line.split(":") for line in complaints.splitlines() if line.startswith("%Warning-")]
    return sorted((rule.removeprefix("%Warning-"), int(line)) for rule, _, line, *_ in lines)


WAIVER = LintWaiver(rule="WIDTHTRUNC", reason="Only the low bits count.")
BOTH = [("WIDTHTRUNC", 2), ("WIDTHTRUNC", 5)]


def test_a_waiver_applies_to_the_files_of_the_design(tmp_path):
    assert warnings(tmp_path, waiver_file("pair", ["pair.v"], [])) == BOTH
    text = waiver_file("pair", ["pair.v"], [WAIVER])
    assert warnings(tmp_path, text) == []
    assert warnings(tmp_path, text, name="other") == BOTH


def test_every_waiver_has_its_reason():
    text = waiver_file("pair", ["pair.v"])
    assert all(f"// {waiver.reason}\nlint_off -rule {waiver.rule} " in text for waiver in WAIVERS)
