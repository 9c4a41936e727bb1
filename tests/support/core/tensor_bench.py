"""Bench of the tensor unit: random matrix products as micro-operations, and their results."""

import random
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from bench.units.operands.dot_product import dot_operands
from bench.units.tree import tree_operands
from spica.hw.arith.dot_product.config import DotProductConfig
from spica.hw.config import CoreConfig
from spica.hw.lib.interfaces.execution_unit import operation_layout, result_layout
from spica.hw.styles.register_fed.config import RegisterFedConfig
from spica.hw.styles.register_fed.register_fed_unit import RegisterFedUnit
from spica.sim.engine.block_bench import BlockBench
from spica.sim.engine.testbench import Simulation, require_no_loop
from spica.sim.golden.styles.register_fed.hmma import hmma, pack_a, pack_b, pack_c

__all__ = ["TensorRun", "core_with", "fragments", "instructions", "results_of"]

#: Instructions that the unit has room for.
CREDITS = 2


def core_with(tensor: RegisterFedConfig, **fields) -> CoreConfig:
    """Return a core with tensor instructions of this config."""
    return CoreConfig(tensor=tensor, threads=tensor.threads, **fields)


def fragments(tensor: RegisterFedConfig, rng: np.random.Generator, count: int) -> np.ndarray:
    """Return the float registers of warps: A, B and twice C of products in which extremes meet."""
    dot = DotProductConfig.of(tensor)
    operands = tree_operands if dot.is_tree else dot_operands
    rows, columns, depth = tensor.rows, 8, tensor.depth
    vectors = operands(dot, rng, count * rows * tensor.sets)
    a = vectors["a"].reshape(count, rows, depth)
    b = vectors["b"].reshape(count, rows, depth)[:, :columns].transpose(0, 2, 1)
    c = rng.choice(vectors["c"], (count, rows, columns))
    # The vectors meet on the diagonal.
    diagonal = np.arange(columns)
    diagonals = vectors["c"].reshape(count, rows, tensor.sets)
    c[:, diagonal, diagonal] = diagonals[:, :columns, 0]
    registers = rng.integers(0, 1 << 32, (count, 32, tensor.threads), dtype=np.uint32)
    spare = np.uint32((1 << (tensor.operand_width - dot.a_format.width)) - 1)
    for first, packed in ((0, pack_a(a, tensor)), (8, pack_b(b, tensor))):
        chosen = registers[:, first : first + packed.shape[1]]
        chosen[...] = (chosen & spare) | packed
    for first in range(16, 32, tensor.registers):
        registers[:, first : first + tensor.registers] = pack_c(c)
    return registers


def instructions(config: CoreConfig, count: int, seed: int) -> list[list[dict]]:
    """Return the micro-operations of random products, a list for each."""
    rng, tensor = random.Random(seed), RegisterFedConfig.of(config.tensor)
    size, lanes = tensor.registers, tensor.threads
    posed = []
    for registers in fragments(
        RegisterFedConfig.of(config.tensor), np.random.default_rng(seed), count
    ):
        group, full = rng.randrange(16 // size), (1 << lanes) - 1
        common = {
            "warp": rng.randrange(config.warps),
            "mask": rng.choice([full, rng.getrandbits(lanes)]),
            "pc": rng.getrandbits(32),
            "writes": 1,
            **{name: rng.getrandbits(1) for name in ("a_is_pc", "b_is_immediate")},
        }
        posed.append([
            common
            | {"rd": 48 + size * group + beat, "beat": beat}
            | {"operands": [registers[at + beat].tolist() for at in (0, 8, 16 + size * group)]}
            for beat in range(size)
        ])
    return posed


def results_of(config: CoreConfig, instruction: list[dict]) -> list[dict]:
    """Return the results of an instruction, by the golden model."""
    size = RegisterFedConfig.of(config.tensor).registers
    registers = np.zeros((32, config.threads), np.uint32)
    for k, first in enumerate((0, 8, 16)):
        registers[first : first + size] = [step["operands"][k] for step in instruction]
    values = hmma(registers, config=RegisterFedConfig.of(config.tensor))[16 : 16 + size]
    common = {name: instruction[0][name] for name in ("warp", "mask", "pc")}
    return [
        common
        | {"rd": step["rd"], "writes": 1, "flags": 0, "more": int(beat < size - 1)}
        | {"values": values[beat].tolist()}
        for beat, step in enumerate(instruction)
    ]


@lru_cache(maxsize=8)
def simulated_unit(config: CoreConfig) -> tuple[RegisterFedUnit, Simulation]:
    """Return a tensor unit and its simulation, which all runs of the config share."""
    unit = require_no_loop(RegisterFedUnit(config))
    return unit, Simulation(unit)


class TensorRun:
    """Run of a tensor unit: offers instructions as its credits allow, and collects the results.

    Parameters
    ----------
    config : CoreConfig
    instructions : list of list of dict
        Micro-operations of each instruction.
    seed : int
    pause, stall : float
        Probability of a cycle without a micro-operation, and of one in which results are refused.
    overlap : bool
        Whether the first micro-operations of an instruction may precede the last ones of an older
        instruction of another warp.
    willing : callable or None
        ``willing(cycle)`` is the `ready` of `o`, in place of `stall`.
    is_native : bool
        Whether to run on Verilator instead of Amaranth's simulator.

    Attributes
    ----------
    accepted, taken, active : list of int
        Cycles in which a micro-operation was accepted, a result taken, a step started.
    results : list of dict

    """

    def __init__(
        self,
        config: CoreConfig,
        instructions: list[list[dict]],
        *,
        seed: int = 1,
        pause: float = 0.0,
        stall: float = 0.0,
        overlap: bool = False,
        willing: Callable[[int], bool] | None = None,
        is_native: bool = False,
    ):
        self.config, self.rng = config, random.Random(seed)
        self.waiting = [list(operations) for operations in instructions]
        self.begun: list[list[dict]] = []
        self.credits, self.overlap = CREDITS, overlap
        self.pause, self.stall, self.willing = pause, stall, willing
        self.results: list[dict] = []
        self.accepted: list[int] = []
        self.result_cycles: list[int] = []
        self.active: list[int] = []
        self.cycle = 0
        self.expected = sum(len(operations) for operations in instructions)
        if is_native:
            self.run_native(RegisterFedUnit(config))
        else:
            unit, simulation = simulated_unit(config)
            simulation.run(self.bench_of(unit), timeout=20_000)

    def next_operation(self) -> dict | None:
        """Return the next micro-operation, if one is offered in this cycle."""
        if self.rng.random() < self.pause:
            return None
        while self.credits and self.waiting:
            self.begun.append(self.waiting.pop(0))
            self.credits -= 1
        if not self.begun:
            return None
        chosen = first = self.begun[0]
        if self.overlap and len(self.begun) > 1 and len(first) <= 3:
            second = self.begun[1]
            if first[0]["warp"] != second[0]["warp"]:
                chosen = self.rng.choice([first, second])
        operation = chosen.pop(0)
        self.begun = [step for step in self.begun if step]
        self.accepted.append(self.cycle)
        return operation

    def is_willing(self) -> bool:
        """Return whether a result is accepted in this cycle."""
        if self.willing is not None:
            return self.willing(self.cycle)
        return self.rng.random() >= self.stall

    def observe(self, result: dict | None, active: int, released: int):
        """Record the outputs of this cycle."""
        if result is not None:
            self.result_cycles.append(self.cycle)
            self.results.append(result)
        if active:
            self.active.append(self.cycle)
        self.credits += released
        self.cycle += 1

    def bench_of(self, unit: RegisterFedUnit):
        """Return the testbench for Amaranth's simulator."""

        async def bench(ctx):
            while len(self.results) < self.expected:
                operation, ready = self.next_operation(), self.is_willing()
                ctx.set(unit.i.valid, operation is not None)
                if operation is not None:
                    ctx.set(unit.i.payload, operation)
                assert ctx.get(unit.i.ready)
                ctx.set(unit.o.ready, ready)
                accepted = ready and ctx.get(unit.o.valid)
                result = result_of(ctx.get(unit.o.payload)) if accepted else None
                self.observe(result, ctx.get(unit.events.active), ctx.get(unit.released))
                await ctx.tick()

        return bench

    def run_native(self, unit: RegisterFedUnit):
        """Run on Verilator, a cycle at a time."""
        given, shown = operation_layout(self.config), result_layout(self.config)
        words = -(-given.size // 32)
        with BlockBench(unit, optimize=0) as bench:
            bench.reset()
            while len(self.results) < self.expected:
                operation, ready = self.next_operation(), self.is_willing()
                bits = given.const(operation).as_bits() if operation else 0
                payload = np.frombuffer(bits.to_bytes(4 * words, "little"), np.uint32)
                o = bench.run(
                    1, i_valid=[operation is not None], i_payload=[payload], o_ready=[ready]
                )
                assert o["i_ready"][0]
                result = None
                if ready and o["o_valid"][0]:
                    packed = np.ascontiguousarray(o["o_payload"][0]).tobytes()
                    result = result_of(shown.from_bits(int.from_bytes(packed, "little")))
                self.observe(result, int(o["active"][0]), int(o["released"][0]))
                assert self.cycle < 1000 * (self.expected + 1), "the unit hangs"


def result_of(payload) -> dict:
    """Return a result as numbers."""
    names = ("warp", "mask", "pc", "rd", "writes", "flags", "more")
    values = [int(payload.values[lane]) for lane in range(payload.values.shape().length)]
    return {name: int(payload[name]) for name in names} | {"values": values}
