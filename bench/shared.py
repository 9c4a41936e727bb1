"""Benchmark of shared memory against its definition: conflicts, bandwidth, stress."""

import random
from collections.abc import Iterator

from spica.cli.options import new_table
from spica.hw.base.progress import Progress
from spica.hw.config import PRESETS
from spica.hw.memory.shared.shared_memory import cluster_ports
from spica.sim.golden.memory.shared.shared_memory import conflict_degree
from spica.sim.units.shared_memory.costs import (
    BESIDE,
    EIGHT_LANES,
    bytes_per_cycle,
    conflicting_lanes,
    lane_costs,
    strided,
)
from spica.sim.units.shared_memory.patterns import mixed_wishes
from spica.sim.units.shared_memory.request_path import RequestBench
from spica.sim.units.shared_memory.request_patterns import PATTERNS, PORTS, one_core, requests_of
from spica.sim.units.shared_memory.rules import (
    RULES,
    SUBBANKS,
    accesses_per_cycle,
    described,
    eight_cores,
)
from spica.sim.units.shared_memory.stress import SharedStress

from .target import Target

__all__ = ["measure", "tables"]

#: Presets under stress, and accesses of each; `LESS` divides them in quick runs.
STRESSED = ("tiny", "virgo")
ACCESSES, LESS = 500_000, 20
CYCLES = 20_000
#: Kinds of ports.
KINDS = ("read", "write", "narrow", "row")
#: Requests of a pattern of lanes; all permutations of eight lanes.
REQUESTS, FEW_REQUESTS = 40_320, 1000


def measure(quick: bool, tell: Progress) -> Iterator[dict]:
    """Yield the result: conflicts and bandwidth, then each stressed memory."""
    tell("measuring conflicts", 0, 1)
    with SharedStress(EIGHT_LANES) as stress:
        result: dict = {
            "conflicts": [conflicts(stress, degree) for degree in range(1, 9)],
            "strides": strides(stress),
            "together": [together(stress, name) for name in BESIDE],
            "rules": [],
            "requests": [],
            "stress": [],
        }
    for subbanks in SUBBANKS:
        tell(f"measuring {subbanks} subbanks", 0, 1)
        result["rules"] += rules(subbanks)
    for ports in PORTS:
        tell(f"measuring requests with {ports} narrow ports", 0, 1)
        result["requests"] += requests(ports, FEW_REQUESTS if quick else REQUESTS)
    yield result | {"targets": targets(result)}
    for done, preset in enumerate(STRESSED):
        tell(f"stressing {preset}", done, len(STRESSED))
        accesses = ACCESSES // LESS if quick else ACCESSES
        result["stress"].append(stressed(preset, accesses))
        yield result | {"targets": targets(result)}


def conflicts(stress: SharedStress, degree: int) -> dict:
    """Return the least and largest cycles of lanes with `degree` of them in one subbank."""
    costs = lane_costs(stress, conflicting_lanes(degree, seed=degree))
    return {"degree": degree, "accesses": len(costs), "least": min(costs), "most": max(costs)}


def strides(stress: SharedStress) -> dict:
    """Return the number of load and store strides, and of those with the cost of the formula."""
    memory = stress.config.memory
    lanes = memory.narrow_ports
    last = (memory.size // 4 - 1) // (lanes - 1)
    found = [strided(lanes, n, store=store) for store in (False, True) for n in range(last + 1)]
    expected = [conflict_degree(memory, each.addresses) for each in found]
    alike = sum(a == b for a, b in zip(lane_costs(stress, found), expected, strict=True))
    return {"accesses": len(found), "as_expected": alike}


def together(stress: SharedStress, name: str) -> dict:
    """Return the measured and expected bandwidth of wide accesses and lanes together."""
    wides, lanes, expected = BESIDE[name]
    measured = bytes_per_cycle(stress, wides | lanes)
    return {"name": name, "expected": expected, "measured": measured}


def rules(subbanks: int) -> list[dict]:
    """Return the measured and stated accesses per cycle of every rule that applies."""
    number = SUBBANKS.index(subbanks)
    with SharedStress(eight_cores(subbanks)) as stress:
        return [
            {
                "subbanks": subbanks,
                "name": rule.name,
                "expected": rule.expected[number],
                "measured": accesses_per_cycle(stress, rule),
            }
            for rule in RULES
            if rule.expected[number] is not None
        ]


def requests(ports: int, count: int) -> list[dict]:
    """Return for every pattern its requests, and those with the stated port and cycles."""
    found = []
    with RequestBench(one_core(ports)) as bench:
        for pattern in PATTERNS:
            some = requests_of(pattern, random.Random(1), count)
            stated = (pattern.cycles[PORTS.index(ports)], pattern.is_row)
            costs = bench.run(some)
            found.append({
                "ports": ports,
                "name": pattern.name,
                "requests": len(some),
                "row": pattern.is_row,
                "cycles": stated[0],
                "as_stated": costs.count(stated),
            })
    return found


def stressed(preset: str, accesses: int) -> dict:
    """Return the number of accesses checked in every cycle; a wrong one raises."""
    found = {"preset": preset, "cycles": 0, **dict.fromkeys(KINDS, 0)}
    with SharedStress(cluster_ports(PRESETS[preset])) as stress:
        seed = 0
        while sum(found[kind] for kind in KINDS) < accesses:
            run = stress.run(mixed_wishes(stress.config, min(CYCLES, accesses), seed))
            found["cycles"] += run.cycles
            for name, count in run.accesses.items():
                found[name.partition("_")[0]] += count
            seed += 1
    return found


def targets(result: dict) -> list[dict]:
    """Return the targets: costs, bandwidths and rates equal the definition."""
    other = sum(not row["least"] == row["most"] == row["degree"] for row in result["conflicts"]) + (
        result["strides"]["accesses"] - result["strides"]["as_expected"]
    )
    unlike = sum(row["expected"] != row["measured"] for row in result["together"])
    broken = sum(row["expected"] != row["measured"] for row in result["rules"])
    strange = sum(row["requests"] - row["as_stated"] for row in result["requests"])
    return [
        Target(name="conflicts with a different cost", value=other, limit=0).as_dict(),
        Target(name="bandwidths that differ", value=unlike, limit=0).as_dict(),
        Target(name="rules that do not hold", value=broken, limit=0).as_dict(),
        Target(name="requests with another port or cycles", value=strange, limit=0).as_dict(),
    ]


def tables(result: dict) -> Iterator:
    """Yield the tables of conflicts, bandwidths, rules, requests and stress."""
    memory = EIGHT_LANES.memory
    table = new_table(
        f"Cycles of {memory.narrow_ports} lanes, {memory.banks} x {memory.subbanks} subbanks",
        "",
        "lanes",
        numbers=["accesses", "least", "most"],
    )
    for row in result["conflicts"]:
        table.add_row(
            "met" if row["degree"] == row["least"] == row["most"] else "MISSED",
            f"{row['degree']} in one subbank",
            *(str(row[name]) for name in ("accesses", "least", "most")),
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
    table = new_table("Conflict rules: accesses per cycle", "", "requests", "subbanks", "measured")
    for row in result["rules"]:
        table.add_row(
            "met" if row["expected"] == row["measured"] else "MISSED",
            row["name"],
            str(row["subbanks"]),
            described(row["measured"]),
        )
    yield table
    table = new_table(
        "Requests of eight lanes, with the stated port and cycles",
        "",
        "lanes access",
        "port",
        numbers=["narrow ports", "cycles", "requests", "as stated"],
    )
    for row in result["requests"]:
        table.add_row(
            "met" if row["requests"] == row["as_stated"] else "MISSED",
            row["name"],
            "row" if row["row"] else "narrow",
            *(str(row[name]) for name in ("ports", "cycles", "requests", "as_stated")),
        )
    yield table
    table = new_table("Accesses checked in every cycle", "preset", numbers=["cycles", *KINDS])
    for row in result["stress"]:
        table.add_row(row["preset"], *(f"{row[name]:,}" for name in ("cycles", *KINDS)))
    yield table
