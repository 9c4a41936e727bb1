"""What it costs a core alone that its instructions come from DRAM, through the L1I."""

from collections.abc import Iterator
from dataclasses import dataclass

from spica.cli.options import new_table

from .target import Target

__all__ = ["ALONE", "instruction_table", "instruction_targets", "pairs_of"]

#: What runs on one core, to see what its instructions cost: little of it, and more.
ALONE = {
    "vecadd": ((256,), (8192,)),
    "sgemm": ((8, 8, 8), (64, 64, 64)),
    "softmax": ((8, 32), (64, 256)),
    "layernorm": ((8, 32), (64, 256)),
    "mandelbrot": ((8, 8), (64, 64)),
    "nbody": ((16,), (256,)),
}
#: Most issue slots that the L1I costs once a program has begun, of all.
MOST_LOST = 0.02
#: Most cycles on one core.
CYCLES = {"vecadd": 20_000, "sgemm": 230_000}


@dataclass(frozen=True)
class Pair:
    """A run on one core with its caches, and the same on ideal memory."""

    real: dict
    ideal: dict

    @property
    def slots(self) -> int:
        """Issue slots of the real one."""
        return sum(self.real["slots"][0].values())

    @property
    def lost(self) -> int:
        """Slots that had no instruction beyond those on ideal memory."""
        real, ideal = (run["slots"][0]["NO_INSTRUCTION"] for run in (self.real, self.ideal))
        return real - ideal


def pairs_of(runs: list[dict]) -> list[tuple[Pair, Pair]]:
    """Return the runs of each kernel on one core, of little and of more, that are complete."""
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
    """Yield what the runs must show."""
    for small, large in pairs:
        name = large.real["kernel"]
        if name in CYCLES:
            cycles = large.real["cycles"]
            yield Target(name=f"cycles of {name} on one core", value=cycles, limit=CYCLES[name])
        yield Target(
            name=f"issue slots that the L1I costs {name} after its beginning",
            value=100 * (large.lost - small.lost) / large.slots,
            limit=100 * MOST_LOST,
            unit="%",
        )


def instruction_table(pairs: list[tuple[Pair, Pair]]):
    """Return what it costs that instructions come from DRAM, through the L1I."""
    table = new_table(
        "One core: issue slots without an instruction, beyond those on ideal memory",
        *("kernel", "size"),
        numbers=["cycles", "on ideal memory", "slots lost", "of them at the beginning", "later"],
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
            f"{later:,} = {100 * later / large.slots:.2f} %",
        )
    return table
