"""Tests of the generated test bench: it passes on the design, and fails on a wrong one."""

import pytest

from support.need_tools import need_icarus
from support.verilog.readers import run_icarus
from support.verilog.verilator import verilator_complaints

NAME = "tiny_matrix"
BENCH = f"{NAME}_tb"


def simulated(folder, *, change=("", "")):
    """Return the output of the bench, in which a text is replaced by another."""
    need_icarus()
    files = {file: (folder / file).read_text() for file in (f"{NAME}.v", f"{BENCH}.v")}
    assert change[0] in files[f"{BENCH}.v"]
    files[f"{BENCH}.v"] = files[f"{BENCH}.v"].replace(*change)
    return run_icarus(files, BENCH)


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (("32'h53504943", "32'h53504944"), "FAIL: identity is wrong"),
        (("CYCLES = 16'h0010", "CYCLES = 16'h0004"), "FAIL: cycles are not counted"),
        (("CYCLES = 16'h0010", "CYCLES = 16'h0ff0"), "FAIL: an access was refused"),
        (("rst = 1'b0", "rst = 1'b1"), "FAIL: no response"),
    ],
    ids=["identity", "cycles", "address", "reset"],
)
def test_bench_fails_on_a_fault(generated, change, verdict):
    first = simulated(generated(NAME), change=change).splitlines()[0]
    assert first == verdict


@pytest.mark.full
def test_bench_passes(generated):
    passed = f"PASS: {NAME} has identity 53504943 and counts cycles"
    assert simulated(generated(NAME), change=("PASS", "PASS")).splitlines() == [passed]


@pytest.mark.full
def test_verilator_accepts_the_bench(generated):
    files = (f"{NAME}.vlt", "-f", f"{NAME}.f", f"{BENCH}.v")
    options = ("--timing", "--top-module", BENCH, *files)
    assert verilator_complaints(*options, folder=generated(NAME)) == ""
