"""Block benches on Amaranth's simulator: run testbenches, drive and drain streams."""

import random
from collections.abc import Callable, Iterable, Sequence

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub
from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

from ...hw.emit.shared_block import describe

__all__ = ["PERIOD", "get", "make_simulator", "put", "require_no_loop", "simulate"]

#: Clock period in seconds; the one place to change when Amaranth requires a `Period`.
PERIOD = 1e-6


#: Designs already converted: class or factory, and description of attributes or arguments.
converted: set[tuple[type | Callable, str]] = set()


def require_no_loop(design: Elaboratable | Callable, *arguments, **options) -> None:
    """Convert a design to RTLIL, which reports combinational loops; a bench would hang on one.

    A design with the same class and attributes as an earlier one is not converted again.

    Parameters
    ----------
    design : Component, or callable
        The design, or its factory.
    *arguments
        Arguments of the factory.
    **options
        Options of the conversion.

    """
    is_made = isinstance(design, Elaboratable)
    kind = type(design) if is_made else design
    # Amaranth records the place of construction in `_MustUse` attributes.
    said = {name: each for name, each in vars(design).items() if not name.startswith("_MustUse")}
    try:
        key = (kind, describe([said if is_made else arguments, options]))
    except TypeError:  # an attribute cannot be described: equality is unknown
        key = None
    if key is not None and key in converted:
        return
    rtlil.convert(design if is_made else design(*arguments), **options)
    if key is not None:
        converted.add(key)


def make_simulator(dut, domains: Iterable[str]) -> Simulator:
    """Return a simulator of `dut` with all its `domains` on one common clock."""
    simulator = Simulator(dut)
    for domain in domains:
        simulator.add_clock(PERIOD, domain=domain)
    return simulator


def simulate(
    dut,
    *testbenches,
    domains: Sequence[str] = ("sync",),
    vcd: str | None = None,
    timeout: int = 100_000,
) -> None:
    """Run until every testbench returns; fail after `timeout` cycles instead of hanging.

    Parameters
    ----------
    dut : Component
        Design under test.
    testbenches : async callables
        Each takes the simulator context.
    domains : sequence of str
        Clock domains, all on one common clock; none for a purely combinational component.
    vcd : str or None
        Waveform file (VCD); None writes none.
    timeout : int
        Cycles after which the run fails with `TimeoutError`.

    """
    simulator = make_simulator(dut, domains)

    # A single delay wakes up once; waiting for ticks costs time in every cycle.
    async def give_up(ctx):
        await ctx.delay(timeout * PERIOD)
        raise TimeoutError(f"{type(dut).__name__} still busy after {timeout} cycles")

    simulator.add_testbench(give_up, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    if vcd is None:
        simulator.run()
        return
    with simulator.write_vcd(vcd):
        simulator.run()


async def put(ctx, port, payloads: Iterable, *, rng: random.Random, stall: float = 0.0) -> None:
    """Drive each payload on stream `port`; before each, idle per cycle with probability `stall`."""
    for payload in payloads:
        while rng.random() < stall:
            await ctx.tick()
        ctx.set(port.payload, payload)
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)


async def get(ctx, port, count: int, *, rng: random.Random, stall: float = 0.0) -> list:
    """Take `count` payloads from stream `port`; `ready` is low with probability `stall`."""
    payloads = []
    while len(payloads) < count:
        willing = rng.random() >= stall
        ctx.set(port.ready, willing)
        _, _, valid, payload = await ctx.tick().sample(port.valid, port.payload)
        if willing and valid:
            payloads.append(payload)
    ctx.set(port.ready, 0)
    return payloads
