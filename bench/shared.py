"""Benchmark of shared memory against its definition: conflicts, bandwidth, stress."""

from collections.abc import Iterator

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.hw.memory.shared.shared_memory import cluster_ports
from spica.sim.golden.memory.shared.shared_timing import conflict_degree
from spica.sim.units.shared_memory.costs import (
    BESIDE,
    EIGHT_LANES,
    bytes_per_cycle,
    conflict_rows,
    row_costs,
    strided,
)
from spica.sim.units.shared_memory.patterns import mixed_wishes
from spica.sim.units.shared_memory.stress import SharedStress

from .target import Target

__all__ = ["measure", "tables"]

#: Presets under stress, and accesses of each; `LESS` divides them in quick runs.
STRESSED = ("tiny", "virgo")
ACCESSES, LESS = 500_000, 20
CYCLES = 20_000


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result: conflicts and bandwidth, then each stressed memory."""
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
    """Return the least and largest cycles of rows with `degree` lanes in one subbank."""
    costs = row_costs(stress, conflict_rows(degree, seed=degree))
    return {"degree": degree, "rows": len(costs), "least": min(costs), "most": max(costs)}


def strides(stress: SharedStress) -> dict:
    """Return the number of load and store strides, and of those with the cost of the formula."""
    memory = stress.config.memory
    lanes = memory.narrow_ports
    last = (memory.size // 4 - 1) // (lanes - 1)
    rows = [strided(lanes, n, store=store) for store in (False, True) for n in range(last + 1)]
    expected = [conflict_degree(memory, row.addresses) for row in rows]
    alike = sum(a == b for a, b in zip(row_costs(stress, rows), expected, strict=True))
    return {"rows": len(rows), "as_expected": alike}


def together(stress: SharedStress, name: str) -> dict:
    """Return the measured and expected bandwidth of wide accesses and lanes together."""
    wides, lanes, expected = BESIDE[name]
    measured = bytes_per_cycle(stress, wides | lanes)
    return {"name": name, "expected": expected, "measured": measured}


def stressed(preset: str, accesses: int) -> dict:
    """Return the number of accesses compared with the model; a difference raises."""
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
    """Return the targets: costs and bandwidths equal the definition."""
    other = sum(not row["least"] == row["most"] == row["degree"] for row in result["conflicts"]) + (
        result["strides"]["rows"] - result["strides"]["as_expected"]
    )
    unlike = sum(row["expected"] != row["measured"] for row in result["together"])
    return [
        Target(name="conflicts with a different cost", value=other, limit=0).as_dict(),
        Target(name="bandwidths that differ", value=unlike, limit=0).as_dict(),
    ]


def tables(result: dict) -> Iterator:
    """Yield the tables of conflicts, bandwidths, and stress."""
    memory = EIGHT_LANES.memory
    table = new_table(
        f"Cycles of {memory.narrow_ports} lanes, {memory.banks} x {memory.subbanks} subbanks",
        "",
        "lanes",
        numbers=["rows", "least", "most"],
    )
    for row in result["conflicts"]:
        table.add_row(
            "met" if row["degree"] == row["least"] == row["most"] else "MISSED",
            f"{row['degree']} in one subbank",
            *(str(row[name]) for name in ("rows", "least", "most")),
        )
    yield table
    table = new_table("Wide and narrow access: bytes per cycle", "", "access", numbers=list(KINDS))
    for row in result["together"]:
        table.add_row(
            "met" if row["expected"] == row["measured"] else "MISSED",
            row["name"],
            *(f"{row['measured'].get(kind, 0):g}" for kind in KINDS),
        )
    yield table
    table = new_table(
        "Accesses compared with the model in every cycle", "preset", numbers=["cycles", *KINDS]
    )
    for row in result["stress"]:
        table.add_row(row["preset"], *(f"{row[name]:,}" for name in ("cycles", *KINDS)))
    yield table


KINDS = ("read", "write", "narrow")
