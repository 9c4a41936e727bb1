"""DRAM model behind an L2 slice."""

import random
from collections import deque
from dataclasses import dataclass

from spica.hw.lib.axi import BURST_INCR, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.hw.memory.l2.layouts import L2SliceConfig
from support.memory.l2_port import FORWARD, Wires

__all__ = ["L2Dram"]


@dataclass
class Fetch:
    """A read burst at DRAM; each beat is sampled at some time from `due` on."""

    id: int
    address: int
    beats: int
    due: int
    given: int = 0


class L2Dram:
    """DRAM with latency, which answers reads of different ids in any order, beat by beat.

    A read samples memory at some time before its answer. Writes take effect in order, at some
    time before their replies.

    Parameters
    ----------
    config : L2SliceConfig
    wires : Wires
        Wires between the slice and DRAM.
    rng : random.Random
    memory : bytearray
        Contents from `base`.
    base : int
    latency, jitter : int
        Latency in cycles, and maximum additional random cycles.
    stall : float
        Probability of a pause, per channel and cycle.
    broken : range
        Addresses that it refuses, in addition to those after `memory`.

    """

    def __init__(
        self,
        config: L2SliceConfig,
        wires: Wires,
        rng: random.Random,
        memory: bytearray,
        *,
        base: int,
        latency: int,
        jitter: int,
        stall: float,
        broken: range,
    ):
        self.config, self.wires, self.rng, self.memory = config, wires, rng, memory
        self.base, self.latency, self.jitter = base, latency, jitter
        self.stall, self.broken = stall, broken
        self.fetched: list[tuple[int, int]] = []  # address and beats of reads
        self.stored: list[tuple[int, int, int]] = []  # address, beats, bytes of writes
        self.fetches: list[Fetch] = []
        self.bursts: deque = deque()
        self.beats: deque = deque()
        self.writes: deque = deque()
        self.codes: deque[int] = deque()

    @property
    def busy(self) -> bool:
        """Whether an access is in progress."""
        return bool(self.writes or self.bursts or self.fetches)

    def serve(self, seen, cycle: int) -> dict[str, int]:
        """Process the slice's outputs; return the inputs to drive."""
        wires, rng, size = self.wires, self.rng, self.config.beat_bytes
        for channel in ("ar", "aw"):
            if wires.moved(channel, seen):
                self.check_burst(channel, seen)
        if wires.moved("ar", seen):
            assert all(seen["arid"] != fetch.id for fetch in self.fetches), "read id already in use"
            due = cycle + self.latency + rng.randint(0, self.jitter)
            self.fetches.append(Fetch(seen["arid"], seen["araddr"], seen["arlen"] + 1, due))
            self.fetched.append((seen["araddr"], seen["arlen"] + 1))
        if wires.moved("aw", seen):
            self.bursts.append((seen["awaddr"], seen["awlen"] + 1))
        if wires.moved("w", seen):
            self.beats.append((seen["wdata"], seen["wstrb"], seen["wlast"]))
        while self.bursts and len(self.beats) >= self.bursts[0][1]:
            address, count = self.bursts.popleft()
            due = cycle + self.latency + rng.randint(0, self.jitter)
            beats = [self.beats.popleft() for _ in range(count)]
            assert [last for *_, last in beats] == [0] * (count - 1) + [1], "wlast is wrong"
            self.stored.append((address, count, sum(mask.bit_count() for _, mask, _ in beats)))
            self.writes.append((due, address, beats))
        while self.writes and self.writes[0][0] <= cycle and rng.random() >= self.stall:
            _, address, beats = self.writes.popleft()
            for number, (value, strobes, _) in enumerate(beats):
                for byte in range(size):
                    at = address + number * size + byte
                    if strobes >> byte & 1 and at not in self.broken:
                        self.memory[at - self.base] = value >> 8 * byte & 0xFF
            is_broken = address in self.broken
            self.codes.append(RESPONSE_SLAVE_ERROR if is_broken else RESPONSE_OKAY)
        return self.respond(seen, cycle)

    def check_burst(self, channel: str, seen):
        """Assert the rules of a burst."""
        size, line = self.config.beat_bytes, self.config.l2.line_bytes
        address, beats = seen[f"{channel}addr"], seen[f"{channel}len"] + 1
        assert seen[f"{channel}burst"] == BURST_INCR and 1 << seen[f"{channel}size"] == size
        assert address % size == 0 and address % line + beats * size <= line, "crosses a line"

    def respond(self, seen, cycle: int) -> dict[str, int]:
        """Select the DRAM responses of the next cycle; a refused offer stays."""
        wires, rng, size = self.wires, self.rng, self.config.beat_bytes
        values = {f"{channel}ready": int(rng.random() >= self.stall) for channel in FORWARD}
        if wires.moved("r", seen) or not wires.driven["rvalid"]:
            values["rvalid"] = 0
            due = [fetch for fetch in self.fetches if fetch.due <= cycle]
            if due and rng.random() >= self.stall:
                fetch = rng.choice(due) if self.jitter else due[0]
                at = fetch.address + fetch.given * size
                fetch.given += 1
                last = fetch.given == fetch.beats
                if last:
                    self.fetches.remove(fetch)
                data = int.from_bytes(self.memory[at - self.base : at - self.base + size], "little")
                is_broken = at in self.broken or at - self.base >= len(self.memory)
                code = RESPONSE_SLAVE_ERROR if is_broken else RESPONSE_OKAY
                values |= {"rvalid": 1, "rid": fetch.id, "rdata": data, "rresp": code}
                values["rlast"] = int(last)
        if wires.moved("b", seen) or not wires.driven["bvalid"]:
            values["bvalid"] = 0
            if self.codes and rng.random() >= self.stall:
                values |= {"bvalid": 1, "bresp": self.codes.popleft(), "bid": 0}
        return values
