"""Shared memory beside what its banking says: conflicts, wide and narrow together, stress."""

from collections.abc import Callable, Iterator

from spica.cli.options import new_table
from spica.hw.config import PRESETS
from spica.hw.memory.shared import cluster_ports
from spica.sim.golden.shared_timing import conflict_degree
from spica.sim.shared_costs import (
    BESIDE,
    EIGHT_LANES,
    bytes_per_cycle,
    conflict_rows,
    row_costs,
    strided,
)
from spica.sim.shared_patterns import mixed_wishes
from spica.sim.shared_stress import SharedStress

from .target import Target

__all__ = ["measure", "tables"]

#: Presets whose shared memory is stressed, and the accesses of each; if quick, so many less.
STRESSED = ("tiny", "virgo")
ACCESSES, LESS = 500_000, 20
CYCLES = 20_000


def measure(quick: bool, tell: Callable[[str, int, int], None]) -> Iterator[dict]:
    """Yield the result: conflicts and bandwidth, then with each stressed memory."""
    tell("measuring conflicts", 0, 1)
    with SharedStress(EIGHT_LANES) as stress:
        result: dict = {
            "conflicts": [conflicts(stress, degree) for degree in range(1, 9)],
            "strides": strides(stress),
            "together": [together(stress, name) for name in BESIDE],
            "stress": [],
        }
    yield result | {"targets": targets(result)}
    for done, preset in enumerate(STRESSED):
        tell(f"stressing {preset}", done, len(STRESSED))
        accesses = ACCESSES // LESS if quick else ACCESSES
        result["stress"].append(stressed(preset, accesses))
        yield result | {"targets": targets(result)}


def conflicts(stress: SharedStress, degree: int) -> dict:
    """Return the cycles of rows of which so many lanes meet in a subbank, the least and most."""
    costs = row_costs(stress, conflict_rows(degree, seed=degree))
    return {"degree": degree, "rows": len(costs), "least": min(costs), "most": max(costs)}


def strides(stress: SharedStress) -> dict:
    """Return how many strides of loads and of stores cost what the formula says, of how many."""
    memory = stress.config.memory
    lanes = memory.narrow_ports
    last = (memory.size // 4 - 1) // (lanes - 1)
    rows = [strided(lanes, n, store=store) for store in (False, True) for n in range(last + 1)]
    expected = [conflict_degree(memory, row.addresses) for row in rows]
    alike = sum(a == b for a, b in zip(row_costs(stress, rows), expected, strict=True))
    return {"rows": len(rows), "as_expected": alike}


def together(stress: SharedStress, name: str) -> dict:
    """Return what wide accesses and lanes move side by side, and what they must."""
    wides, lanes, expected = BESIDE[name]
    measured = bytes_per_cycle(stress, wides | lanes)
    return {"name": name, "expected": expected, "measured": measured}


def stressed(preset: str, accesses: int) -> dict:
    """Return how many accesses were compared with the model; a difference raises."""
    found = {"preset": preset, "cycles": 0, "read": 0, "write": 0, "narrow": 0}
    with SharedStress(cluster_ports(PRESETS[preset])) as stress:
        seed = 0
        while found["read"] + found["write"] + found["narrow"] < accesses:
            run = stress.run(mixed_wishes(stress.config, min(CYCLES, accesses), seed))
            found["cycles"] += run.cycles
            for name, count in run.accesses.items():
                found[name.partition("_")[0]] += count
            seed += 1
    return found


def targets(result: dict) -> list[dict]:
    """Return what must hold: every cost and every bandwidth is that of the definition."""
    other = sum(not row["least"] == row["most"] == row["degree"] for row in result["conflicts"]) + (
        result["strides"]["rows"] - result["strides"]["as_expected"]
    )
    unlike = sum(row["expected"] != row["measured"] for row in result["together"])
    return [
        Target(name="conflicts that cost something else", value=other, limit=0).as_dict(),
        Target(name="bandwidths that are something else", value=unlike, limit=0).as_dict(),
    ]


def tables(result: dict) -> Iterator:
    """Yield the tables of conflicts, of wide and narrow accesses together, of the stress."""
    memory = EIGHT_LANES.memory
    table = new_table(
        f"Cycles of {memory.narrow_ports} lanes, {memory.banks} x {memory.subbanks} subbanks",
        "",
        "what",
        numbers=["rows", "least", "most"],
    )
    for row in result["conflicts"]:
        table.add_row(
            "met" if row["degree"] == row["least"] == row["most"] else "MISSED",
            f"{row['degree']} in one subbank",
            *(str(row[name]) for name in ("rows", "least", "most")),
        )
    yield table
    table = new_table("Wide and narrow together: bytes per cycle", "", "what", numbers=list(KINDS))
    for row in result["together"]:
        table.add_row(
            "met" if row["expected"] == row["measured"] else "MISSED",
            row["name"],
            *(f"{row['measured'].get(kind, 0):g}" for kind in KINDS),
        )
    yield table
    table = new_table(
        "Compared with the model in every cycle", "preset", numbers=["cycles", *KINDS]
    )
    for row in result["stress"]:
        table.add_row(row["preset"], *(f"{row[name]:,}" for name in ("cycles", *KINDS)))
    yield table


KINDS = ("read", "write", "narrow")
