"""Rows: cost of branches, divergence, barriers and long operations for a warp."""

from spica.hw.arith.special.special_function import SpecialFunctionConfig
from spica.hw.core.units.divide.divide_lane import DivideLaneConfig
from support.microbenchmarks.definition import (
    CONTROL,
    control,
    load_chain,
    not_taken,
    taken_branch,
    to_port,
    variable_chain,
)
from support.microbenchmarks.row import Row, core_of, exactly
from support.microbenchmarks.unrolled_code import Stream, repeated

__all__ = ["cost_rows"]

#: Divergence needs several threads.
DIVERGENT = {"warps": 2, "threads": 4}
#: Half of the threads take each side; after the first `vx_join` the second side, then all.
BOTH_WAYS = Stream(
    [
        """
        vx_split x{d}, x11, zero
        beq x11, x0, 12
        addi x10, x10, 1
        jal x0, 8
        addi x10, x10, 2
        vx_join x{d}
        """
    ],
    setup="csrr x11, thread_id\nandi x11, x11, 1",
)


def branches() -> dict[str, tuple[Stream, int, str]]:
    """Return streams of branches, the cycles of a line, and the reason."""
    fetch = 1
    return {
        "branch taken, two operands": (
            repeated("beq x8, x8, 8\nebreak"),
            taken_branch(2, fetch),
            "port after 4, redirect after 1 more, fetched in 1 + 2",
        ),
        "branch taken, no operands": (
            repeated("beq x0, x0, 8\nebreak"),
            taken_branch(0, fetch),
            "port after 3, redirect after 1 more, fetched in 1 + 2",
        ),
        "jump": (
            repeated("jal x0, 8\nebreak"),
            taken_branch(0, fetch),
            "as a branch that is taken",
        ),
        "branch not taken, two operands": (
            repeated("bne x8, x8, 8"),
            not_taken(2),
            "port after 4, decision after 1 more",
        ),
        "branch not taken, no operands": (
            repeated("bne x0, x0, 8"),
            not_taken(0),
            "port after 3, decision after 1 more",
        ),
    }


def controls() -> dict[str, tuple[Stream, int, str]]:
    """Return streams of control instructions, the cycles of a line, and the reason."""
    return {
        "control register read": (
            repeated("csrr x{d}, warp_id"),
            control(0),
            "port after 3, result after 2 more, drained after 1 more",
        ),
        "mask set": (repeated("vx_tmc x9"), control(2), "operands: mask and exit code"),
        "split and join, threads agree": (
            Stream(["vx_split x{d}, x9, zero\nvx_join x{d}"]),
            2 * control(1),
            "two instructions of one operand",
        ),
        "fence.i": (
            repeated("fence.i"),
            to_port(0) + 2 + 1 + 2,
            "port after 3, redirect after 2 more, fetched in 1 + 2",
        ),
    }


def chains() -> dict[str, tuple[Stream, int, str]]:
    """Return streams of dependent instructions, in the form of `branches`."""
    core = core_of({})
    special = SpecialFunctionConfig().latency
    lane = DivideLaneConfig()
    return {
        "dependent loads": (
            Stream(["lw x8, 0(x8)"], setup="sw x8, 0(x8)"),
            load_chain(core, 1),
            "port after 3, request 1, memory 1, bus 2; issued when announced",
        ),
        "dependent reciprocals": (
            repeated("frcp.s f10, f10"),
            variable_chain(core, 1 + special, 1),
            f"port after 3, register 1, lane {special}, issue 1",
        ),
        "dependent float quotients": (
            repeated("fdiv.s f10, f10, f1"),
            variable_chain(core, 1 + lane.float_cycles + 2, 2),
            f"port after 4, register 1, lane {lane.float_cycles} + 2, issue 1",
        ),
        "dependent quotients": (
            repeated("div x10, x10, x9"),
            variable_chain(core, 1 + lane.integer_cycles + 2, 2),
            f"port after 4, register 1, lane {lane.integer_cycles} + 2, issue 1",
        ),
    }


def barrier_row(warps: int) -> Row:
    """Return the row of repeated barriers of this many warps."""
    stream = Stream(["vx_bar x9, x10"], setup=f"li x10, {warps}")
    return Row(
        group="costs",
        name=f"barrier of {warps} warps",
        unit="cycles",
        limits=exactly(control(2) + CONTROL * (warps - 1)),
        why=f"{control(2)} for the last, {CONTROL} for each of the others",
        measure=lambda bench: bench.run(stream, warps=warps).step,
    )


def divergence_row() -> Row:
    """Return the row of a split with threads on both sides."""
    fetch = 1
    parts = {
        "split": control(1),
        "branch": not_taken(1),
        "sum": 1,
        "jump": taken_branch(0, fetch),
        "join to the others": to_port(1) + 2 + fetch + 2,
        "their sum": 1,
        "join": control(1),
    }
    # The branch is also the first instruction of the second side, and taken by all of it.
    parts["their branch"] = taken_branch(1, fetch)
    return Row(
        group="costs",
        name="split, both ways, join",
        unit="cycles",
        limits=exactly(sum(parts.values())),
        why=" + ".join(f"{cycles} {name}" for name, cycles in parts.items()),
        measure=lambda bench: bench.run(BOTH_WAYS, warps=1).step,
        change=DIVERGENT,
    )


def cost_rows() -> list[Row]:
    """Return all rows of costs, of a single warp unless stated otherwise."""
    rows = [
        Row(
            group="costs",
            name=name,
            unit="cycles",
            limits=exactly(cycles),
            why=why,
            measure=lambda bench, stream=stream: bench.run(stream, warps=1).step,
        )
        for streams in (branches(), controls(), chains())
        for name, (stream, cycles, why) in streams.items()
    ]
    return [*rows, divergence_row(), *(barrier_row(warps) for warps in (1, 2, 4, 8))]
