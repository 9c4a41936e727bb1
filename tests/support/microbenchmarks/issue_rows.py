"""Rows: instructions issued per cycle, and cycles between dependent instructions."""

from spica.hw.config import CoreConfig
from spica.hw.isa.operations import Port
from support.microbenchmarks.definition import chain
from support.microbenchmarks.row import Row, core_of, exactly
from support.microbenchmarks.unrolled_code import STREAMS, Stream, repeated

__all__ = ["chain_rows", "dual_issue_rows", "issue_rows"]

#: Minimum instructions per cycle of 8 warps, by stream.
LEAST = {
    "sums": 0.98,
    "products": 0.98,
    "shuffles": 0.98,
    "votes": 0.98,
    "multiply-adds": 0.98,
    "sums and multiply-adds": 0.98,
    "mixed": 0.98,
    "dependent sums": 0.9,
    "dependent multiply-adds": 0.85,
}
#: Dependent chains: stream, port and number of source registers.
CHAINS = {
    "sum with an immediate": (repeated("addi x10, x10, 1"), Port.INT, 1),
    "sum": (STREAMS["dependent sums"], Port.INT, 2),
    "product": (STREAMS["dependent products"], Port.INT, 2),
    "shuffle": (STREAMS["dependent shuffles"], Port.INT, 2),
    "float shuffle": (STREAMS["dependent float shuffles"], Port.INT, 2),
    "vote": (STREAMS["dependent votes"], Port.INT, 1),
    "multiply-add": (STREAMS["dependent multiply-adds"], Port.FP32, 3),
}


def latency_of(core: CoreConfig, port: Port, name: str) -> int:
    """Return the cycles from the port to the bus."""
    return core.multiply_latency if name == "product" else core.latency(port)


def issue_rows() -> list[Row]:
    """Return the issue rates of 8 warps, and of one."""
    rows = [
        Row(
            group="issue",
            name=f"8 warps: {name}",
            unit="per cycle",
            limits=(least, 1),
            why="a dependent step takes fewer cycles than there are warps"
            if name.startswith("dependent")
            else "one per cycle; operands of 6 collectors come from 8 banks",
            measure=lambda bench, name=name: bench.run(STREAMS[name]).ipc,
        )
        for name, least in LEAST.items()
    ]
    alone = Row(
        group="issue",
        name="one warp: sums",
        unit="per cycle",
        limits=(0.5, 1),
        why="a fetch of 4 instructions takes one warp 4 cycles",
        measure=lambda bench: bench.run(STREAMS["sums"], warps=1).ipc,
    )
    beats = Row(
        group="issue",
        name="8 warps of 8 threads on 2 lanes: shuffles",
        unit="per cycle",
        limits=(0.245, 0.25),
        why="4 beats each, without gaps",
        measure=lambda bench: bench.run(STREAMS["shuffles"]).ipc,
        change={"threads": 8, "integer_lanes": 2},
    )
    return [*rows, alone, beats]


def chain_rows() -> list[Row]:
    """Return the cycles of one warp between dependent instructions."""
    rows = []
    for change in ({}, {"snoop": False}):
        core = core_of(change)
        for name, (stream, port, operands) in CHAINS.items():
            latency = latency_of(core, port, name)
            rows.append(
                Row(
                    group="chains",
                    name=f"one warp: dependent {name}",
                    unit="cycles",
                    limits=exactly(chain(core, port, latency, operands)),
                    why=f"latency {latency}, operands {operands}, "
                    + ("one from a bus" if core.snoop and latency > 1 else "all from the banks"),
                    measure=lambda bench, stream=stream: bench.run(stream, warps=1).step,
                    change=change,
                )
            )
    return rows


def dual_issue_rows() -> list[Row]:
    """Return the issue rates of two slots, by number of buses."""
    mix = Stream(["addi x{d}, x9, 1", "fmul.s f{d}, f2, f1"])
    rows = [
        Row(
            group="two per cycle",
            name="8 warps: sums with float products",
            unit="per cycle",
            limits=(0.95 if buses == 1 else 1.5, min(2, buses)),
            why="one result per bus and cycle"
            if buses == 1
            else "two ports, 2 + 3 of 8 collectors, two buses",
            measure=lambda bench: bench.run(mix).ipc,
            change={"issue_width": 2, "collectors": 8, "writeback_buses": buses},
        )
        for buses in range(1, 5)
    ]
    same_port = Row(
        group="two per cycle",
        name="8 warps: sums",
        unit="per cycle",
        limits=(0.98, 1),
        why="both instructions use one port",
        measure=lambda bench: bench.run(STREAMS["sums with an immediate"]).ipc,
        change={"issue_width": 2, "collectors": 8},
    )
    return [*rows, same_port]
