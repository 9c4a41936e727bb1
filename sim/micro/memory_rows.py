"""Rows: memory that takes long, and how far warps hide it."""

from ...hw.config import CoreConfig
from .definition import load_chain, slots_held
from .row import Row, core_of, exactly, ratio
from .streams import STREAMS, Stream

__all__ = ["LATENCIES", "MANY", "WARPS", "access_rows", "fetch_rows", "hiding_rows"]

#: A core with enough warps and accesses for every row.
MANY = {"warps": 32, "accesses": 32}
FEW = {"warps": 32, "accesses": 4}
LATENCIES = (1, 5, 10, 20, 50, 100, 200)
WARPS = (1, 2, 4, 8, 16, 32)
#: A load, and the first use of what it loads.
USE = Stream(["lw x10, 0(x8)", "add x11, x10, x9"])
ENTRIES = (2, 4, 8)


def hiding_rows() -> list[Row]:
    """Return the rate of loads and their uses, by latency and by warps."""
    return [hiding_row(latency, warps) for latency in LATENCIES for warps in WARPS]


def hiding_row(latency: int, warps: int) -> Row:
    """Return the row of so many warps that load with such a latency, and use what they load.

    The use is issued as the next load of a chain would be, the next load in the cycle after it. In
    turns, all uses go before all loads if they come together: a load may have to wait for a use of
    each of the other warps.
    """
    step = load_chain(core_of(MANY), latency) + 1
    count = len(USE.lines) * warps
    return Row(
        group="latency hidden",
        name=f"latency {latency}, {warps} warps: load and use",
        unit="per cycle",
        limits=(ratio(count, step + warps), ratio(count, step)),
        why=f"{len(USE.lines)} x {warps} / ({latency} + {step - latency}), or {warps} cycles more",
        measure=lambda bench: bench.run(USE, warps=warps, latency=latency).ipc,
        change=MANY,
    )


def access_rows() -> list[Row]:
    """Return the rate of loads that nobody waits for: as many as may be under way."""
    rows = []
    for change in (FEW, MANY):
        core = core_of(change)
        for latency in LATENCIES:
            rows.append(
                Row(
                    group="accesses",
                    name=f"latency {latency}: loads",
                    unit="per cycle",
                    limits=exactly(ratio(core.accesses, slots_held(latency))),
                    why=f"{core.accesses} under way, each for {latency} + 3 cycles",
                    measure=lambda bench, latency=latency: (
                        bench.run(STREAMS["loads"], latency=latency).ipc
                    ),
                    change=change,
                )
            )
    return rows


def fetch_rows() -> list[Row]:
    """Return the rate of one warp whose instructions come from far."""
    rows = []
    for entries in ENTRIES:
        change = (
            {} if entries == CoreConfig().instruction_buffer else {"instruction_buffer": entries}
        )
        for latency in (1, 5, 20):
            rows.append(
                Row(
                    group="fetch",
                    name=f"latency {latency}, one warp: sums",
                    unit="per cycle",
                    limits=exactly(ratio(entries, latency + 3)),
                    why=f"{entries} instructions asked for at a time, {latency} + 3 cycles each",
                    measure=lambda bench, latency=latency: (
                        bench.run(STREAMS["sums"], warps=1, latency=latency).ipc
                    ),
                    change=change,
                )
            )
    return rows
