"""Reading of Verilog by slang, a front end that is independent of Verilator and Yosys."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SlangDesign", "SlangPort", "read_by_slang"]

#: The package reports its leaks when a process that imported it ends, so it has one of its own.
PROGRAM = """\
import json, sys
from pyslang import driver

run = driver.Driver()
run.addStandardArgs()
assert run.parseCommandLine(" ".join(["slang", *sys.argv[1:]]))
assert run.processOptions() and run.parseAllSources()
compilation = run.createCompilation()
run.reportCompilation(compilation, True)
(top,) = compilation.getRoot().topInstances
directions = {"ArgumentDirection.In": "input", "ArgumentDirection.Out": "output"}
ports = [
    (port.name, directions[str(port.direction)], port.type.bitWidth)
    for port in top.body.portList
]
counts = run.diagEngine.numErrors, run.diagEngine.numWarnings
print(json.dumps({"top": top.name, "messages": sum(counts), "ports": ports}))
"""


@dataclass(frozen=True)
class SlangPort:
    """One port of a top level: name, ``input`` or ``output``, width in bits."""

    name: str
    direction: str
    width: int


@dataclass(frozen=True)
class SlangDesign:
    """An elaborated design: its only top level, its errors and warnings, its ports by name."""

    top: str
    messages: int
    ports: dict[str, SlangPort]


def read_by_slang(*options: str, folder: Path) -> SlangDesign:
    """Return the design of a command line of slang, such as ``-f design.f``, in a folder."""
    command = [sys.executable, "-c", PROGRAM, *options]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    report = json.loads(run.stdout.splitlines()[-1])
    ports = [SlangPort(*port) for port in report["ports"]]
    return SlangDesign(report["top"], report["messages"], {port.name: port for port in ports})
