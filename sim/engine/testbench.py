"""Block benches on Amaranth's simulator: run testbenches, drive and drain streams."""

import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub
from amaranth.hdl import Elaboratable
from amaranth.sim import Simulator

from ...hw.emit.amaranth_patches import simulation_patch
from ...hw.emit.shared_block import describe

__all__ = [
    "PERIOD",
    "Simulation",
    "get",
    "make_simulator",
    "put",
    "require_no_loop",
    "simulate",
]

DesignT = TypeVar("DesignT", bound=Elaboratable | Callable)

#: Clock period in seconds; the one place to change when Amaranth requires a `Period`.
PERIOD = 1e-6


#: Designs already converted: class or factory, and description of attributes or arguments.
converted: set[tuple[type | Callable, str]] = set()


def require_no_loop(design: DesignT, *arguments, **options) -> DesignT:
    """Return a design once its conversion to RTLIL reports no loop; a bench would hang on one.

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
    attributes = {
        name: value for name, value in vars(design).items() if not name.startswith("_MustUse")
    }
    try:
        key = (kind, describe([attributes if is_made else arguments, options]))
    except TypeError:  # an attribute cannot be described: equality is unknown
        key = None
    if key is None or key not in converted:
        rtlil.convert(design if is_made else design(*arguments), **options)
    if key is not None:
        converted.add(key)
    return design


def make_simulator(dut, domains: Iterable[str]) -> Simulator:
    """Return a simulator of `dut` with all its `domains` on one common clock."""
    with simulation_patch():
        simulator = Simulator(dut)
    for domain in domains:
        simulator.add_clock(PERIOD, domain=domain)
    return simulator


class Simulation:
    """A design on Amaranth's simulator, built once for any number of runs.

    Each run starts in the initial state: signals, memories and time are reset. To build the
    simulator takes as long as hundreds of cycles, so benches share it between runs of one design.

    Parameters
    ----------
    dut : Component
        Design under test.
    domains : sequence of str
        Clock domains, all on one common clock; none for a purely combinational component.

    """

    def __init__(self, dut, domains: Sequence[str] = ("sync",)):
        self.dut, self.domains = dut, domains
        self.simulator: Simulator | None = None
        self.testbenches: Sequence[Callable] = ()
        self.timeout, self.places = 0, 0

    # A single delay wakes up once; waiting for ticks costs time in every cycle.
    async def give_up(self, ctx):
        """Fail after the current run's maximum number of cycles."""
        await ctx.delay(self.timeout * PERIOD)
        raise TimeoutError(f"{type(self.dut).__name__} still busy after {self.timeout} cycles")

    def start(self) -> Simulator:
        """Return the simulator in its initial state, with a place for each testbench.

        A simulator keeps its testbenches, so each of them is a place that executes the testbench
        of the current run.
        """
        if self.simulator is None:
            self.simulator, self.places = make_simulator(self.dut, self.domains), 0
            self.simulator.add_testbench(self.give_up, background=True)
        else:
            self.simulator.reset()
        while self.places < len(self.testbenches):
            self.simulator.add_testbench(partial(self.execute, self.places))
            self.places += 1
        return self.simulator

    async def execute(self, place: int, ctx):
        """Execute a testbench of the current run, which may have fewer than an earlier one."""
        if place < len(self.testbenches):
            await self.testbenches[place](ctx)

    def run(self, *testbenches, vcd: str | None = None, timeout: int = 100_000) -> None:
        """Run from the initial state until every testbench returns, as `simulate`."""
        self.testbenches, self.timeout = testbenches, timeout
        simulator = self.start()
        try:
            with simulation_patch(), simulator.write_vcd(vcd) if vcd else nullcontext():
                simulator.run()
        except BaseException:
            self.simulator = None  # testbenches may be in the middle of a cycle
            raise


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
    Simulation(dut, domains).run(*testbenches, vcd=vcd, timeout=timeout)


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
