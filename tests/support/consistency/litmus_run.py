"""Litmus tests on a cluster, compared with the outcomes that the memory order allows."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from spica.sim.golden.memory.memory_model import outcomes
from spica.sim.golden.memory.memory_steps import Agent, Fetch, Load, Places
from support.consistency.litmus_program import (
    BLOCK,
    FIELD,
    OUT,
    PRODUCT,
    WORDS_REPORTED,
    LitmusProgram,
)
from support.consistency.litmus_shapes import Shape
from support.programs.placed_program import PlacedProgram

__all__ = ["Seen", "allowed", "run_litmus"]

Values = tuple[int, ...]


@dataclass
class Seen:
    """Counts of each outcome (registers, and words of DRAM), and messages for forbidden ones."""

    counts: Counter[tuple[Values, Values]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def registers(self) -> Counter[Values]:
        """Counts of each combination of register values."""
        counts: Counter[Values] = Counter()
        for (registers, _), count in self.counts.items():
            counts[registers] += count
        return counts


@cache
def allowed(shape: Shape, beats: tuple[int | None, ...]) -> frozenset[tuple[Values, Values]]:
    """Return all allowed outcomes of a shape with these beats, without shared memory."""
    places = shape.places
    agents = [Agent(core, steps) for (core, _), steps in zip(shape.where, shape.steps, strict=True)]
    observed = [n for n, beat in enumerate(beats) if beat is not None]
    return frozenset(
        (registers, tuple(memory[n] for n in observed))
        for registers, memory in outcomes(agents, Places(dict(zip(places, beats, strict=True))))
    )


def run_litmus(
    run: Callable[[PlacedProgram], None],
    read: Callable[[int, int], np.ndarray],
    test: LitmusProgram,
) -> Seen:
    """Run a test and collect the outcome of each instance; `read` accesses DRAM directly."""
    run(test.program)
    shape, seen = test.shape, Seen()
    reported = read(OUT, 4 * WORDS_REPORTED * test.harts * test.rounds).view(np.uint32)
    reported = reported.reshape(test.rounds, test.harts, WORDS_REPORTED)
    words = read(FIELD, BLOCK * test.rounds).view(np.uint32)
    for number, instances in enumerate(test.where):
        for instance, where in enumerate(instances):
            registers = {}
            for (core, warp), steps in zip(shape.where, shape.steps, strict=True):
                row = reported[number, (core * test.warps + warp) * test.threads + instance]
                for kind in (Load, Fetch):
                    names = [step.register for step in steps if isinstance(step, kind)]
                    registers |= dict(zip(names, row.tolist(), strict=False))
                    row = row[len(names) :]
            memory = tuple(
                int(words[(at - FIELD) // 4]) >> (20 if place.startswith("i") else 0)
                for place, at in where.items()
                if not place.startswith("s")
            )
            if "c" in where:
                registers = {name: plain(value) for name, value in registers.items()}
                memory = tuple(map(plain, memory))
            outcome = tuple(registers[name] for name in sorted(registers)), memory
            seen.counts[outcome] += 1
            if outcome not in allowed(shape, beats_of(test, where)):
                seen.wrong.append(f"round {number}, thread {instance}, {where}: {outcome}")
    return seen


def plain(value: int) -> int:
    """Return 1 for a product of the matrix unit, which stands for its inputs."""
    return 1 if value == PRODUCT else value


def beats_of(test: LitmusProgram, where: dict[str, int]) -> tuple[int | None, ...]:
    """Return the beat of each word, numbered from 0; None in shared memory."""
    size, numbers = test.config.axi.beat_bytes, {}
    return tuple(
        None if place.startswith("s") else numbers.setdefault(at // size, len(numbers))
        for place, at in where.items()
    )
