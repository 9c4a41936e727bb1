"""AXI4 memory for Amaranth's simulator that checks the protocol."""

import random
from collections import deque

from spica.hw.config import AxiConfig
from spica.hw.lib.axi import BURST_INCR

__all__ = ["AxiMemory"]

CHANNEL_MEMBERS = {
    "aw": ("awaddr", "awlen", "awsize", "awburst", "awid"),
    "w": ("wdata", "wstrb", "wlast"),
    "ar": ("araddr", "arlen", "arsize", "arburst", "arid"),
}


class AxiMemory:
    """AXI4 memory of one master, one cycle at a time, that asserts the rules of AXI4.

    All outputs are registered. Rules: a refused valid stays, with the same payload; a burst lies
    within 4 KB and has whole beats; `wlast` comes with exactly the last beat; every beat has a
    strobe; ids are 0; the reads in flight do not exceed `outstanding`.

    Parameters
    ----------
    axi : interface of Axi4Signature
        Seen from outside the master.
    memory : SparseMemory
    config : AxiConfig
    rng : random.Random
    latency : int
        Cycles from a burst's address to its first beat or its response.
    jitter : int
        Maximum additional random latency in cycles; order is kept.
    stall : float
        Probability of a pause, per channel and cycle.
    slow : str
        Channel (``aw``, ``w`` or ``ar``) that pauses in 9 of 10 cycles.
    outstanding : int
        Maximum reads in flight.
    response : callable
        Returns the response code for an address.
    index : int
        Number of this master among the interleaved ones.

    """

    def __init__(
        self,
        axi,
        memory,
        config: AxiConfig,
        rng: random.Random,
        *,
        latency: int = 1,
        jitter: int = 0,
        stall: float = 0.0,
        slow: str = "",
        outstanding: int = 256,
        response=lambda address: 0,
        index: int = 0,
    ):
        self.memory, self.config, self.rng = memory, config, rng
        self.latency, self.jitter, self.stall, self.slow = latency, jitter, stall, slow
        self.outstanding, self.response, self.index = outstanding, response, index
        names = [n for channel in CHANNEL_MEMBERS.values() for n in channel]
        self.names = [*names, "awvalid", "wvalid", "arvalid", "rready", "bready"]
        self.samples = [getattr(axi, name) for name in self.names]
        answers = ("awready", "wready", "arready", "rvalid", "rdata", "rresp", "rlast")
        self.answers = (*answers, "bvalid", "bresp")
        self.drives = [getattr(axi, name) for name in self.answers]
        self.driven: dict[str, int] = dict.fromkeys(self.answers, 0)
        self.refused: dict[str, tuple] = {}
        self.now = 0
        self.flight = 0  # read bursts whose last beat was not accepted
        self.reads: deque = deque()  # beats: (time, data, response, last)
        self.bursts: deque = deque()  # write bursts without all their beats
        self.beats: deque = deque()  # beats not yet assigned to a burst
        self.replies: deque = deque()  # (time, response)
        self.read_beats = self.write_beats = 0

    @property
    def idle(self) -> bool:
        """No beat or response is outstanding on either side."""
        return not (self.reads or self.bursts or self.beats or self.replies)

    def step(self, values) -> list[int]:
        """Sample the master's outputs before a clock edge; return the inputs to drive after it."""
        seen = dict(zip(self.names, values, strict=True))
        self.check_stable(seen)
        driven = self.driven
        if seen["arvalid"] and driven["arready"]:
            self.take_read(seen)
        if driven["rvalid"] and seen["rready"]:
            self.read_beats += 1
            self.flight -= self.reads.popleft()[-1]
        if seen["awvalid"] and driven["awready"]:
            self.check_burst(seen, "aw")
            self.bursts.append((seen["awaddr"], seen["awlen"] + 1))
        if seen["wvalid"] and driven["wready"]:
            self.beats.append((seen["wdata"], seen["wstrb"], seen["wlast"]))
            self.write_beats += 1
        if driven["bvalid"] and seen["bready"]:
            self.replies.popleft()
        self.do_writes()
        self.now += 1
        self.driven = self.answer(seen)
        return [self.driven[name] for name in self.answers]

    def check_stable(self, seen):
        for channel, members in CHANNEL_MEMBERS.items():
            payload = tuple(seen[name] for name in members)
            if channel in self.refused:
                assert seen[f"{channel}valid"], f"{channel}valid dropped before it was accepted"
                assert payload == self.refused[channel], f"{channel} changed while it waited"
            self.refused.pop(channel, None)
            if seen[f"{channel}valid"] and not self.driven[f"{channel}ready"]:
                self.refused[channel] = payload

    def check_burst(self, seen, channel):
        size = self.config.beat_bytes
        address, beats = seen[f"{channel}addr"], seen[f"{channel}len"] + 1
        assert 1 << seen[f"{channel}size"] == size, "beats are not whole"
        assert seen[f"{channel}burst"] == BURST_INCR, "not an incrementing burst"
        assert seen[f"{channel}id"] == 0, "id is not 0"
        assert address % size == 0, f"burst at {address:#x} is not aligned"
        assert address % 4096 + beats * size <= 4096, f"burst at {address:#x} crosses 4 KB"
        first = address // self.config.interleave_bytes
        last = (address + beats * size - 1) // self.config.interleave_bytes
        assert first == last, f"burst at {address:#x} crosses an interleave block"
        assert first % self.config.masters == self.index, f"{address:#x} is on the wrong master"

    def after(self, earlier) -> int:
        """Return the earliest time of an answer: after its latency and after `earlier` ones."""
        due = self.now + self.latency + self.rng.randint(0, self.jitter)
        return max(due, earlier[-1][0]) if earlier else due

    def take_read(self, seen):
        self.check_burst(seen, "ar")
        size, address, beats = self.config.beat_bytes, seen["araddr"], seen["arlen"] + 1
        due = self.after(self.reads)
        for beat in range(beats):
            at = address + beat * size
            data = int.from_bytes(self.memory.read(at, size), "little")
            self.reads.append((due, data, self.response(at), beat == beats - 1))
        self.flight += 1
        assert self.flight <= self.outstanding, f"{self.flight} reads in flight"

    def do_writes(self):
        size = self.config.beat_bytes
        while self.bursts and len(self.beats) >= self.bursts[0][1]:
            address, count = self.bursts.popleft()
            code = 0
            for beat in range(count):
                value, strobes, last = self.beats.popleft()
                assert last == (beat == count - 1), "wlast is not with the last beat"
                assert strobes, "a beat without a strobe"
                at = address + beat * size
                code = max(code, self.response(at))
                if not self.response(at):
                    self.memory.write_masked(at, value, strobes, size)
            self.replies.append((self.after(self.replies), code))

    def answer(self, seen) -> dict[str, int]:
        """Select the outputs of the next cycle; a refused offer stays."""
        before, rng, stall = self.driven, self.rng, self.stall
        nxt = {"rvalid": 0, "bvalid": 0}
        for channel in CHANNEL_MEMBERS:
            pause = 0.9 if channel == self.slow else stall
            nxt[f"{channel}ready"] = int(rng.random() >= pause)
        keeps = before["rvalid"] and not seen["rready"]
        if self.reads and self.reads[0][0] <= self.now and (keeps or rng.random() >= stall):
            _, data, code, last = self.reads[0]
            nxt |= {"rvalid": 1, "rdata": data, "rresp": code, "rlast": int(last)}
        keeps = before["bvalid"] and not seen["bready"]
        if self.replies and self.replies[0][0] <= self.now and (keeps or rng.random() >= stall):
            nxt |= {"bvalid": 1, "bresp": self.replies[0][1]}
        return before | nxt
