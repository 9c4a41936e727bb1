"""Snapshot of the cycles, values, counters and areas of all presets and kernels, to compare trees.

``python bench/snapshot.py record FILE`` in each of two trees, with the Python of its own virtual
environment, then ``python bench/snapshot.py compare BEFORE AFTER``. It prints a table and returns 1
if anything differs. Key names may differ between the trees: counters are compared as values.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["compare", "main", "record"]

#: Extents of each kernel, in the order of its dimensions; small, as every preset runs all.
SIZES = {
    "vecadd": "256",
    "saxpy": "200",
    "copy": "256",
    "strided": "128x3",
    "random_access": "128x256",
    "chase": "16x4x32",
    "reduce": "300",
    "transpose": "20x12",
    "stencil": "10x12",
    "conv2d": "9x10",
    "gemv": "16x20",
    "sgemm": "16x16x16",
    "softmax": "5x32",
    "layernorm": "5x32",
    "bitonic_sort": "64",
    "mandelbrot": "8x8",
    "nbody": "12",
    "gemm": "40x36x52",
    "gemm_add": "32x32x32",
    "gemm_bias_gelu": "32x32x32",
    "gemm_pair": "32x32x32",
}
PRESETS = (
    *("tiny_matrix", "tiny_hetero", "tiny", "core", "matrix", "matrix_fp32"),
    *("virgo", "virgo_fp32", "virgo_hetero", "ampere", "ampere_fp32", "volta"),
)
#: Presets without cores run the product alone.
HOST_PRESETS = ("tiny_matrix", "tiny_hetero", "matrix", "matrix_fp32")
#: On the instruction-set model too, with a core.
ISS_PRESETS = ("core", "virgo")
#: Areas of these take minutes to an hour of synthesis; the rest are made of the same blocks.
AREA_PRESETS = ("tiny_matrix", "tiny", "core", "matrix", "virgo")
#: Keys of the cycles of the whole run and of its counters: some trees name one, some another.
WHOLE_RUN = ("run_cycles", "simulated_cycles", "cycles")
COUNTERS = ("counters", "unit_counters")
#: Keys of measured time, of versions and of the request itself.
NOT_RESULTS = ("versions", "config", "seconds", "simulated_cycles_per_second")


def spica(*arguments: str) -> tuple[int, str]:
    """Run the command line; return its exit code and the last line of its messages."""
    command = [sys.executable, "-m", "spica.cli", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    return run.returncode, (run.stderr.strip().splitlines() or [""])[-1]


def cases() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the arguments of every run."""
    for preset in PRESETS:
        kernels = ["gemm"] if preset in HOST_PRESETS else list(SIZES)
        for kernel in kernels:
            run = ["run", kernel, "--preset", preset, "--size", SIZES[kernel]]
            yield f"{kernel} on {preset}", run
            if preset in ISS_PRESETS:
                yield f"{kernel} on {preset}, iss", [*run, "--engine", "iss"]
    for preset in AREA_PRESETS:
        yield f"area of {preset}", ["area", preset, "--blocks"]


def record(file: Path) -> None:
    """Run every case that `file` does not hold yet; write it after each."""
    found = json.loads(file.read_text()) if file.exists() else {}
    listed = list(cases())
    with TemporaryDirectory() as folder:
        for number, (name, arguments) in enumerate(listed):
            if name in found:
                continue
            result = Path(folder) / f"{number}.json"
            code, message = spica(*arguments, "--json", str(result))
            text = result.read_text() if result.exists() else "null"
            found[name] = {"exit_code": code, "result": json.loads(text)}
            if code:
                found[name]["message"] = message
            print(f"{number + 1} of {len(listed)}: {name}: exit code {code}", flush=True)
            file.write_text(json.dumps(found, indent=1) + "\n")


def numbers(value, under: tuple[str, ...] = ()) -> Iterator[float]:
    """Yield every number of a JSON value, or every one below a key of `under` if there are any."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in NOT_RESULTS:
                yield from numbers(part, () if key in under else under)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part, under)
    elif not under and isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def facts(name: str, entry: dict) -> dict:
    """Return what must be equal of a case."""
    result = entry["result"] or {}
    if name.startswith("area"):
        # Blocks with other names are summed in another order, which changes the last digit.
        areas = Counter(float(f"{number:.12g}") for number in numbers(result))
        return {"exit code": entry["exit_code"], "areas": areas}
    whole = (result.get(key) for key in WHOLE_RUN)
    return {
        "exit code": entry["exit_code"],
        "cycles": next((cycles for cycles in whole if cycles), None),
        "counters": Counter(numbers(result, COUNTERS)),
    }


def compare(before: dict, after: dict) -> tuple[list[str], int]:
    """Return a table in Markdown and the number of cases that differ."""
    rows = ["| case | cycles before | after | numbers compared | equal |", "|---|---|---|---|---|"]
    different = 0
    for name in dict.fromkeys((*before, *after)):
        if name not in before or name not in after:
            rows.append(f"| {name} | | | | only in one |")
            different += 1
            continue
        old, new = facts(name, before[name]), facts(name, after[name])
        different += old != new
        cycles = [f"{fact['cycles']:,}" if fact.get("cycles") else "" for fact in (old, new)]
        count = sum((old.get("counters") or old.get("areas") or Counter()).values())
        rows.append(
            f"| {name} | {' | '.join(cycles)} | {count} | {'yes' if old == new else 'NO'} |"
        )
    return rows, different


def main() -> int:
    """Carry out the command line; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("record").add_argument("file", type=Path)
    comparison = commands.add_parser("compare")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "record":
        record(given.file)
        return 0
    before, after = (json.loads(path.read_text()) for path in (given.before, given.after))
    rows, different = compare(before, after)
    print("\n".join(rows))
    print(f"{len(rows) - 2} cases, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
