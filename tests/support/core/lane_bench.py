"""Bench of units that take operations of warps and return results, on Amaranth's simulator."""

import random
from collections.abc import Callable, Sequence

from spica.hw.config import CoreConfig
from spica.sim.engine.testbench import get, put, require_no_loop, simulate

__all__ = ["Warps", "result_of", "run_unit", "timed"]


class Warps:
    """Generator of operations of warps.

    Parameters
    ----------
    config : CoreConfig
    seed : int

    """

    def __init__(self, config: CoreConfig, seed: int):
        self.config = config
        self.rng = random.Random(seed)

    def operation(
        self, operation: int, operands: Sequence[Sequence[int]], *, rounding: int = 0, **fields
    ) -> dict:
        """Return an operation with an operand for each thread; other fields are random."""
        rng, config = self.rng, self.config
        values = [list(map(int, operand)) for operand in operands]
        while len(values) < 3:
            values.append([rng.getrandbits(32) for _ in range(config.threads)])
        full = (1 << config.threads) - 1
        return {
            "warp": rng.randrange(config.warps),
            "mask": rng.choice([full, rng.getrandbits(config.threads), 0]),
            "pc": rng.getrandbits(32),
            "operation": int(operation),
            "rd": rng.randrange(64),
            "writes": rng.getrandbits(1),
            "immediate": rng.getrandbits(32),
            "rounding": int(rounding),
            "a_is_pc": rng.getrandbits(1),
            "b_is_immediate": rng.getrandbits(1),
            "operands": values,
            **fields,
        }


def result_of(payload) -> dict:
    """Return a result as numbers; values of inactive threads are 0."""
    names = ("warp", "mask", "pc", "rd", "writes", "flags")
    result = {name: int(payload[name]) for name in names}
    threads = range(payload.shape()["values"].shape.length)
    active = [result["mask"] >> thread & 1 for thread in threads]
    return result | {
        "values": [int(payload.values[thread]) if active[thread] else 0 for thread in threads]
    }


def run_unit(
    unit, operations: Sequence[dict], *, stall: float = 0.0, seed: int = 1, timeout: int = 100_000
) -> list[dict]:
    """Return the results of `operations`; both sides stall with probability `stall`."""
    require_no_loop(unit)
    results: list[dict] = []

    async def feed(ctx):
        await put(ctx, unit.i, operations, rng=random.Random(seed), stall=stall)

    async def drain(ctx):
        payloads = await get(ctx, unit.o, len(operations), rng=random.Random(seed + 1), stall=stall)
        results.extend(result_of(payload) for payload in payloads)

    simulate(unit, feed, drain, timeout=timeout)
    return results


def timed(
    unit, operations: Sequence[dict], cycles: int, *, willing: Callable[[int], bool] | None = None
) -> tuple[list[int], list[int]]:
    """Return the cycles in which back-to-back `operations` are accepted, and results are taken.

    ``willing(cycle)`` is the `ready` of `o`; None means always.
    """
    accepted: list[int] = []
    ends: list[int] = []

    async def bench(ctx):
        waiting = list(operations)
        for cycle in range(cycles):
            if waiting:
                ctx.set(unit.i.payload, waiting[0])
            ctx.set(unit.i.valid, bool(waiting))
            ctx.set(unit.o.ready, willing is None or willing(cycle))
            is_accepted, is_taken = (
                ctx.get(port.valid) and ctx.get(port.ready) for port in (unit.i, unit.o)
            )
            if is_accepted:
                waiting.pop(0)
                accepted.append(cycle)
            if is_taken:
                ends.append(cycle)
            await ctx.tick()

    simulate(unit, bench, timeout=cycles + 10)
    return accepted, ends
