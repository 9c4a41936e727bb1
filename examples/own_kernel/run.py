"""Runs an own kernel on NumPy arrays, on two machines, and shows where its time is spent.

python examples/own_kernel/run.py [--presets tiny core] [--pixels 5000] [--lines 5]
"""

import argparse
from pathlib import Path

import numpy as np

import spica

KERNEL = Path(__file__).with_name("histogram.c")
BINS = 32


def run(machine, pixels, width):
    """Run the kernel and check its histogram; return the run."""
    expected = np.bincount(pixels >> 3, minlength=BINS)
    return machine.run(
        KERNEL,
        args={"pixels": pixels, "count": len(pixels), "histogram": np.zeros(BINS, np.uint32)},
        expect={"histogram": expected},  # `MachineError` if an element differs
        defines=(f"PIXELS={width}",),
        profile=True,
    )


def show_profile(run, lines):
    """Print the lines in which warps spent most of their cycles, and what they waited for."""
    profile = run.to_dict()["source_profile"]
    for row in profile["lines"][:lines]:
        state, _ = max(row["states"].items(), key=lambda item: item[1])
        place = f"{Path(row['file'] or '').name}:{row['line']}" if row["line"] else row["function"]
        share = row["cycles"] / profile["cycles"]
        print(
            f"    {share:6.1%}  {state:10}  {place:18}  {(row['text'] or '').strip()[:56].rstrip()}"
        )


def main():
    """Run both variants on every machine."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--presets", nargs="+", default=["tiny", "core"])
    parser.add_argument("--pixels", type=int, default=5000, help="a multiple of 4")
    parser.add_argument("--lines", type=int, default=5, help="source lines of a profile")
    options = parser.parse_args()
    values = np.random.default_rng(1).normal(128, 40, options.pixels)
    pixels = values.clip(0, 255).astype(np.uint8)
    for preset in options.presets:
        machine = spica.Machine(preset)
        for width in (1, 4):
            done = run(machine, pixels, width)
            rate = f"{len(pixels) / done.cycles:.2f} pixels per cycle"
            print(f"{preset}, pixels per load {width}: {done.cycles:,} cycles, {rate}")
            show_profile(done, options.lines)


if __name__ == "__main__":
    main()
