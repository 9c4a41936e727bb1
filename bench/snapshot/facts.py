"""Facts of a snapshot: everything that two equal trees share, by group and name of the quantity."""

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from spica.hw.config import MachineConfig
from spica.hw.emit.emission import Emission
from spica.hw.machine.artifacts import c_header, description
from spica.sim.machine.saving import data_digest
from spica.sim.machine.snapshot import plain, program_digest
from spica.sim.run.program_workload import KernelWorkload
from spica.sim.run.workload import Workload
from spica.synth.memories import MemoryShape

__all__ = ["GROUPS", "Facts", "Value", "area_facts", "config_facts", "run_facts", "verilog_facts"]

Value = int | float | str
#: Facts of a case: values of quantities, by group and name.
Facts = dict[str, dict[str, Value]]

#: Groups of facts with their meanings, in the order of a comparison.
GROUPS = {
    "cases": "cases that only one of the snapshots has",
    "outcomes": "pass, fail, refused, stopped or error",
    "reasons": "sentence of a refusal, a failed check, a fault, a hang or an error",
    "values": "SHA-256 of every buffer after the run, verdict and errors of its check, console",
    "inputs": "compiled program, initial data, options and memory of a run",
    "config": "fields of the preset",
    "interfaces": "ports of the Verilog, memory map, registers, C header",
    "verilog": "text and modules of the Verilog",
    "cycles": "cycles of the region, of the whole run and of each core",
    "counters": "counters, instructions, issue slots, latencies, traffic, prediction",
    "area": "cells, NAND2 equivalents, flip-flops and SRAM by group, memory and block",
    "depth": "gates on the longest path by group and block",
}

#: Sections of a result that are no facts: measured time, versions, and the description of the case.
NO_FACTS = frozenset((
    *("schema", "schema_version", "status", "versions", "speed", "failure"),
    *("preset", "config", "kernel", "program", "sizes", "engine", "driver", "seed"),
))
#: Sections of a result by group; all others are counters.
SECTIONS = {
    **dict.fromkeys(("check", "console", "notes"), "values"),
    **dict.fromkeys(("options", "memory.model", "memory.parameters"), "inputs"),
    **dict.fromkeys(("cycles", "run_cycles", "flush_cycles", "region"), "cycles"),
}
#: Sections of the description of a cluster that are in the groups `config` and `verilog`.
NOT_INTERFACES = ("generator", "name", "config", "modules")
#: Digits of a sum of areas that do not depend on the order of its terms.
DIGITS = 12


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, Value]]:
    """Yield dotted name and value of every number and text of a value for JSON, except None."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(part, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for place, part in enumerate(value):
            yield from leaves(part, f"{name}.{place}")
    elif isinstance(value, float) and not math.isfinite(value):
        yield name, str(value)
    elif value is not None:
        yield name, value


def sha256(data: bytes | str) -> str:
    """Return the SHA-256 of bytes or of a text, in hexadecimal."""
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def group_of(name: str) -> str:
    """Return the group of a quantity of a result."""
    if name.startswith("cores.") and ".region." in name:
        return "cycles"
    parts = name.split(".")
    return SECTIONS.get(parts[0]) or SECTIONS.get(".".join(parts[:2]), "counters")


def run_facts(
    workload: Workload, result: Mapping[str, Any], buffers: Mapping[str, np.ndarray]
) -> Facts:
    """Return the facts of a finished run.

    Parameters
    ----------
    workload : Workload
        Workload that was run.
    result : mapping
        Its result.
    buffers : mapping of str to ndarray
        Contents of each buffer after the run.

    """
    facts: Facts = {group: {} for group in ("values", "inputs", "cycles", "counters")}
    for name, buffer in buffers.items():
        facts["values"][f"{name} SHA-256"] = sha256(np.ascontiguousarray(buffer).tobytes())
        facts["values"][f"{name} bytes"] = buffer.nbytes
    if isinstance(workload, KernelWorkload):
        facts["inputs"]["program"] = program_digest(workload.program)
        facts["inputs"]["data"] = data_digest(workload.data)
    sections = {name: section for name, section in result.items() if name not in NO_FACTS}
    for name, value in leaves(sections):
        facts[group_of(name)][name] = value
    return facts


def config_facts(config: MachineConfig) -> Facts:
    """Return every field of a preset by its dotted name; fields without a value are left out."""
    return {"config": dict(leaves(plain(config.resolved)))}


def verilog_facts(emission: Emission) -> Facts:
    """Return ports, addresses and texts of an emitted cluster."""
    summary = description(emission)
    ports = {port["name"]: f"{port['direction']} {port['width']}" for port in summary.pop("ports")}
    sections = {name: part for name, part in summary.items() if name not in NOT_INTERFACES}
    modules = {module.name: module.instances for module in emission.modules}
    return {
        "interfaces": dict(leaves(plain(sections)))
        | {f"ports.{name}": port for name, port in ports.items()}
        | {"ports SHA-256": sha256(repr(ports)), "ports": len(ports)}
        | {"C header SHA-256": sha256(c_header(emission))},
        "verilog": {
            "SHA-256": sha256(emission.verilog),
            "bytes": len(emission.verilog.encode()),
            "modules": len(modules),
            "instances": sum(modules.values()),
        }
        | {f"instances.{name}": count for name, count in modules.items()},
    }


def area_facts(report: Mapping[str, Any]) -> Facts:
    """Return areas and depths of a cluster, from `synth.area.area_report`."""
    whole = {name: part for name, part in report.items() if name not in ("rules", "name")}
    for section in ("groups", "blocks"):
        whole[section] = {row["name"]: without(row, "name") for row in report[section]}
    shape = [field.name for field in dataclasses.fields(MemoryShape)]
    whole["memories"] = {
        " ".join(f"{name} {memory[name]}" for name in shape): without(memory, *shape)
        for memory in report["memories"]
    }
    facts: Facts = {"area": {}, "depth": {}}
    for name, value in leaves(whole):
        facts["depth" if name.endswith("depth") else "area"][name] = rounded(value)
    return facts


def without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a row without some of its columns."""
    return {name: value for name, value in row.items() if name not in names}


def rounded(value: Value) -> Value:
    """Return a value with the digits that do not depend on the order of sums."""
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
