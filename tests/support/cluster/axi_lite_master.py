"""An AXI4-Lite master for Amaranth's simulator: one access at a time, with pauses."""

import random

__all__ = ["read", "send", "write"]


async def pause(ctx, rng, stall):
    """Skip cycles, each with probability `stall`."""
    while rng.random() < stall:
        await ctx.tick()


async def send(ctx, bus, channel, values, rng, stall):
    """Offer an address or a data word until it is accepted."""
    await pause(ctx, rng, stall)
    for member, value in values.items():
        ctx.set(getattr(bus, channel + member), value)
    ctx.set(getattr(bus, f"{channel}valid"), 1)
    await ctx.tick().until(getattr(bus, f"{channel}ready"))
    ctx.set(getattr(bus, f"{channel}valid"), 0)


async def write(ctx, bus, address, data, *, strobe=15, order=("aw", "w"), rng=None, stall=0.0):
    """Write a word, one channel after the other; return the response."""
    rng = rng or random.Random(0)
    values = {"aw": {"addr": address}, "w": {"data": data, "strb": strobe}}
    for channel in order:
        await send(ctx, bus, channel, values[channel], rng, stall)
    await pause(ctx, rng, stall)
    ctx.set(bus.bready, 1)
    (response,) = await ctx.tick().sample(bus.bresp).until(bus.bvalid)
    ctx.set(bus.bready, 0)
    return response


async def read(ctx, bus, address, *, rng=None, stall=0.0):
    """Read a word; return data and response."""
    rng = rng or random.Random(0)
    await send(ctx, bus, "ar", {"addr": address}, rng, stall)
    await pause(ctx, rng, stall)
    ctx.set(bus.rready, 1)
    data, response = await ctx.tick().sample(bus.rdata, bus.rresp).until(bus.rvalid)
    ctx.set(bus.rready, 0)
    return data, response
