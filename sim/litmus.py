"""Runs litmus tests on a cluster and compares what was seen with what the model allows."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from .golden.memory_order import outcomes
from .golden.memory_steps import Agent, Fetch, Load, Places
from .litmus_shapes import Shape
from .programs.litmus import BLOCK, FIELD, KEPT, OUT, PRODUCT, LitmusProgram
from .programs.placed import PlacedProgram

__all__ = ["Seen", "allowed", "run_litmus"]

Values = tuple[int, ...]


@dataclass
class Seen:
    """How often each outcome was seen: registers and words of DRAM; and those not allowed."""

    counts: Counter[tuple[Values, Values]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    @property
    def registers(self) -> Counter[Values]:
        """How often registers had which values."""
        found: Counter[Values] = Counter()
        for (registers, _), count in self.counts.items():
            found[registers] += count
        return found


@cache
def allowed(shape: Shape, beats: tuple[int | None, ...]) -> frozenset[tuple[Values, Values]]:
    """Return all outcomes of a shape by the beats of its places, shared memory left out."""
    places = shape.places
    agents = [Agent(core, steps) for (core, _), steps in zip(shape.where, shape.steps, strict=True)]
    kept = [n for n, beat in enumerate(beats) if beat is not None]
    return frozenset(
        (registers, tuple(memory[n] for n in kept))
        for registers, memory in outcomes(agents, Places(dict(zip(places, beats, strict=True))))
    )


def run_litmus(
    run: Callable[[PlacedProgram], None],
    read: Callable[[int, int], np.ndarray],
    test: LitmusProgram,
) -> Seen:
    """Run a test and look at each of its instances; `read` is the back door to DRAM."""
    run(test.program)
    shape, seen = test.shape, Seen()
    kept = read(OUT, 4 * KEPT * test.harts * test.rounds).view(np.uint32)
    kept = kept.reshape(test.rounds, test.harts, KEPT)
    words = read(FIELD, BLOCK * test.rounds).view(np.uint32)
    for number, instances in enumerate(test.where):
        for instance, where in enumerate(instances):
            registers = {}
            for (core, warp), steps in zip(shape.where, shape.steps, strict=True):
                row = kept[number, (core * test.warps + warp) * test.threads + instance]
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
                registers = {name: told(value) for name, value in registers.items()}
                memory = tuple(map(told, memory))
            outcome = tuple(registers[name] for name in sorted(registers)), memory
            seen.counts[outcome] += 1
            if outcome not in allowed(shape, beats_of(test, where)):
                seen.wrong.append(f"round {number}, thread {instance}, {where}: {outcome}")
    return seen


def told(value: int) -> int:
    """Return 1 for a product, which stands for what it is made of."""
    return 1 if value == PRODUCT else value


def beats_of(test: LitmusProgram, where: dict[str, int]) -> tuple[int | None, ...]:
    """Return which words are in a beat together: numbers from 0 on, None in shared memory."""
    size, numbers = test.config.axi.beat_bytes, {}
    return tuple(
        None if place.startswith("s") else numbers.setdefault(at // size, len(numbers))
        for place, at in where.items()
    )
