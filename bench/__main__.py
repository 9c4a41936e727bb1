"""Benchmarks of Spica: ``python -m bench [names] [--quick]``, from the repository's root.

Each benchmark writes ``bench/results/<name>.json`` and prints its tables.
Exit code 1 if a target is missed. Targets in seconds may also fail on a slow or busy machine.
"""

import argparse
import importlib
import json
import os
import platform
import sys
import time
from pathlib import Path

from spica.api.progress import ProgressDisplay
from spica.cli.options import standard_output

from .target import target_table, targets_of

#: The longest benchmarks are last.
NAMES = (
    "area",
    "iss",
    "warp_operations",
    "fpga",
    "builds",
    "arithmetic",
    "analytic",
    "runs",
)
RESULTS = Path(__file__).parent / "results"


def machine() -> dict:
    """Return the properties of the host that times depend on."""
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "platform": platform.platform(),
    }


def processor() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def run(name: str, quick: bool, folder: Path) -> dict:
    """Run one benchmark and return its result; its file is updated after each part."""
    module = importlib.import_module(f".{name}", __package__)
    place = folder / f"{name}.json"
    head = {"benchmark": name, "quick": quick, "machine": machine()}
    result: dict = {}
    started = time.perf_counter()
    with ProgressDisplay() as progress:
        for part in module.measure(quick, progress):
            result = head | part | {"seconds": round(time.perf_counter() - started, 1)}
            place.write_text(json.dumps(result, indent=2) + "\n")
    out = standard_output()
    for table in module.tables(result):
        out.print(table)
        out.print()
    if targets := targets_of(result):
        out.print(target_table(targets))
    out.print(f"{result['seconds']:,} s, load {head['machine']['load']}; {place}\n")
    return result


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(NAMES)}; or all")
    parser.add_argument("--quick", action="store_true", help="run a smaller variant")
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in NAMES]:
        parser.error(f"name must be one of {', '.join(NAMES)}, not {', '.join(unknown)}")
    arguments.results.mkdir(parents=True, exist_ok=True)
    missed = []
    for name in arguments.names or NAMES:
        result = run(name, arguments.quick, arguments.results)
        missed += [target.name for target in targets_of(result) if not target.met]
    for name in missed:
        print(f"missed: {name}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
