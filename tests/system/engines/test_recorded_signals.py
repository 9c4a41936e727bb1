"""Verilog for waveforms of registers, ports and read data."""

from spica.sim.engine.recorded_signals import recording_states

MODULE = """module queue(clk, level, data);
  input clk;
  wire clk;
  output signed [11:0] level;
  reg signed [11:0] level = 12'h000;
  input [7:0] data;
  wire [7:0] data;
  wire signed [11:0] \\next.level ;
  wire [7:0] head;
  wire [7:0] tail;
  reg [7:0] storage [15:0];
  reg [7:0] last;
  assign head = storage[level];
  assign tail = last[level];
  assign \\next.level  = level + 12'h001;
  always @(posedge clk)
    level <= \\next.level ;
endmodule
"""


def test_only_wires_and_arrays_are_hidden():
    off, on = "/*verilator tracing_off*/", "/*verilator tracing_on*/"
    lines = recording_states(MODULE + MODULE).splitlines()
    hidden = [lines[k + 1] for k, line in enumerate(lines) if line == off]
    assert hidden == 2 * [
        "  wire signed [11:0] \\next.level ;",
        "  wire [7:0] tail;",
        "  reg [7:0] storage [15:0];",
    ]
    assert [lines[k + 2] for k, line in enumerate(lines) if line == off] == 6 * [on]
    assert [line for line in lines if line not in (off, on)] == 2 * MODULE.splitlines()
