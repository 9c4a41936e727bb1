"""Tests of lint waivers: they apply where they say, and nowhere else."""

import pytest

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


def waiver(**places):
    return LintWaiver(rule="WIDTHTRUNC", reason="Only the low bits count.", **places)


BOTH = [("WIDTHTRUNC", 2), ("WIDTHTRUNC", 5)]


@pytest.mark.parametrize(
    ("waivers", "left"),
    [
        ([], BOTH),
        ([waiver()], []),
        ([waiver(module="first")], BOTH[1:]),
        ([waiver(module="second")], BOTH[:1]),
        ([waiver(module="first"), waiver(module="second")], []),
        ([waiver(match="Operator ASSIGNW*")], []),
        ([waiver(match="Operator ADD*")], BOTH),
    ],
    ids=["none", "all", "first", "second", "both", "match", "other match"],
)
def test_a_waiver_applies_to_its_place(tmp_path, waivers, left):
    assert warnings(tmp_path, waiver_file("pair", {"pair.v": DESIGN}, waivers)) == left


def test_other_files_keep_their_warnings(tmp_path):
    text = waiver_file("pair", {"pair.v": DESIGN}, [waiver()])
    assert warnings(tmp_path, text, name="other") == BOTH


def test_every_waiver_has_its_reason():
    text = waiver_file("pair", {"pair.v": DESIGN})
    assert all(f"// {waiver.reason}\nlint_off -rule {waiver.rule} " in text for waiver in WAIVERS)


def test_a_waiver_of_an_unknown_module_is_refused():
    with pytest.raises(ValueError, match="must name a module of the design, not 'third'"):
        waiver_file("pair", {"pair.v": DESIGN}, [waiver(module="third")])


def test_a_waiver_has_one_kind_of_place():
    with pytest.raises(ValueError, match="must have a module or a wildcard, not both"):
        waiver(module="first", match="Operator*")
