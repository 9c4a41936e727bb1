"""Bench of an L2 slice with atomics, against the golden model of its writes."""

import random
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from amaranth import Cat, Value

from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.l2.layouts import L2SliceConfig
from spica.sim.golden.memory.l2.l2_slice import AtomicRequest, SliceMemory
from support.memory.l2_bench import Burst, L2Bench

__all__ = ["AtomicBurst", "L2AtomicBench"]

MASKS = (0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100, 0b1111, 0b1111)
CONDITIONAL = (AtomicOperation.LR, AtomicOperation.SC)


@dataclass
class AtomicBurst(Burst):
    """An atomic: a write of one beat; its result is expected when it is done."""

    operation: AtomicOperation = AtomicOperation.ADD
    owner: int = 0  # within its source
    result: int | None = None  # of the slice
    expected: int | None = None
    done: int = -1


class L2AtomicBench(L2Bench):
    """Bench of an `L2Slice` with atomics: `SliceMemory` does a write in the cycle it is looked up.

    Results of atomics must be equal, and reads see the values of `L2Bench`.
    """

    def __init__(self, config: L2SliceConfig, rng: random.Random, **options):
        super().__init__(config, rng, **options)
        contents = bytes(values[-1] for values in self.history)
        self.model = SliceMemory(config, self.base, contents)
        self.gathered: deque[Burst] = deque()  # writes that are not done
        self.counts = {"retries": 0, "stored": 0}

    @cached_property
    def outcome(self) -> Value:
        stage: Any = self.dut.tag_stage
        return Cat(stage.outcome.done, stage.outcome.undone, stage.atomic.fails)

    def user_bits(self, channel: str, burst: Burst) -> dict[str, int]:
        if channel != "aw":
            return {}
        if not isinstance(burst, AtomicBurst):
            return {"awuser": self.rng.getrandbits(5 + (self.config.owner_width or 0)) << 1}
        return {"awuser": 1 | burst.operation << 1 | burst.owner << 6}

    def give(self, burst: Burst):
        """Queue a complete write until it is done."""
        assert burst.writes is not None
        del self.arrived[: len(burst.writes)]
        burst.since = self.cycle
        self.gathered.append(burst)
        self.pending.setdefault(burst.id, deque()).append((burst, {}))

    def record_lookup(self, outcome: int):
        """Do the oldest write when it is done."""
        done, undone, fails = (outcome >> n & 1 for n in range(3))
        self.counts["retries"] += undone
        if not done:
            self.model.step()
            return
        burst, size = self.gathered.popleft(), self.config.beat_bytes
        atomic = None
        assert burst.writes is not None
        if isinstance(burst, AtomicBurst):
            burst.done = self.cycle
            owner = burst.owner | burst.id >> self.own_width << (self.config.owner_width or 0)
            atomic = AtomicRequest(burst.operation, owner)
        if fails or burst.address in self.broken:
            self.model.step()
            return
        result = self.model.step(burst.address, burst.writes, atomic)
        if isinstance(burst, AtomicBurst):
            burst.expected = result
            self.counts["stored"] += burst.operation == AtomicOperation.SC and not result
        indices = next(indices for other, indices in self.pending[burst.id] if other is burst)
        start = burst.address - self.base
        for at in range(start, start + size * len(burst.writes)):
            values, value = self.history[at], self.model.memory[at]
            strobes = burst.writes[(at - start) // size][1]
            if strobes >> (at - start) % size & 1 and (atomic is None or value != values[-1]):
                values.append(value)
            if strobes >> (at - start) % size & 1:
                indices[at] = len(values) - 1

    @property
    def own_width(self) -> int:
        """Bits of an id below its source."""
        return self.config.id_width - self.config.source_width

    def end(self, seen):
        burst, _ = self.pending[seen["bid"]][0]
        if isinstance(burst, AtomicBurst):
            burst.result = seen["buser"]
            if seen["bresp"] == 0:
                assert burst.done >= 0, "an atomic is replied to before it is done"
                assert burst.expected is None or burst.result == burst.expected, (
                    f"cycle {self.cycle}: {burst} returns {burst.result:#x}"
                )
        super().end(seen)

    def atomic(self, identity: int, word: int, operation=AtomicOperation.ADD, **fields):
        """Return an atomic of a word, numbered from `base`; values default to random ones."""
        rng, size = self.rng, self.config.beat_bytes
        mask, owner = fields.get("mask", 0b1111), fields.get("owner", 0)
        values = [
            fields.get(name, rng.choice([0, 1, 0x7F, 0x8000_0000, rng.getrandbits(32)]))
            for name in ("operand", "expected")
        ]
        address, place = self.base + 4 * word // size * size, 4 * word % size // 4
        beat = rng.getrandbits(8 * size)
        for n, value in ((place, values[0]), (place ^ 1, values[1])):
            beat = beat & ~(0xFFFF_FFFF << 32 * n) | value << 32 * n
        return AtomicBurst(
            identity, address, writes=[(beat, mask << 4 * place)], operation=operation, owner=owner
        )

    def atomics(self, identity: int, words, operation=AtomicOperation.ADD, **fields) -> list:
        """Return an atomic of each word."""
        return [self.atomic(identity, word, operation, **fields) for word in words]

    def random_atomic(self, words, ids) -> AtomicBurst:
        """Return a random atomic of some words and ids."""
        rng = self.rng
        operation = rng.choice([*AtomicOperation, *CONDITIONAL])
        mask = 0b1111 if operation in CONDITIONAL else rng.choice(MASKS)
        owner = rng.randrange(1 << (self.config.owner_width or 0))
        return self.atomic(rng.choice(ids), rng.choice(words), operation, mask=mask, owner=owner)

    def mixed(self, count: int, *, lines, ids, words, writes: float = 0.3, atomics: float = 0.5):
        """Return random bursts at some lines, and atomics of some words.

        A store-conditional often follows the load-reserved of its thread.
        """
        rng, bursts = self.rng, []
        for burst in self.random_bursts(count, lines=lines, ids=ids, writes=writes):
            if rng.random() >= atomics:
                bursts.append(burst)
                continue
            bursts.append(self.random_atomic(words, ids))
            last = bursts[-1]
            if last.operation == AtomicOperation.LR and rng.random() < 0.7:
                word = self.word_of(last)
                again = self.atomic(last.id, word, AtomicOperation.SC, owner=last.owner)
                bursts.append(again)
        return bursts

    def word_of(self, burst: AtomicBurst) -> int:
        """Return the number of an atomic's word from `base`."""
        assert burst.writes is not None
        strobes = burst.writes[0][1]
        return (burst.address - self.base + (strobes & -strobes).bit_length() - 1) // 4
