"""Rows: long memory latencies, and how far warps hide them."""

from spica.hw.config import CoreConfig
from support.microbenchmarks.definition import load_chain, slots_held
from support.microbenchmarks.row import Row, core_of, exactly, ratio
from support.microbenchmarks.unrolled_code import STREAMS, Stream

__all__ = ["LATENCIES", "MANY", "WARPS", "access_rows", "fetch_rows", "hiding_rows"]

#: A core with enough warps and accesses for every row.
MANY = {"warps": 32, "accesses": 32}
FEW = {"warps": 32, "accesses": 4}
LATENCIES = (1, 5, 10, 20, 50, 100, 200)
WARPS = (1, 2, 4, 8, 16, 32)
#: A load, and the first use of its result.
USE = Stream(["lw x10, 0(x8)", "add x11, x10, x9"])
ENTRIES = (2, 4, 8)


def hiding_rows() -> list[Row]:
    """Return the rates of loads with uses, by latency and number of warps."""
    return [hiding_row(latency, warps) for latency in LATENCIES for warps in WARPS]


def hiding_row(latency: int, warps: int) -> Row:
    """Return the row of warps that load with a latency, and use the result.

    The use issues when the next load of a chain would; the next load follows one cycle later. In
    round-robin order all uses may go before all loads, so a load may wait for one use of each
    other warp.
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
    """Return the rates of independent loads: limited by the number of accesses in flight."""
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
                    why=f"{core.accesses} in flight, each for {latency} + 3 cycles",
                    measure=lambda bench, latency=latency: (
                        bench.run(STREAMS["loads"], latency=latency).ipc
                    ),
                    change=change,
                )
            )
    return rows


def fetch_rows() -> list[Row]:
    """Return the rates of one warp with a long fetch latency."""
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
                    why=f"{entries} instructions requested at a time, {latency} + 3 cycles each",
                    measure=lambda bench, latency=latency: (
                        bench.run(STREAMS["sums"], warps=1, latency=latency).ipc
                    ),
                    change=change,
                )
            )
    return rows
