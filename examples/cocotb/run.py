"""Generates a cluster and runs the cocotb bench of this folder on it in Icarus Verilog.

    python examples/cocotb/run.py [--preset tiny_matrix] [--size 16x16x24]
                                  [--output build/examples/cocotb]

Needs the extra `examples` of Spica, and Icarus Verilog (`apt-get install iverilog`).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

HERE = Path(__file__).resolve().parent
#: Exit code without a tool that pip does not have.
MISSING = 77


def one_clock(description):
    """Return a module `bench` around the cluster, with one clock for all its domains."""
    ports, connections = ["input clk", "input rst"], []
    for port in description["ports"]:
        name, last = port["name"], port["name"].rpartition("_")[2]
        if last not in ("clk", "rst"):
            ports.append(f"{port['direction']} [{port['width'] - 1}:0] {name}")
        connections.append(f".{name}({last if last in ('clk', 'rst') else name})")
    lines = [f"module bench({', '.join(ports)});"]
    lines.append(f"  {description['name']} cluster({', '.join(connections)});")
    return "\n".join([*lines, "endmodule", ""])


def simulate(folder, preset):
    """Compile the cluster and run the bench; return the numbers of tests and of failures."""
    (folder / "bench.v").write_text(one_clock(json.loads((folder / f"{preset}.json").read_text())))
    os.environ["PYTHONWARNINGS"] = "ignore::DeprecationWarning"  # of cocotbext-axi
    os.environ |= {"SPICA_GENERATED": str(folder), "SPICA_PRESET": preset}
    sys.path.insert(0, str(HERE))  # the simulator finds the bench there
    runner = get_runner("icarus")
    runner.build(
        sources=[folder / "bench.v", folder / f"{preset}.v"],
        hdl_toplevel="bench",
        build_dir=folder / "icarus",
        build_args=["-g2012"],
        timescale=("1ns", "1ps"),
        always=True,
    )
    results = runner.test(
        hdl_toplevel="bench", test_module="bench", build_dir=folder / "icarus", test_dir=folder
    )
    return get_results(Path(results))


def main():
    """Generate, compile, simulate."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--preset", default="tiny_matrix", help="a preset without cores")
    parser.add_argument("--size", default="16x16x24", help="M, N and K of the product")
    parser.add_argument("--output", type=Path, default=Path("build/examples/cocotb"))
    options = parser.parse_args()
    if shutil.which("iverilog") is None:
        print("SKIPPED: Icarus Verilog is missing: apt-get install iverilog")
        sys.exit(MISSING)
    folder = options.output.resolve()
    generate = ("generate", options.preset, "-o", str(folder), "--commands", f"gemm:{options.size}")
    if code := subprocess.run([sys.executable, "-m", "spica.cli", *generate]).returncode:
        sys.exit(code)
    tests, failures = simulate(folder, options.preset)
    print(f"{'FAIL' if failures else 'PASS'}: {tests - failures} of {tests} tests")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
