"""Simulation of a flat machine in Icarus Verilog, against the recorded ports of its RTL."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from spica.explore.energy.gates import places_in, scope_of
from spica.hw.emit.emission import Emission
from spica.sim.engine.verilator_engine import RESET_CYCLES
from spica.synth.energy.mapped_netlist import Instance, MappedNetlist
from spica.synth.energy.program import state_nets
from spica.synth.energy.recorded_nets import RecordedNets
from spica.synth.energy.recorded_signals import Recorded
from spica.synth.energy.waveform import WaveformFile, read_waveforms
from spica.synth.yosys import run_yosys
from support.energy.flat_machine import FlatMachine
from support.energy.flat_verilog import bench_of
from support.synth.icarus_netlist import CELLS

__all__ = ["FlatRun", "simulate_flat"]


#: Port of an AXI channel, up to the name of the channel.
CHANNEL = re.compile(r"(\w*_axil?\d*_(?:aw|ar|w|r|b))[a-z]+")


@dataclass(kw_only=True)
class FlatRun:
    """Activity of a flat machine from the first cycle after reset.

    Parameters
    ----------
    toggles : array of uint64
        Toggles of each net.
    edges : dict of int to int
        Clock edges by the net of the clock.
    accesses : list of (int, int)
        Reads and writes of each memory.
    cycles : int
        Cycles.
    differing : list of str
        Cycles and bits of outputs that differ from the recorded ones.
    undefined : int
        States that reset left undefined.

    """

    toggles: NDArray[np.uint64]
    cycles: int
    edges: dict[int, int] = field(default_factory=dict)
    accesses: list[tuple[int, int]] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    undefined: int = 0


def simulate_flat(
    machine: FlatMachine,
    netlists: Mapping[str, MappedNetlist],
    blocks: Mapping[str, str],
    waveform: Path,
    cycles: int,
    liberty: str,
    folder: Path,
    emission: Emission,
) -> FlatRun:
    """Simulate a machine from reset with recorded inputs; return its activity.

    Parameters
    ----------
    machine : FlatMachine
        The machine.
    netlists : mapping of str to MappedNetlist
        Netlist of each block.
    blocks : mapping of str to str
        Block by the path of each instance; the top is the first.
    waveform : Path
        Waveform of a run of the RTL, a model in one piece, from its first cycle.
    cycles : int
        Cycles of the run.
    liberty : str
        Text of the cell library.
    folder : Path
        Folder for files of the simulator.
    emission : Emission
        Of the model, with the places of signals in its waveforms.

    """
    netlist = machine.netlist
    top = next(iter(blocks))
    clocks = clock_enables(netlist)
    with waveform.open() as lines:
        names = {*netlist.inputs, *netlist.outputs}
        file = WaveformFile(place=top, lines=lines)
        to_record = {top: Recorded(names=names, clock=None)}
        ports = read_waveforms([file], range(cycles), to_record)[top].signals
    rows = rows_of(netlist, set(clocks), ports)
    states, captured = states_after_reset(machine, netlists, blocks, top, waveform, emission)
    text = bench_of(netlist, clocks, states, captured, len(rows), RESET_CYCLES)
    (folder / "rows.txt").write_text("\n".join(rows) + "\n")
    (folder / "bench.v").write_text(text)
    cells = run_yosys(CELLS, {"cells.lib": liberty}, ["cells.v"])["cells.v"]
    (folder / "cells.v").write_text(cells)
    iverilog, vvp = (shutil.which(tool) or tool for tool in ("iverilog", "vvp"))
    command = [iverilog, "-g2012", "-s", "bench", "-o", "bench.vvp", "bench.v", "cells.v"]
    subprocess.run(command, cwd=folder, check=True)
    shown = subprocess.run(
        [vvp, "-n", "bench.vvp"], cwd=folder, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    with (folder / "run.vcd").open() as lines:
        toggles = toggles_of(lines, netlist.nets)
    toggles[list(clocks)] = 0
    run = FlatRun(toggles=toggles, cycles=len(rows) - RESET_CYCLES)
    read_report(run, shown, netlist, list(clocks), ports)
    return run


def clock_enables(netlist: MappedNetlist) -> dict[int, int | None]:
    """Return the clocks of a machine, and the output that enables each, if any."""
    enables = {}
    for name, nets in netlist.inputs.items():
        if name == "clk" or name.endswith("_clk"):
            busy = netlist.outputs.get(name.removesuffix("clk") + "busy", (None,))
            enables[nets[0]] = busy[0]
    assert netlist.clocks <= set(enables)
    return enables


def rows_of(
    netlist: MappedNetlist, clocks: set[int], ports: Mapping[str, NDArray[np.bool_]]
) -> list[str]:
    """Return the stimulus: expected outputs and inputs of each cycle, in reset and after it."""
    inputs = [
        (name, k)
        for name, nets in netlist.inputs.items()
        for k, net in enumerate(nets)
        if net not in clocks
    ]
    outputs = [(name, k) for name, nets in netlist.outputs.items() for k in range(len(nets))]
    bits = np.array([ports[name][k] for name, k in (*inputs, *outputs)], np.uint8).T + ord("0")
    rows = [row[::-1].tobytes().decode() for row in np.ascontiguousarray(bits)]
    resets = "".join(str(int(name == "rst" or name.endswith("_rst"))) for name, _ in inputs)
    return ["0" * len(outputs) + resets[::-1]] * RESET_CYCLES + rows


def states_after_reset(
    machine: FlatMachine,
    netlists: Mapping[str, MappedNetlist],
    blocks: Mapping[str, str],
    top: str,
    waveform: Path,
    emission: Emission,
) -> tuple[list[bool], list[str]]:
    """Return states of flip-flops and read data of memories in the first recorded cycle."""
    assert emission.split is not None
    modules = {name: module.places for name, module in emission.split.modules.items()}
    modules[top] = emission.places
    to_record = {}
    for path, block in blocks.items():
        netlist = netlists[block]
        parts = {f"{part.name}.{port}" for part in netlist.opaque for port in part.outputs}
        module, _, inner = block.partition(".")
        places = places_in(modules[module], inner)
        to_record[scope_of(path)] = Recorded(
            names={*netlist.names, *parts}, clock=None, places=places
        )
    with waveform.open() as lines:
        first_cycle = takewhile(lambda line: line.rstrip() != "#1", lines)
        waveforms = read_waveforms(
            [WaveformFile(place=top, lines=first_cycle)], range(1), to_record
        )
    recorded = {
        path: RecordedNets.of(netlists[block], waveforms[scope_of(path)].signals)
        for path, block in blocks.items()
        if waveforms[scope_of(path)].signals
    }
    first = np.zeros(1, np.int64)

    def at_first(path: str, net: int) -> bool:
        return bool(recorded[path].values([net], first)[0, 0])

    states = [at_first(path, net) ^ inverted for path, net, inverted in states_of(machine.origins)]
    captured = []
    for path, memory in machine.memory_origins:
        assert memory.shape is not None
        nets = () if memory.shape.ports.endswith("async") else memory.outputs["RD_DATA"]
        captured.append("".join(str(int(at_first(path, net))) for net in reversed(nets)))
    return states, captured


def states_of(origins: tuple[tuple[str, Instance], ...]) -> Iterator[tuple[str, int, bool]]:
    """Yield path and net of each flip-flop's state, and whether the net holds its inversion."""
    for path, register in origins:
        net, _ = state_nets(register)
        pin = next(pin for pin, own in register.nets.items() if own == net)
        function = register.cell.pins[pin].function
        assert register.cell.flip_flop is not None
        yield path, net, getattr(function, "name", None) == register.cell.flip_flop.inverted


def toggles_of(lines: Iterator[str], nets: int) -> NDArray[np.uint64]:
    """Return the toggles of nets in a waveform; raise `ValueError` for an undefined value."""
    names, last = {}, {}
    for line in lines:
        words = line.split()
        if words[:1] == ["$enddefinitions"]:
            break
        if words[:1] == ["$var"] and re.fullmatch(r"n\d+", words[4]):
            names[words[3]] = int(words[4][1:])
    toggles = np.zeros(nets, np.uint64)
    counts = dict.fromkeys(names, 0)
    for line in lines:
        code = line[1:-1]
        if code not in counts or line[0] not in "01xz":
            continue
        if line[0] in "xz":
            raise ValueError(f"n{names[code]} must be defined")
        # A glitch without a delay is a record of the value that the net had before.
        counts[code] += last.setdefault(code, line[0]) != line[0]
        last[code] = line[0]
    for code, count in counts.items():
        toggles[names[code]] = count
    return toggles


def read_report(
    run: FlatRun,
    shown: str,
    netlist: MappedNetlist,
    clocks: list[int],
    ports: Mapping[str, NDArray[np.bool_]],
):
    """Read the counters and differences that the bench printed.

    The payload of an AXI channel may differ while its `valid` is 0: it may be a word of a memory
    that was never written.
    """
    outputs = [(name, k) for name, nets in netlist.outputs.items() for k in range(len(nets))]
    edges = []
    for line in shown.splitlines():
        kind, *values = line.split()
        match kind:
            case "differs":
                cycle = int(values[0])
                for (name, k), bit in zip(outputs, reversed(values[1]), strict=True):
                    if bit != "0" and matters(name, ports, cycle):
                        run.differing.append(f"cycle {cycle}: {name}[{k}]")
            case "edges":
                edges.append(int(values[0]))
            case "accesses":
                run.accesses.append((int(values[0]), int(values[1])))
            case "undefined":
                run.undefined = int(values[0])
    run.edges = dict(zip(clocks, edges, strict=True))


def matters(name: str, ports: Mapping[str, NDArray[np.bool_]], cycle: int) -> bool:
    """Return whether an output is compared in a cycle; `valid` and `ready` always are."""
    channel = CHANNEL.fullmatch(name)
    valid = None if channel is None else ports.get(f"{channel[1]}valid")
    return valid is None or name.endswith(("valid", "ready")) or bool(valid[0, cycle])
