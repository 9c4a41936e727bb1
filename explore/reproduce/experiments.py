"""Experiments behind differences of our figures from the published ones, with their commands."""

from collections.abc import Mapping, Sequence

__all__ = ["EXPERIMENTS"]

RESTRICTED = "spica reproduce table3 --as-published"
POWER = "docs/comparing.md#power-and-energy"
#: Sentences by the name of the table.
EXPERIMENTS: Mapping[str, Sequence[str]] = {
    "table3": (
        f"Differences: {RESTRICTED} measures known restrictions of the published machine, one at "
        "a time and together.",
    ),
    "instructions": (
        "Differences: rows without polling leave out the loops in which warps wait for a unit, "
        "whose length depends on the time of the products.",
    ),
    "attention": (
        "Differences: spica run attention --preset virgo_fp32 --size 1024x64 accounts for all "
        "cycles of the unit, and docs/attention.md for those of each design.",
    ),
    "figure7": (
        "Differences: spica area volta virgo has the area of every component. The eight cores of "
        "the Volta and Ampere styles are the largest one.",
    ),
    "figure8": (
        f"Differences: {RESTRICTED} has the energies under restrictions of the published machine; "
        "python -m bench.flip_flop_caches has them with L1 caches of flip-flops; spica run gemm "
        "--preset virgo --size 256 --energy-gates --liberty FILE has them from gates. "
        f"{POWER} draws conclusions.",
    ),
    "figure9": (
        "Differences: spica compare gemm --preset virgo hopper --size 256 --energy has the bytes "
        f"read from shared memory beside its energy; {POWER} draws conclusions.",
    ),
    "figure11": (
        "Differences: spica run gemm --preset virgo --size 256 --energy-gates --liberty FILE has "
        f"the clock pins of the mesh and of its accumulator apart; {POWER} draws conclusions.",
    ),
    "figure12": (
        "Differences: spica reproduce attention has the cycles of these designs, whose ratio is "
        f"not the published one; {POWER} draws conclusions.",
    ),
    "heterogeneous": (
        "Differences: spica run gemm --preset virgo_hetero --size 256 has the utilisation of the "
        "first unit alone; the losses of the published units are those of table3.",
    ),
}
