"""Runs the driver and the product of this folder against the RTL of a cluster.

    python examples/bare_metal/run.py [--size 32x24x40] [--output build/examples/bare_metal]

The C is compiled twice: for RV32IM, as a bare-metal program would link it, and as a library of this
computer. The library runs here. Each register that it reads or writes is an access of the
simulated host to the AXI4-Lite slave, cycle by cycle.
"""

import argparse
import ctypes
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from spica.api.progress import ProgressDisplay
from spica.base.zig import zig_environment
from spica.hw.presets import PRESETS
from spica.kernels.commands import CommandList
from spica.sim.machine.command_machine import CommandMachine

HERE = Path(__file__).resolve().parent
PRESET = "tiny_matrix"
SOURCES = (HERE / "gemm.c", HERE / "spica_driver.c")
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2")
RISCV = ("-target", "riscv32-freestanding-none", "-mcpu=generic_rv32+m", "-mabi=ilp32")
Read = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_uint32)
Write = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32)


def run(*command):
    """Run a command; end with its exit code if it fails."""
    done = subprocess.run([str(part) for part in command], env=zig_environment())
    if done.returncode:
        sys.exit(done.returncode)


def compiled(folder):
    """Compile for RV32IM, for the record, and for this computer; return the library."""
    compiler = (sys.executable, "-m", "ziglang", "cc", *STRICT, f"-I{folder}")
    run(*compiler, *RISCV, "-ffreestanding", "-r", *SOURCES, "-o", folder / "gemm_riscv32.o")
    library = folder / "gemm_host.so"
    run(*compiler, "-shared", "-fPIC", HERE / "host.c", *SOURCES, "-o", library)
    return ctypes.CDLL(str(library))


class Slave:
    """AXI4-Lite slave of a simulated cluster: one access at a time, then it runs until idle."""

    def __init__(self, machine):
        self.machine, self.accesses, self.cycles = machine, 0, 0

    def execute(self, commands):
        """Execute commands of the host; return the values read."""
        execution = self.machine.execute(commands.array())
        self.accesses, self.cycles = self.accesses + 1, self.cycles + execution.cycles
        return execution.reads

    def read(self, address):
        """Return a register."""
        commands = CommandList()
        commands.read(address)
        return int(self.execute(commands)[0])

    def write(self, address, data):
        """Write a register."""
        commands = CommandList()
        commands.write(address, data)
        self.execute(commands)


def product(library, matrices, machine):
    """Multiply with the driver on the machine; return A, B, C and the number of wrong elements."""
    shapes = {name: (layout["rows"], layout["pitch"]) for name, layout in matrices.items()}
    a, b, c = (np.zeros(shapes[name], np.float16) for name in "abc")
    library.gemm_fill(a.ctypes, b.ctypes)
    for name, matrix in zip("ab", (a, b), strict=True):
        machine.write(matrices[name]["address"], matrix)
    slave, clock = Slave(machine), (ctypes.c_uint32 * 2)()
    read, write = Read(slave.read), Write(slave.write)
    library.platform_connect(read, write)
    if status := library.gemm_run(clock):
        sys.exit(f"FAIL: status {status} of enum spica_status")
    c[:] = machine.read(matrices["c"]["address"], c.nbytes).view(np.float16).reshape(c.shape)
    print(f"{slave.accesses} accesses of registers in {slave.cycles:,} cycles")
    return a, b, c, library.gemm_wrong(c.ctypes)


def main():
    """Generate, compile, run, check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", default="32x24x40", help="M, N and K of the product")
    parser.add_argument("--output", type=Path, default=Path("build/examples/bare_metal"))
    options = parser.parse_args()
    folder = options.output.resolve()
    generate = ("generate", PRESET, "-o", folder, "--commands", f"gemm:{options.size}")
    run(sys.executable, "-m", "spica.cli", *generate)
    matrices = json.loads((folder / f"{PRESET}_gemm.json").read_text())["matrices"]
    library = compiled(folder)
    with (
        ProgressDisplay() as progress,
        CommandMachine(PRESETS[PRESET], name=PRESET, progress=progress) as machine,
    ):
        a, b, c, wrong = product(library, matrices, machine)
    agrees = np.array_equal(c, (a.astype(np.float64) @ b).astype(np.float16))
    print("PASS" if agrees and not wrong else "FAIL", end=": ")
    print(f"C finds {wrong} wrong elements, NumPy {'none' if agrees else 'some'}")
    sys.exit(not agrees or wrong > 0)


if __name__ == "__main__":
    main()
