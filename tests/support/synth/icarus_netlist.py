"""Simulation of a mapped netlist in Icarus Verilog, with the cell models that Yosys derives."""

import random
import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spica.synth.energy.mapped_netlist import MappedNetlist
from spica.synth.energy.program import Program
from spica.synth.yosys import run_yosys

__all__ = ["IcarusRun", "run_icarus"]

CELLS = "read_liberty -ignore_miss_func cells.lib\nwrite_verilog -noattr cells.v\n"
PERIOD = 10
BENCH = """
module bench;
  reg clock = 0;
  reg [{last}:0] inputs, stimulus [0:{cycles}-1];
  integer cycle;
  {wires}
  {cells}
  initial begin
    $readmemb("stimulus.txt", stimulus);
    $dumpfile("run.vcd");
    $dumpvars(1, bench);
    for (cycle = 0; cycle < {cycles}; cycle = cycle + 1) begin
      clock = 1;
      inputs <= stimulus[cycle];
      #5 clock = 0;
      #5;
    end
  end
endmodule
"""


@dataclass
class IcarusRun:
    """Values of each net in each cycle (rows are nets), and changes of each net by cycle."""

    values: NDArray[np.bool_]
    is_known: NDArray[np.bool_]
    changes: NDArray[np.int64]


def run_icarus(folder, netlist: MappedNetlist, program: Program, liberty: str, cycles, resets):
    """Run a netlist with random inputs, after `resets` cycles of reset; return `IcarusRun`.

    Outputs of memories and of other blocks are random inputs too.
    """
    clocks = {register.clock for register in netlist.flip_flops}
    reset = netlist.inputs.get("rst", (None,))[0]
    free = [net for net in program.driven if net not in clocks and net not in program.states]
    generator = random.Random(len(free))
    rows = []
    for cycle in range(cycles):
        bits = [str(generator.getrandbits(1)) for _ in free]
        if reset in free:
            bits[free.index(reset)] = str(int(cycle < resets or generator.random() < 0.02))
        rows.append("".join(reversed(bits)))
    (folder / "stimulus.txt").write_text("\n".join(rows) + "\n")
    wires = [f"wire n{net};" for net in range(2, netlist.nets)]
    wires += [f"assign n{net} = inputs[{k}];" for k, net in enumerate(free)]
    wires += [f"assign n{net} = clock;" for net in clocks]
    (folder / "bench.v").write_text(
        BENCH.format(
            last=len(free) - 1,
            cycles=cycles,
            wires="\n  ".join(wires),
            cells="\n  ".join(instances_of(netlist)),
        )
    )
    (folder / "cells.v").write_text(
        run_yosys(CELLS, {"cells.lib": liberty}, ["cells.v"])["cells.v"]
    )
    iverilog, vvp = (shutil.which(tool) or tool for tool in ("iverilog", "vvp"))
    command = [iverilog, "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.v", "cells.v"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    subprocess.run([vvp, "-n", "bench.vvp"], cwd=folder, check=True, capture_output=True)
    return read_changes((folder / "run.vcd").read_text(), netlist.nets, cycles)


def instances_of(netlist: MappedNetlist):
    """Yield the cells of a netlist in Verilog."""
    for k, instance in enumerate(netlist.cells):
        pins = (
            f".{pin}({f'n{net}' if net > 1 else f'1{chr(39)}b{net}'})"
            for pin, net in instance.nets.items()
        )
        yield f"\\{instance.cell.name} u{k} ({', '.join(pins)});"


def read_changes(text: str, nets: int, cycles: int) -> IcarusRun:
    """Return the contents of a VCD file."""
    run = IcarusRun(
        values=np.zeros((nets, cycles), bool),
        is_known=np.zeros((nets, cycles), bool),
        changes=np.zeros((nets, cycles), np.int64),
    )
    head, _, body = text.partition("$enddefinitions $end")
    names = {}
    for line in head.splitlines():
        words = line.split()
        if words[:3] == ["$var", "wire", "1"] and words[4][0] == "n":
            names[words[3]] = int(words[4][1:])
    time, last = 0, {}
    for line in body.splitlines():
        if line.startswith("#"):
            time = int(line[1:])
        elif line[:1] in "01xz" and line[1:] in names and time < cycles * PERIOD:
            net, cycle = names[line[1:]], time // PERIOD
            # A glitch without a delay is a record of the value that the net had before.
            run.changes[net, cycle] += line[0] != last.get(net)
            last[net] = line[0]
            run.values[net, cycle:] = line[0] == "1"
            run.is_known[net, cycle:] = line[0] in "01"
    return run
