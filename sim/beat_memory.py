"""A DRAM behind an AXI4 master: late, stalling, beats of reads of several ids shuffled."""

import random
from collections import deque
from dataclasses import dataclass

from ..hw.axi import BURST_INCR, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from ..hw.config import AxiConfig
from .golden.dma import SparseMemory

__all__ = ["BeatMemory"]

CHANNELS = {
    "ar": ("arid", "araddr", "arlen", "arsize", "arburst"),
    "aw": ("awid", "awaddr", "awlen", "awsize", "awburst"),
    "w": ("wdata", "wstrb", "wlast"),
}


@dataclass
class Pending:
    """A beat of a read that is not answered: sampled somewhen from `due` on."""

    id: int
    address: int
    due: int
    last: bool = True
    value: int | None = None


class BeatMemory:
    """Answer one AXI4 master from a memory, a cycle at a time, and assert the rules of AXI4.

    Reads see memory at a random time between address and answer; those of different ids are
    answered in any order, also beat by beat. A write takes effect at a random time before its
    response, but for its beats that are refused; those of one id in order, others in any. It is an
    error too if a write response is refused: somebody else's may be behind it.

    Parameters
    ----------
    axi : interface of Axi4Signature
        Seen from outside.
    memory : SparseMemory
    config : AxiConfig
    rng : random.Random
    index : int
        Which of the interleaved masters this is.
    jitter : int
        Cycles that an access may take more than one, at random.
    stall : float
        Probability that a channel pauses, per channel and cycle.
    broken : range
        Addresses that answer with SLVERR.
    refused : range
        Addresses of which writes do.

    Attributes
    ----------
    bursts_read, bursts_written : list of (int, int)
        Address and beats of each read and of each write.

    """

    def __init__(
        self,
        axi,
        memory: SparseMemory,
        config: AxiConfig,
        rng: random.Random,
        *,
        index: int,
        jitter: int = 0,
        stall: float = 0.0,
        broken: range = range(0),
        refused: range = range(0),
    ):
        self.memory, self.config, self.rng, self.index = memory, config, rng, index
        self.jitter, self.stall, self.broken = jitter, stall, broken
        self.refused_writes = refused
        names = [name for channel in CHANNELS.values() for name in channel]
        self.names = [*names, "arvalid", "awvalid", "wvalid", "rready", "bready"]
        self.samples = [getattr(axi, name) for name in self.names]
        self.answers = ("arready", "awready", "wready", "rvalid", "rid", "rdata", "rresp", "rlast")
        self.answers += ("bvalid", "bid", "bresp")
        self.drives = [getattr(axi, name) for name in self.answers]
        self.driven: dict[str, int] = dict.fromkeys(self.answers, 0)
        self.refused: dict[str, tuple] = {}
        self.now = 0
        self.reads: list[Pending] = []
        self.bursts: deque = deque()  # (id, address, beats) that wait for their beats
        self.beats: deque = deque()  # (value, strobes)
        self.writes: list = []  # (id, [(address, value, strobes), …], due) not done yet
        self.replies: list = []  # (id, response)
        self.bursts_read: list[tuple[int, int]] = []
        self.bursts_written: list[tuple[int, int]] = []

    @property
    def idle(self) -> bool:
        """Nothing is owed on either side."""
        owed = (self.reads, self.bursts, self.beats, self.writes, self.replies)
        return not any(owed) and not (self.driven["rvalid"] or self.driven["bvalid"])

    def step(self, values) -> list[int]:
        """Take what the master shows before a clock edge; return what to drive after it."""
        seen = dict(zip(self.names, values, strict=True))
        driven = self.driven
        assert seen["bready"] or not driven["bvalid"], "a response is refused, and those behind it"
        for channel, members in CHANNELS.items():
            self.check_stable(channel, seen, tuple(seen[name] for name in members))
        if seen["arvalid"] and driven["arready"]:
            self.check_address("ar", seen)
            for n in range(seen["arlen"] + 1):
                at = seen["araddr"] + n * self.config.beat_bytes
                self.reads.append(Pending(seen["arid"], at, self.after(), n == seen["arlen"]))
            self.bursts_read.append((seen["araddr"], seen["arlen"] + 1))
        if seen["awvalid"] and driven["awready"]:
            self.check_address("aw", seen)
            self.bursts.append((seen["awid"], seen["awaddr"], seen["awlen"] + 1))
            self.bursts_written.append((seen["awaddr"], seen["awlen"] + 1))
        if seen["wvalid"] and driven["wready"]:
            self.beats.append((seen["wdata"], seen["wstrb"], seen["wlast"]))
        self.begin_writes()
        self.progress()
        self.now += 1
        self.driven = self.answer(seen)
        return [self.driven[name] for name in self.answers]

    def begin_writes(self):
        """Begin the writes of which all beats have come."""
        size = self.config.beat_bytes
        while self.bursts and len(self.beats) >= self.bursts[0][2]:
            name, address, count = self.bursts.popleft()
            beats = [self.beats.popleft() for _ in range(count)]
            assert [last for *_, last in beats] == [0] * (count - 1) + [1], "wlast is the last's"
            values = [(address + n * size, *beat[:2]) for n, beat in enumerate(beats)]
            self.writes.append((name, values, self.after()))

    def after(self) -> int:
        """Return when an access may be done."""
        return self.now + self.rng.randint(0, self.jitter)

    def check_stable(self, channel, seen, payload):
        valid = seen[f"{channel}valid"]
        if channel in self.refused:
            assert valid, f"{channel}valid dropped before it was accepted"
            assert payload == self.refused[channel], f"{channel} changed while it waited"
        self.refused.pop(channel, None)
        if valid and not self.driven[f"{channel}ready"]:
            self.refused[channel] = payload

    def check_address(self, channel, seen):
        size, address = self.config.beat_bytes, seen[f"{channel}addr"]
        assert 1 << seen[f"{channel}size"] == size
        last = address + seen[f"{channel}len"] * size
        assert last // self.config.interleave_bytes == address // self.config.interleave_bytes
        assert seen[f"{channel}burst"] == BURST_INCR and address % size == 0
        master = address // self.config.interleave_bytes % self.config.masters
        assert master == self.index, f"{address:#x} on the wrong master"

    def progress(self):
        """Sample reads and carry out writes whose time has come."""
        size = self.config.beat_bytes
        for read in self.reads:
            if read.value is None and read.due <= self.now:
                read.value = int.from_bytes(self.memory.read(read.address, size), "little")
        blocked = set()
        for write in list(self.writes):
            name, beats, due = write
            if name in blocked or due > self.now:
                blocked.add(name)
                continue
            self.writes.remove(write)
            fails = [at in self.broken or at in self.refused_writes for at, *_ in beats]
            for (at, value, strobes), is_refused in zip(beats, fails, strict=True):
                if not is_refused and strobes:
                    self.memory.write_masked(at, value, strobes, size)
            self.replies.append((name, RESPONSE_SLAVE_ERROR if any(fails) else RESPONSE_OKAY))

    def answer(self, seen) -> dict[str, int]:
        """Choose the next cycle's outputs; an offer that was refused stays."""
        before, rng = self.driven, self.rng
        chosen = {f"{c}ready": int(rng.random() >= self.stall) for c in CHANNELS}
        if not before["rvalid"] or seen["rready"]:
            chosen["rvalid"] = 0
            done, ids = [], set()
            for read in self.reads:  # of one id only the first
                if read.id not in ids and read.value is not None:
                    done.append(read)
                ids.add(read.id)
            if done and rng.random() >= self.stall:
                read = rng.choice(done)
                self.reads.remove(read)
                code = RESPONSE_SLAVE_ERROR if read.address in self.broken else RESPONSE_OKAY
                assert read.value is not None
                chosen |= {"rvalid": 1, "rid": read.id, "rdata": read.value, "rresp": code}
                chosen["rlast"] = int(read.last)
        if not before["bvalid"] or seen["bready"]:
            chosen["bvalid"] = 0
            if self.replies and rng.random() >= self.stall:
                name, code = self.replies.pop(0)
                chosen |= {"bvalid": 1, "bid": name, "bresp": code}
        return before | chosen
