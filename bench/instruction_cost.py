"""Cost of instruction fetch from DRAM through the L1I, for a single core."""

from collections.abc import Iterator
from dataclasses import dataclass

from spica.cli.options import new_table
from spica.sim.report.tables import percent

from .target import Target

__all__ = ["ALONE", "instruction_table", "instruction_targets", "pairs_of"]

#: Kernels on one core, each with a small and a large size.
ALONE = {
    "vecadd": ((256,), (8192,)),
    "sgemm": ((8, 8, 8), (64, 64, 64)),
    "softmax": ((8, 32), (64, 256)),
    "layernorm": ((8, 32), (64, 256)),
    "mandelbrot": ((8, 8), (64, 64)),
    "nbody": ((16,), (256,)),
}
#: Largest share of issue slots lost to the L1I after a program's start.
MOST_LOST = 0.02
#: Largest number of cycles on one core.
CYCLES = {"vecadd": 7_500, "sgemm": 80_000}


@dataclass(frozen=True)
class Pair:
    """A run on one core with its caches, and the same run on ideal memory."""

    real: dict
    ideal: dict

    @property
    def slots(self) -> int:
        """Issue slots of the real one."""
        return sum(self.real["cores"][0]["issue_slots"].values())

    @property
    def lost(self) -> int:
        """Slots that had no instruction beyond those on ideal memory."""
        real, ideal = (run["cores"][0]["issue_slots"] for run in (self.real, self.ideal))
        return real["no_instruction"] - ideal["no_instruction"]


def pairs_of(runs: list[dict]) -> list[tuple[Pair, Pair]]:
    """Return the complete runs of each kernel on one core, small and large."""
    pairs = []
    for name in ALONE:
        real, ideal = (
            [run for run in runs if (run["kernel"], run["machine"]) == (name, machine)]
            for machine in ("one core", "ideal memory")
        )
        if len(real) == 2:
            small, large = (Pair(*pair) for pair in zip(real, ideal, strict=True))
            pairs.append((small, large))
    return pairs


def instruction_targets(pairs: list[tuple[Pair, Pair]]) -> Iterator[Target]:
    """Yield the targets of the runs."""
    for small, large in pairs:
        name = large.real["kernel"]
        if name in CYCLES:
            cycles = large.real["cycles"]
            yield Target(name=f"cycles of {name} on one core", value=cycles, limit=CYCLES[name])
        yield Target(
            name=f"issue slots lost to the L1I by {name} after its start",
            value=100 * (large.lost - small.lost) / large.slots,
            limit=100 * MOST_LOST,
            unit="%",
        )


def instruction_table(pairs: list[tuple[Pair, Pair]]):
    """Return the table of issue slots lost to instruction fetch."""
    table = new_table(
        "One core: issue slots without an instruction, compared with ideal memory",
        *("kernel", "size"),
        numbers=["cycles", "on ideal memory", "slots lost", "at the start", "later"],
    )
    for small, large in pairs:
        later = large.lost - small.lost
        table.add_row(
            large.real["kernel"],
            " x ".join(f"{extent:,}" for extent in large.real["sizes"].values()),
            f"{large.real['cycles']:,}",
            f"{large.ideal['cycles']:,}",
            f"{large.lost:,}",
            f"{small.lost:,}",
            f"{later:,} = {percent(later / large.slots)}",
        )
    return table
