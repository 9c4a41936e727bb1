"""Arbiter of the wide accesses to a bank of shared memory."""

from typing import Any

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Member, Out, connect
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter, ArbitrationSignature
from ...lib.one_hot import one_hot, select, union
from .ports import SharedMemoryPorts
from .signatures import LockSignature, WideAccessSignature, is_locked

__all__ = ["WideArbiter", "wide_members"]


def wide_members(config: SharedMemoryPorts) -> dict[str, Member]:
    """Return the ports of wide requesters: `read_{i}` and `write_{i}`, by addresses in a bank."""
    address, members = config.bank_address_width, {}
    for i, _ in enumerate(config.read_sizes):
        members[f"read_{i}"] = In(stream.Signature(address))
    for i, size in enumerate(config.write_sizes):
        layout = data.StructLayout({"address": address, "data": 8 * size, "mask": size})
        members[f"write_{i}"] = In(stream.Signature(layout))
    return members


class WideArbiter(SharedBlock):
    """Wide arbiter: selects one wide read and one wide write per cycle.

    Combinational from requests to `ready`. Requesters of one path are served round-robin. If the
    selected read and write access one line, they yield in turn: the loser is served one cycle
    later. With atomics the selected access also waits while a word of it is locked, and with a
    write while they write one of its subbanks.

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    read_{i}, write_{i} : see `wide_members`
    slices : Out(WideAccessSignature(config)).array(config.slices)
        The selected accesses, in each slice of the bank.
    locks : In(LockSignature(subbanks, line_width))
        This and the next only with atomics.
    waits : Out(subbanks)
        Subbanks of all writes that are requested.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        members = {"slices": Out(WideAccessSignature(config)).array(config.slices)}
        if memory.atomics is not None:
            members |= {
                "locks": In(LockSignature(memory.subbanks, exact_log2(memory.lines))),
                "waits": Out(memory.subbanks),
            }
        super().__init__(wide_members(config) | members)

    @property
    def reads(self) -> list:
        """Ports of reads."""
        return [getattr(self, f"read_{i}") for i, _ in enumerate(self.config.read_sizes)]

    @property
    def writes(self) -> list:
        """Ports of writes."""
        return [getattr(self, f"write_{i}") for i, _ in enumerate(self.config.write_sizes)]

    def build(self, platform):
        m = Module()
        words = self.config.slice_words
        reader: Any = ArbitrationSignature(max(1, len(self.reads))).create()
        writer: Any = ArbitrationSignature(max(1, len(self.writes))).create()
        m.submodules.reader = read_arbiter = Arbiter(max(1, len(self.reads)))
        m.submodules.writer = write_arbiter = Arbiter(max(1, len(self.writes)))
        connect(m, reader, read_arbiter)
        connect(m, writer, write_arbiter)
        read_line, read_words = self.choose_read(m, reader.grant)
        written = self.choose_write(m, writer.grant)
        reads, writes = (
            Cat(port.valid for port in self.reads),
            Cat(port.valid for port in self.writes),
        )
        clash, read_first, reading, writing = Signal(), Signal(), Signal(), Signal()
        can_read, can_write, changes = reads.any(), writes.any(), clash
        if self.config.memory.atomics is not None:
            read_locked, write_locked = self.find_locked(m, reader.grant, writer.grant)
            can_read, can_write = can_read & ~read_locked, can_write & ~write_locked
            # The one that has the turn keeps it while it waits for an atomic.
            changes = clash & ~Mux(read_first, read_locked, write_locked)
        m.d.comb += [
            reader.requests.eq(reads),
            writer.requests.eq(writes),
            clash.eq(self.collide(reader.grant, writer.grant)),
            reading.eq(can_read & ~(clash & ~read_first)),
            writing.eq(can_write & ~(clash & read_first)),
            reader.accept.eq(reading),
            writer.accept.eq(writing),
            *(port.ready.eq(reader.grant[i] & reading) for i, port in enumerate(self.reads)),
            *(port.ready.eq(writer.grant[i] & writing) for i, port in enumerate(self.writes)),
        ]
        with m.If(changes):
            m.d.sync += read_first.eq(~read_first)
        for number, part in enumerate(self.slices):
            m.d.comb += [
                part.read.eq(Mux(reading, read_words.word_select(number, words), 0)),
                part.read_line.eq(read_line),
                part.write.eq(Mux(writing, written.words.word_select(number, words), 0)),
                part.written.line.eq(written.line),
                part.written.data.eq(written.data.word_select(number, 32 * words)),
                part.written.mask.eq(written.mask.word_select(number, WORD_BYTES * words)),
            ]
        return m

    def line_of(self, address: Value) -> Value:
        """Return the line of a byte address within the bank."""
        return address[exact_log2(self.config.memory.line_bytes) :]

    def places(self, m: Module, name: str, address: Value, size: int) -> Signal:
        """Return, one-hot, the piece of `size` bytes of its line that an address selects."""
        offset = address[exact_log2(size) : exact_log2(self.config.memory.line_bytes)]
        return one_hot(m, offset, self.config.memory.line_bytes // size, f"{name}_place")

    def collide(self, reads: Value, writes: Value) -> Value:
        """Return whether the selected read and the selected write access one line.

        All pairs are compared in parallel with the selection of a read, which is known late.
        """
        read_lines = [self.line_of(port.payload) for port in self.reads]
        write_lines = [self.line_of(port.payload.address) for port in self.writes]
        collisions = [
            Cat(writes[j] & (line == written) for j, written in enumerate(write_lines)).any()
            for line in read_lines
        ]
        return (reads & Cat(collisions)).any()

    def find_locked(self, m: Module, read_grant: Value, write_grant: Value) -> tuple[Value, Value]:
        """Return whether atomics hold the selected read and write back; report waiting writes."""
        locked: dict[str, list[Value]] = {"read": [], "write": []}
        waits: list[Value] = [C(0, self.config.memory.subbanks)]
        for kind, ports, sizes in (
            ("read", self.reads, self.config.read_sizes),
            ("write", self.writes, self.config.write_sizes),
        ):
            for i, (port, size) in enumerate(zip(ports, sizes, strict=True)):
                address = port.payload if kind == "read" else port.payload.address
                places = self.places(m, f"locked_{kind}_{i}", address, size)
                words = Cat(place.replicate(size // WORD_BYTES) for place in places)
                is_held = is_locked(self.locks, self.line_of(address), words)
                if kind == "write":
                    is_held = is_held | (self.locks.writes & words).any()
                    waits.append(Mux(port.valid, words, 0))
                locked[kind].append(is_held)
        m.d.comb += self.waits.eq(union(waits))
        read_locked, write_locked = Signal(), Signal()
        m.d.comb += [
            read_locked.eq((read_grant & Cat(locked["read"])).any()),
            write_locked.eq((write_grant & Cat(locked["write"])).any()),
        ]
        return read_locked, write_locked

    def choose_read(self, m: Module, grant: Value) -> tuple[Value, Signal]:
        """Return the line of the granted read, and its subbanks."""
        words = Signal(self.config.memory.subbanks, name="read_words")
        address = Signal(self.config.bank_address_width, name="read_address")
        pieces = []
        for i, size in enumerate(self.config.read_sizes):
            places = self.places(m, f"read_{i}", self.reads[i].payload, size)
            pieces.append(Cat(place.replicate(size // WORD_BYTES) for place in places))
        if pieces:
            m.d.comb += [
                address.eq(select(grant, [port.payload for port in self.reads])),
                words.eq(select(grant, pieces)),
            ]
        return self.line_of(address), words

    def choose_write(self, m: Module, grant: Value) -> data.View:
        """Return the granted write to the line."""
        memory = self.config.memory
        layout = data.StructLayout({
            "line": exact_log2(memory.lines),
            "words": memory.subbanks,
            "data": 8 * memory.line_bytes,
            "mask": memory.line_bytes,
        })
        written = Signal(layout)
        choices: dict[str, list] = {name: [] for name in layout.members}
        for i, size in enumerate(self.config.write_sizes):
            access = self.writes[i].payload
            places = self.places(m, f"write_{i}", access.address, size)
            choices["line"].append(self.line_of(access.address))
            choices["words"].append(Cat(place.replicate(size // WORD_BYTES) for place in places))
            # Repeated over the line: the mask selects the piece that is written.
            choices["data"].append(access.data.replicate(memory.line_bytes // size))
            choices["mask"].append(Cat(Mux(place, access.mask, 0) for place in places))
        if choices["line"]:
            m.d.comb += [written[name].eq(select(grant, choices[name])) for name in choices]
        return written
