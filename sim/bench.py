"""Amaranth's simulator: run a component under testbenches, feed and drain its streams."""

import random

from amaranth.sim import Simulator

__all__ = ["PERIOD", "get", "put", "simulate"]

PERIOD = 1e-6  # the one place to change when Amaranth 0.6 asks for `Period`


def simulate(dut, *testbenches, domains=("sync",), vcd=None, timeout=100_000):
    """Run until every testbench returns; fail after `timeout` cycles instead of hanging.

    Parameters
    ----------
    dut : Component
        What is simulated.
    testbenches : async callables
        Each takes the simulator context.
    domains : sequence of str
        Clock domains, all on one common clock.
    vcd : str or None
        Where to write a waveform.
    timeout : int
        Cycles after which the run fails with `TimeoutError`.

    """

    async def watchdog(ctx):
        await ctx.delay(timeout * PERIOD)
        raise TimeoutError(f"{type(dut).__name__} still busy after {timeout} cycles")

    simulator = Simulator(dut)
    for domain in domains:
        simulator.add_clock(PERIOD, domain=domain)
    simulator.add_testbench(watchdog, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    if vcd is None:
        simulator.run()
    else:
        with simulator.write_vcd(vcd):
            simulator.run()


async def put(ctx, port, payloads, *, rng: random.Random, stall: float = 0.0):
    """Offer each payload on stream `port`, idling before it with probability `stall`."""
    for payload in payloads:
        while rng.random() < stall:
            await ctx.tick()
        ctx.set(port.payload, payload)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)


async def get(ctx, port, count: int, *, rng: random.Random, stall: float = 0.0) -> list:
    """Take `count` payloads from stream `port`, refusing each cycle with probability `stall`."""
    taken: list = []
    while len(taken) < count:
        ready = rng.random() >= stall
        ctx.set(port.ready, ready)
        _, _, valid, payload = await ctx.tick().sample(port.valid, port.payload)
        if ready and valid:
            taken.append(payload)
    ctx.set(port.ready, 0)
    return taken
