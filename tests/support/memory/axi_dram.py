"""AXI4 memory with random latency and stalls, and interleaved beats of reads of several ids."""

import random
from collections import deque
from dataclasses import dataclass

from spica.hw.config import AxiConfig
from spica.hw.lib.axi import BURST_INCR, RESPONSE_OKAY, RESPONSE_SLAVE_ERROR
from spica.sim.golden.memory.dma.dma import SparseMemory

__all__ = ["BeatMemory"]

CHANNELS = {
    "ar": ("arid", "araddr", "arlen", "arsize", "arburst"),
    "aw": ("awid", "awaddr", "awlen", "awsize", "awburst"),
    "w": ("wdata", "wstrb", "wlast"),
}


@dataclass
class Pending:
    """A beat of a read to be answered; sampled at some time from `due` on."""

    id: int
    address: int
    due: int
    last: bool = True
    value: int | None = None


class BeatMemory:
    """AXI4 memory of one master, one cycle at a time, that asserts the rules of AXI4.

    A read samples memory at a random time between address and answer. Reads of different ids are
    answered in any order, also beat by beat. A write takes effect at a random time before its
    response, except for its refused beats. Writes of one id are in order, others in any order. A
    refused write response is an error too, as it blocks responses of other masters.

    Parameters
    ----------
    axi : interface of Axi4Signature
        Seen from outside the master.
    memory : SparseMemory
    config : AxiConfig
    rng : random.Random
    index : int
        Number of this master among the interleaved ones.
    jitter : int
        Maximum additional random cycles of an access.
    stall : float
        Probability of a pause, per channel and cycle.
    broken : range
        Addresses that are answered with SLVERR.
    refused : range
        Addresses whose writes are answered with SLVERR.

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
        self.bursts: deque = deque()  # (id, address, beats) without all their beats
        self.beats: deque = deque()  # (value, strobes)
        self.writes: list = []  # (id, [(address, value, strobes), …], due) not applied yet
        self.replies: list = []  # (id, response)
        self.bursts_read: list[tuple[int, int]] = []
        self.bursts_written: list[tuple[int, int]] = []

    @property
    def idle(self) -> bool:
        """No beat or response is outstanding on either side."""
        owed = (self.reads, self.bursts, self.beats, self.writes, self.replies)
        return not any(owed) and not (self.driven["rvalid"] or self.driven["bvalid"])

    def step(self, values) -> list[int]:
        """Sample the master's outputs before a clock edge; return the inputs to drive after it."""
        seen = dict(zip(self.names, values, strict=True))
        driven = self.driven
        assert seen["bready"] or not driven["bvalid"], "a write response is refused"
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
        """Begin the writes whose beats have all arrived."""
        size = self.config.beat_bytes
        while self.bursts and len(self.beats) >= self.bursts[0][2]:
            name, address, count = self.bursts.popleft()
            beats = [self.beats.popleft() for _ in range(count)]
            assert [last for *_, last in beats] == [0] * (count - 1) + [1], "wlast is wrong"
            values = [(address + n * size, *beat[:2]) for n, beat in enumerate(beats)]
            self.writes.append((name, values, self.after()))

    def after(self) -> int:
        """Return the due cycle of an access."""
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
        assert master == self.index, f"{address:#x} is on the wrong master"

    def progress(self):
        """Sample the reads and apply the writes that are due."""
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
        """Select the outputs of the next cycle; a refused offer stays."""
        before, rng = self.driven, self.rng
        chosen = {f"{c}ready": int(rng.random() >= self.stall) for c in CHANNELS}
        if not before["rvalid"] or seen["rready"]:
            chosen["rvalid"] = 0
            done, ids = [], set()
            for read in self.reads:  # only the first of each id
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
