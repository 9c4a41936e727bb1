"""Bench of a whole core: runs a program from a simple memory on Amaranth's simulator."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from spica.hw.config import CoreBlockConfig, MachineConfig
from spica.hw.core.core import Core
from spica.hw.isa.memory_map import ENTRY
from spica.hw.isa.program import assemble_program
from spica.sim.engine.testbench import simulate
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from support.core.fetch_memory import FetchMemory
from support.core.simple_memory import SimpleMemory

__all__ = ["CoreRun", "run_core", "run_model"]


@dataclass
class CoreRun:
    """Outcome of a run: cycles until idle, instructions, final memory.

    ``seen`` has the values of the observed signals in each of these cycles, and in the idle one.
    """

    cycles: int
    instructions: int
    memory: bytes
    exit_code: int
    faults: list[str]
    seen: list[tuple[int, ...]] = field(default_factory=list)


def run_model(config: MachineConfig, text: str, room: int, *, limit: int = 100_000) -> Iss:
    """Return the instruction-set model after it has run a program."""
    iss = Iss(config)
    iss.write(ENTRY, image(text, room))
    outcome = iss.run(limit)
    assert outcome.stop is StopReason.DONE, outcome
    return iss


def image(text: str, room: int) -> bytes:
    """Return `room` bytes of memory that start with a program."""
    data = assemble_program(text).data
    assert len(data) <= room, "the program must fit into memory"
    return data + bytes(room - len(data))


def run_core(
    config: MachineConfig,
    text: str,
    room: int,
    *,
    seed: int = 1,
    timeout: int = 20_000,
    observe: Callable[[Core], Sequence] = lambda core: (),
    **timing,
) -> CoreRun:
    """Run a program on the RTL until it is idle; `timing` is that of `SimpleMemory`.

    `look` returns the signals of the elaborated core to observe.
    """
    core = config.core
    assert core is not None
    rng = random.Random(seed)
    dut = Core(CoreBlockConfig.of(config))
    memory = SimpleMemory(
        config=core, base=ENTRY, contents=bytearray(image(text, room)), rng=rng, **timing
    )
    run = CoreRun(0, 0, b"", 0, [])
    over = False

    def word(address: int) -> int | None:
        at = address - ENTRY
        return int.from_bytes(memory.contents[at : at + 4], "little") if 0 <= at < room else None

    fetches = FetchMemory(core, dut.fetch, dut.fetched, word, rng)

    async def serve_fetch(ctx):
        while not over:
            fetches.drive(ctx)
            _, _, *seen = await ctx.tick().sample(*fetches.samples)
            fetches.take(*seen)

    async def serve_data(ctx):
        await memory.serve(ctx, dut.request, dut.response, lambda: over)

    async def watch(ctx):
        nonlocal over
        ctx.set(dut.start, 1)
        done = [bus.valid for bus in dut.observed.done]
        seen = observe(dut)
        while True:
            values = await ctx.tick().sample(
                dut.runs, dut.fault.valid, dut.memory_fault.valid, *done, *seen
            )
            runs, fault, memory_fault, *valid = values[2 : 5 + len(done)]
            run.cycles += 1
            run.instructions += sum(valid)
            run.seen.append(values[5 + len(done) :])
            if fault or memory_fault:
                run.faults.append(f"cycle {run.cycles}")
            if run.faults or not runs:
                break
        run.exit_code = ctx.get(dut.exit_code)
        over = True

    simulate(dut, serve_fetch, serve_data, watch, timeout=timeout)
    run.memory = bytes(memory.contents)
    return run
