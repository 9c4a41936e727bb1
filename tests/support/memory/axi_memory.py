"""AXI4 memory for Amaranth's simulator that checks the protocol."""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from spica.hw.config import AxiConfig
from spica.hw.lib.axi import BURST_INCR, RESPONSE_OKAY
from support.memory.axi_wires import BACK, FORWARD, AxiWires

__all__ = ["AxiMemory", "interleaved_memories"]

#: No burst crosses a boundary of as many bytes.
BOUNDARY = 4096


@dataclass
class Beat:
    """A beat of a read; sampled and ready to be answered from cycle `due` on."""

    id: int
    address: int
    due: int
    last: bool
    value: int | None = None
    code: int = RESPONSE_OKAY


class AxiMemory:
    """AXI4 memory of one master, one cycle at a time, that asserts the rules of AXI4.

    All outputs are registered. A read samples memory at a random time between address and answer,
    a write takes effect at a random time before its response. Beats with an error are not written.
    Always asserted: a refused valid stays, with the same payload; beats are whole; bursts are
    aligned and stay within their block; `wlast` comes with exactly the last beat.

    Parameters
    ----------
    axi : interface of Axi4Signature
        Seen from outside the master.
    memory : SparseMemory
        Contents, or an object with its methods `read` and `write_masked`.
    rng : random.Random
    latency : int
        Cycles from a burst's address to its first beat, or from its last beat to its response.
    jitter : int
        Maximum additional random latency in cycles.
    stall : float
        Probability of a pause, per channel and cycle.
    slow : str
        Channel (``aw``, ``w`` or ``ar``) that pauses in 9 of 10 cycles.
    reorders : bool
        Whether bursts of different ids are answered in any order, reads also beat by beat.
    response : callable
        Returns the response code of a beat, given its address and whether it is written.
    block : int
        Bytes of the aligned blocks that a burst does not cross.
    index, masters : int
        Number of this master, and of the masters among which the blocks are interleaved.
    ids : int
        Number of ids the master may use.
    outstanding : int
        Maximum reads in flight of one id.
    whole_writes : bool
        Whether each written beat must have a strobe.
    prompt : bool
        Whether the master must accept a write response at once.
    does : callable or None
        Does a write, given AWUSER and the address, value and strobes of each beat without an error,
        and returns BUSER; None to write them to `memory`.

    Attributes
    ----------
    bursts_read : list of (int, int)
        Address and beats of each read.
    bursts_written : list of (int, int, int)
        Address, beats and written bytes of each write.

    """

    def __init__(
        self,
        axi,
        memory,
        rng: random.Random,
        *,
        latency: int = 1,
        jitter: int = 0,
        stall: float = 0.0,
        slow: str = "",
        reorders: bool = False,
        response: Callable[[int, bool], int] = lambda address, is_write: RESPONSE_OKAY,
        block: int = BOUNDARY,
        index: int = 0,
        masters: int = 1,
        ids: int = 1 << 16,
        outstanding: int = 256,
        whole_writes: bool = False,
        prompt: bool = False,
        does: Callable[[int, list[tuple[int, int, int]]], int] | None = None,
    ):
        self.wires = AxiWires(axi, FORWARD, BACK)
        self.samples, self.drives = self.wires.samples, self.wires.drives
        self.memory, self.rng, self.beat_bytes = memory, rng, len(axi.wdata) // 8
        self.latency, self.jitter, self.reorders = latency, jitter, reorders
        self.pauses = {channel: 0.9 if channel == slow else stall for channel in (*FORWARD, *BACK)}
        self.response = response
        self.block, self.index, self.masters = block, index, masters
        self.ids, self.outstanding = ids, outstanding
        self.whole_writes, self.prompt = whole_writes, prompt
        self.does = does or self.write
        self.now = 0
        self.reads: list[Beat] = []  # beats to be answered
        self.bursts: deque = deque()  # (id, address, beats, user) without all their beats
        self.beats: deque = deque()  # (value, strobes, last) without their burst
        # (id, [(address, value, strobes), …], due, user) without effect yet
        self.writes: list = []
        self.replies: deque = deque()  # (id, response, user)
        self.bursts_read: list[tuple[int, int]] = []
        self.bursts_written: list[tuple[int, int, int]] = []

    @property
    def idle(self) -> bool:
        """No beat or response is outstanding on either side."""
        pending = (self.reads, self.bursts, self.beats, self.writes, self.replies)
        driven = self.wires.driven
        return not (any(pending) or driven["rvalid"] or driven["bvalid"])

    def step(self, values) -> list[int]:
        """Sample the master's outputs before a clock edge; return the inputs to drive after it."""
        wires = self.wires
        seen = wires.see(values)
        refuses = wires.driven["bvalid"] and not seen["bready"]
        assert not (self.prompt and refuses), "a write response is refused"
        if wires.moved("ar", seen):
            self.take_read(seen)
        if wires.moved("aw", seen):
            self.check_burst("aw", seen)
            user = seen.get("awuser", 0)
            self.bursts.append((seen["awid"], seen["awaddr"], seen["awlen"] + 1, user))
        if wires.moved("w", seen):
            self.beats.append((seen["wdata"], seen["wstrb"], seen["wlast"]))
        self.begin_writes()
        self.progress()
        wires.driven |= self.answer(seen)
        self.now += 1
        return list(wires.driven.values())

    def check_burst(self, channel: str, seen):
        size, address = self.beat_bytes, seen[f"{channel}addr"]
        last = address + seen[f"{channel}len"] * size
        assert 1 << seen[f"{channel}size"] == size, "beats are not whole"
        assert seen[f"{channel}burst"] == BURST_INCR, "not an incrementing burst"
        assert seen[f"{channel}id"] < self.ids, f"id is not below {self.ids}"
        assert address % size == 0, f"burst at {address:#x} is not aligned"
        for block in (BOUNDARY, self.block):
            assert address // block == last // block, f"burst at {address:#x} crosses {block} bytes"
        owner = address // self.block % self.masters
        assert owner == self.index, f"{address:#x} is on the wrong master"

    def take_read(self, seen):
        self.check_burst("ar", seen)
        name, address, count = seen["arid"], seen["araddr"], seen["arlen"] + 1
        for number in range(count):
            at = address + number * self.beat_bytes
            self.reads.append(Beat(name, at, self.due(), number == count - 1))
        flight = sum(beat.last and beat.id == name for beat in self.reads)
        assert flight <= self.outstanding, f"{flight} reads in flight"
        self.bursts_read.append((address, count))

    def begin_writes(self):
        """Begin the writes whose beats have all arrived."""
        while self.bursts and len(self.beats) >= self.bursts[0][2]:
            name, address, count, user = self.bursts.popleft()
            values, written = [], 0
            for number in range(count):
                value, strobes, last = self.beats.popleft()
                assert last == (number == count - 1), "wlast is not with the last beat"
                assert strobes or not self.whole_writes, "a beat without a strobe"
                values.append((address + number * self.beat_bytes, value, strobes))
                written += strobes.bit_count()
            self.writes.append((name, values, self.due(), user))
            self.bursts_written.append((address, count, written))

    def due(self) -> int:
        """Return the cycle in which a new access may take effect."""
        return self.now + self.latency - 1 + self.rng.randint(0, self.jitter)

    def progress(self):
        """Sample the reads and apply the writes that are due."""
        size = self.beat_bytes
        for beat in self.reads:
            if beat.value is None and beat.due <= self.now:
                beat.value = int.from_bytes(self.memory.read(beat.address, size), "little")
                beat.code = self.response(beat.address, False)
        blocked = set()
        for write in list(self.writes):
            name, values, due, user = write
            queue = name if self.reorders else 0
            if queue in blocked or due > self.now:
                blocked.add(queue)
                continue
            self.writes.remove(write)
            codes = [self.response(at, True) for at, *_ in values]
            beats = zip(values, codes, strict=True)
            result = self.does(user, [beat for beat, code in beats if code == RESPONSE_OKAY])
            self.replies.append((name, max(codes), result))

    def write(self, user: int, beats: list[tuple[int, int, int]]) -> int:
        """Write beats to memory."""
        for address, value, strobes in beats:
            self.memory.write_masked(address, value, strobes, self.beat_bytes)
        return 0

    def heads(self) -> list[Beat]:
        """Return the beats that may be answered: the oldest, or the oldest of each id."""
        if not self.reorders:
            return [beat for beat in self.reads[:1] if beat.value is not None]
        first: dict[int, Beat] = {}
        for beat in self.reads:
            first.setdefault(beat.id, beat)
        return [beat for beat in first.values() if beat.value is not None]

    def answer(self, seen) -> dict[str, int]:
        """Select the outputs of the next cycle; a refused offer stays."""
        wires, rng = self.wires, self.rng
        chosen = {f"{c}ready": int(rng.random() >= self.pauses[c]) for c in FORWARD}
        if not wires.driven["rvalid"] or seen["rready"]:
            chosen["rvalid"] = 0
            heads = self.heads()
            if heads and rng.random() >= self.pauses["r"]:
                beat = rng.choice(heads)
                self.reads.remove(beat)
                chosen |= {"rvalid": 1, "rid": beat.id, "rdata": beat.value or 0}
                chosen |= {"rresp": beat.code, "rlast": int(beat.last)}
        if not wires.driven["bvalid"] or seen["bready"]:
            chosen["bvalid"] = 0
            if self.replies and rng.random() >= self.pauses["b"]:
                name, code, result = self.replies.popleft()
                chosen |= {"bvalid": 1, "bid": name, "bresp": code}
                if "buser" in wires.driven:
                    chosen["buser"] = result
        return chosen


def interleaved_memories(dut, memory, axi: AxiConfig, rng, **options) -> list[AxiMemory]:
    """Return the memories of a design's AXI masters, `axi`, over common contents."""
    return [
        AxiMemory(
            dut.axi[index], memory, rng,
            block=axi.interleave_bytes, index=index, masters=axi.masters, **options,
        )
        for index in range(axi.masters)
    ]  # fmt: skip
