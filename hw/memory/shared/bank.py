"""Bank of shared memory: one line per cycle and path, arbitrated between requesters."""

from amaranth import *
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import WORD_BYTES
from ...emit.shared_block import SharedBlock
from ...lib.arbiter import Arbiter
from ...lib.one_hot import one_hot, select
from .ports import SharedMemoryPorts
from .row_slice import RowSlice

__all__ = ["Bank"]


class Bank(SharedBlock):
    """Bank: one wide read and one wide write per cycle, with rows and lanes in free subbanks.

    Combinational from requests to `ready`; `line` is valid one cycle after a read. Wide
    requesters of one path are served round-robin, even if they access different subbanks. If the
    selected read and write access one line, they yield in turn: the loser is served one cycle
    later. Rows and lanes use the subbanks that remain free (`RowSlice`, `Subbank`).

    Parameters
    ----------
    config : SharedMemoryPorts

    Members
    -------
    read_{i} : In(stream.Signature(bank_address_width))
        Wide reads: byte address within the bank.
    write_{i} : In(stream.Signature(StructLayout))
        Wide writes: `address` within the bank, `data`, `mask`.
    narrow_{n} : In(stream.Signature(StructLayout))
        Accesses of lanes: `address` within the bank, `write`, `data`, `mask`.
    row_{n} : In(stream.Signature(StructLayout))
        Accesses of rows, likewise.
    line : Out(8 * line_bytes)
        The word read last from each subbank.
    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        address = config.bank_address_width
        members = {}
        for i, _ in enumerate(config.read_sizes):
            members[f"read_{i}"] = In(stream.Signature(address))
        for i, size in enumerate(config.write_sizes):
            layout = data.StructLayout({"address": address, "data": 8 * size, "mask": size})
            members[f"write_{i}"] = In(stream.Signature(layout))
        for n in range(config.memory.narrow_ports):
            layout = data.StructLayout({"address": address, "write": 1, "data": 32, "mask": 4})
            members[f"narrow_{n}"] = In(stream.Signature(layout))
        for n in range(config.row_ports):
            size = config.slice_bytes
            layout = data.StructLayout({
                "address": address,
                "write": 1,
                "data": 8 * size,
                "mask": size,
            })
            members[f"row_{n}"] = In(stream.Signature(layout))
        super().__init__(members | {"line": Out(8 * config.memory.line_bytes)})

    def line_of(self, address: Value) -> Value:
        """Return the line of a byte address within the bank."""
        return address[exact_log2(self.config.memory.line_bytes) :]

    def places(self, m, name: str, address: Value, size: int) -> Signal:
        """Return, one-hot, the piece of `size` bytes of its line that an address selects."""
        offset = address[exact_log2(size) : exact_log2(self.config.memory.line_bytes)]
        return one_hot(m, offset, self.config.memory.line_bytes // size, f"{name}_place")

    def build(self, platform):
        m = Module()
        config = self.config
        reader, read_line, read_words = self.choose_read(m)
        writer, written = self.choose_write(m)
        clash = Signal()
        read_first = Signal()
        m.d.comb += [
            clash.eq(self.collide(reader.grant, writer.grant)),
            reader.taken.eq(reader.requests.any() & ~(clash & ~read_first)),
            writer.taken.eq(writer.requests.any() & ~(clash & read_first)),
        ]
        with m.If(clash):
            m.d.sync += read_first.eq(~read_first)
        for i, _ in enumerate(self.config.read_sizes):
            m.d.comb += getattr(self, f"read_{i}").ready.eq(reader.grant[i] & reader.taken)
        for i, _ in enumerate(self.config.write_sizes):
            m.d.comb += getattr(self, f"write_{i}").ready.eq(writer.grant[i] & writer.taken)

        slices, words = [], config.slice_words
        for number in range(config.slices):
            m.submodules[f"slice_{number}"] = row_slice = RowSlice(config)
            slices.append(row_slice)
            read, write = (each.word_select(number, words) for each in (read_words, written.words))
            m.d.comb += [
                row_slice.read.eq(Mux(reader.taken, read, 0)),
                row_slice.read_line.eq(read_line),
                row_slice.write.eq(Mux(writer.taken, write, 0)),
                row_slice.written.line.eq(written.line),
                row_slice.written.data.eq(written.data.word_select(number, 32 * words)),
                row_slice.written.mask.eq(written.mask.word_select(number, WORD_BYTES * words)),
                self.line.word_select(number, 32 * words).eq(row_slice.words),
            ]
        for n in range(config.memory.narrow_ports):
            self.connect_lane(m, n, slices)
        for n in range(config.row_ports):
            self.connect_row(m, n, slices)
        return m

    def collide(self, reads: Value, writes: Value) -> Value:
        """Return whether the selected read and the selected write access one line.

        All pairs are compared in parallel with the selection of a read, which is known late.
        """
        read_lines = [
            self.line_of(getattr(self, f"read_{i}").payload)
            for i, _ in enumerate(self.config.read_sizes)
        ]
        write_lines = [
            self.line_of(getattr(self, f"write_{i}").payload.address)
            for i, _ in enumerate(self.config.write_sizes)
        ]
        collisions = [
            Cat(writes[j] & (line == written) for j, written in enumerate(write_lines)).any()
            for line in read_lines
        ]
        return (reads & Cat(collisions)).any()

    def choose_read(self, m):
        """Return the arbiter of the wide reads, the selected line and its subbanks."""
        sizes = self.config.read_sizes
        words = Signal(self.config.memory.subbanks, name="read_words")
        m.submodules.reader = reader = Arbiter(max(1, len(sizes)))
        address = Signal(self.config.bank_address_width, name="read_address")
        if sizes:
            ports = [getattr(self, f"read_{i}") for i, _ in enumerate(sizes)]
            pieces = []
            for i, size in enumerate(sizes):
                places = self.places(m, f"read_{i}", ports[i].payload, size)
                pieces.append(Cat(place.replicate(size // WORD_BYTES) for place in places))
            m.d.comb += [
                reader.requests.eq(Cat(port.valid for port in ports)),
                address.eq(select(reader.grant, [port.payload for port in ports])),
                words.eq(select(reader.grant, pieces)),
            ]
        return reader, self.line_of(address), words

    def choose_write(self, m):
        """Return the arbiter of the wide writes and the selected write to the line."""
        memory = self.config.memory
        sizes = self.config.write_sizes
        m.submodules.writer = writer = Arbiter(max(1, len(sizes)))
        layout = data.StructLayout({
            "line": exact_log2(memory.lines),
            "words": memory.subbanks,
            "data": 8 * memory.line_bytes,
            "mask": memory.line_bytes,
        })
        written = Signal(layout)
        choices: dict[str, list] = {name: [] for name in ("line", "words", "data", "mask")}
        for i, size in enumerate(sizes):
            access = getattr(self, f"write_{i}").payload
            places = self.places(m, f"write_{i}", access.address, size)
            choices["line"].append(self.line_of(access.address))
            choices["words"].append(Cat(place.replicate(size // WORD_BYTES) for place in places))
            # Repeated over the line: the mask selects the piece that is written.
            choices["data"].append(access.data.replicate(memory.line_bytes // size))
            choices["mask"].append(Cat(Mux(place, access.mask, 0) for place in places))
        if sizes:
            ports = [getattr(self, f"write_{i}") for i, _ in enumerate(sizes)]
            m.d.comb += writer.requests.eq(Cat(port.valid for port in ports))
            m.d.comb += [written[name].eq(select(writer.grant, choices[name])) for name in choices]
        return writer, written

    def connect_lane(self, m, n, slices):
        """Connect lane n to the subbank that holds its word."""
        port = getattr(self, f"narrow_{n}")
        access = port.payload
        subbanks, words = self.config.memory.subbanks, self.config.slice_words
        offset = access.address[exact_log2(WORD_BYTES) : exact_log2(subbanks * WORD_BYTES)]
        chosen = one_hot(m, offset, subbanks, f"narrow_{n}_subbank")
        for number, row_slice in enumerate(slices):
            lane = row_slice.lane[n]
            m.d.comb += [
                lane.line.eq(self.line_of(access.address)),
                lane.data.eq(access.data),
                lane.mask.eq(access.mask),
            ]
            for s in range(words):
                here = Signal(name=f"narrow_{n}_to_{number * words + s}")
                m.d.comb += [
                    here.eq(port.valid & chosen[number * words + s]),
                    row_slice.lane_reads[s][n].eq(here & ~access.write),
                    row_slice.lane_writes[s][n].eq(here & access.write),
                ]
        m.d.comb += port.ready.eq(Cat(row_slice.lane_grants[n] for row_slice in slices).any())

    def connect_row(self, m, n, slices):
        """Connect row port n to the slice that holds its row."""
        port = getattr(self, f"row_{n}")
        access = port.payload
        chosen = self.places(m, f"row_{n}", access.address, self.config.slice_bytes)
        for number, row_slice in enumerate(slices):
            here = Signal(name=f"row_{n}_to_{number}")
            m.d.comb += [
                here.eq(port.valid & chosen[number]),
                row_slice.row_reads[n].eq(here & ~access.write),
                row_slice.row_writes[n].eq(here & access.write),
                row_slice.row[n].line.eq(self.line_of(access.address)),
                row_slice.row[n].data.eq(access.data),
                row_slice.row[n].mask.eq(access.mask),
            ]
        m.d.comb += port.ready.eq(Cat(row_slice.row_grants[n] for row_slice in slices).any())
