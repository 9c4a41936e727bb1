"""Golden model of the arbitration in shared memory, cycle by cycle, and cost of conflicts."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .....hw.config import WORD_BYTES, SharedMemoryConfig
from .....hw.memory.shared.shared_memory import SharedMemoryPorts

__all__ = ["Access", "SharedTiming", "Turns", "conflict_degree", "cycles_of_row"]


def conflict_degree(config: SharedMemoryConfig, addresses: Iterable[int]) -> int:
    """Return the maximum number of these words in one subbank of one bank.

    Bank ``address / (lines * line_bytes)``, subbank ``address / 4 mod subbanks``. A subbank reads
    one word and writes one word per cycle. Lanes of one path, each at its own port, thus take
    exactly this number of cycles without wide accesses. Equal words count separately, as there is
    no broadcast.
    """
    bank_bytes = config.lines * config.line_bytes
    places = Counter(
        (address // bank_bytes, address // WORD_BYTES % config.subbanks) for address in addresses
    )
    return max(places.values(), default=0)


class Turns:
    """Round-robin arbiter: the next requester after the one taken last; see `Arbiter`."""

    def __init__(self):
        self.last = -1

    def choose(self, requesters: list[int]) -> int:
        """Return the granted one of these requesters, in ascending order; -1 if there is none."""
        for requester in requesters:
            if requester > self.last:
                return requester
        return requesters[0] if requesters else -1


@dataclass(slots=True)
class Access:
    """Access of a port: `data` little-endian, `mask` one bit per byte, both for writes only."""

    address: int
    write: bool = False
    data: int = 0
    mask: int = 0


class BankTiming:
    """Arbiter state of one bank and its subbanks; see `Bank` and `Subbank`."""

    def __init__(self, subbanks: int):
        self.reads, self.writes = Turns(), Turns()
        self.read_first = False
        self.lane_reads = [Turns() for _ in range(subbanks)]
        self.lane_writes = [Turns() for _ in range(subbanks)]
        self.lane_read_first = [False] * subbanks


class SharedTiming:
    """Model of the accesses that `SharedMemory` accepts in each cycle.

    Parameters
    ----------
    config : SharedMemoryPorts

    Attributes
    ----------
    sizes : dict of str to int
        Bytes of each port's accesses, by the port names of `SharedMemory`.

    """

    def __init__(self, config: SharedMemoryPorts):
        self.config = config
        memory = config.memory
        self.bank_bytes = memory.lines * memory.line_bytes
        self.banks = [BankTiming(memory.subbanks) for _ in range(memory.banks)]
        self.sizes = {f"read_{i}": size for i, size in enumerate(config.read_sizes)}
        self.sizes |= {f"write_{i}": size for i, size in enumerate(config.write_sizes)}
        self.sizes |= {f"narrow_{n}": WORD_BYTES for n in range(memory.narrow_ports)}
        self.ports = {name: name.partition("_") for name in self.sizes}

    def step(self, offered: Mapping[str, Access]) -> list[str]:
        """Return the ports whose accesses are accepted, and advance one cycle."""
        by_bank: dict[int, tuple[dict, dict, dict]] = {}
        for name, access in offered.items():
            kind, _, number = self.ports[name]
            here = by_bank.setdefault(access.address // self.bank_bytes, ({}, {}, {}))
            here[("read", "write", "narrow").index(kind)][int(number)] = access
        accepted: list[str] = []
        for number, (reads, writes, lanes) in by_bank.items():
            bank = self.banks[number]
            read, write = self.choose_wide(bank, reads, writes)
            accepted += [f"read_{read}"] if read >= 0 else []
            accepted += [f"write_{write}"] if write >= 0 else []
            used = (
                self.words(reads[read], f"read_{read}") if read >= 0 else (-1, range(0)),
                self.words(writes[write], f"write_{write}") if write >= 0 else (-1, range(0)),
            )
            accepted += [f"narrow_{lane}" for lane in self.choose_lanes(bank, lanes, used)]
        return accepted

    def line(self, access: Access) -> int:
        """Return the line of an access, unique within a bank."""
        return access.address // self.config.memory.line_bytes

    def words(self, access: Access, name: str) -> tuple[int, range]:
        """Return the line and the subbanks of a wide access."""
        first = access.address % self.config.memory.line_bytes // WORD_BYTES
        return self.line(access), range(first, first + self.sizes[name] // WORD_BYTES)

    def choose_wide(self, bank: BankTiming, reads: dict, writes: dict) -> tuple[int, int]:
        """Return the ports of the granted wide read and wide write, -1 for none."""
        read, write = bank.reads.choose(sorted(reads)), bank.writes.choose(sorted(writes))
        if read >= 0 and write >= 0 and self.line(reads[read]) == self.line(writes[write]):
            if bank.read_first:
                write = -1
            else:
                read = -1
            bank.read_first = not bank.read_first
        bank.reads.last = read if read >= 0 else bank.reads.last
        bank.writes.last = write if write >= 0 else bank.writes.last
        return read, write

    def choose_lanes(self, bank: BankTiming, lanes: dict, used: tuple) -> list[int]:
        """Return the lanes granted by the subbanks that the two wide accesses leave free."""
        asked: dict[int, tuple[list[int], list[int]]] = {}
        for lane in sorted(lanes):
            subbank = lanes[lane].address // WORD_BYTES % self.config.memory.subbanks
            asked.setdefault(subbank, ([], []))[lanes[lane].write].append(lane)
        served = []
        (read_line, read_words), (write_line, write_words) = used
        for subbank, (reads, writes) in asked.items():
            reader, writer = bank.lane_reads[subbank], bank.lane_writes[subbank]
            wide_read, wide_write = subbank in read_words, subbank in write_words
            read = -1 if wide_read else reader.choose(reads)
            write = -1 if wide_write else writer.choose(writes)
            if read >= 0 and write >= 0 and self.line(lanes[read]) == self.line(lanes[write]):
                if bank.lane_read_first[subbank]:
                    write = -1
                else:
                    read = -1
                bank.lane_read_first[subbank] = not bank.lane_read_first[subbank]
            if read >= 0 and wide_write and self.line(lanes[read]) == write_line:
                read = -1
            if write >= 0 and wide_read and self.line(lanes[write]) == read_line:
                write = -1
            if read >= 0:
                reader.last = read
                served.append(read)
            if write >= 0:
                writer.last = write
                served.append(write)
        return served


def cycles_of_row(config: SharedMemoryPorts, addresses: list[int], write: bool = False) -> int:
    """Return the cycles of a row of lanes, lane n at port ``n mod narrow_ports``, in order.

    With a port for every lane this is `conflict_degree`. If lanes share ports, it is the maximum
    of that and of the lanes per port, as long as the row stays in one bank at one stride.
    Otherwise it may be more, as a stalled lane delays those after it.
    """
    timing, ports = SharedTiming(config), config.memory.narrow_ports
    waiting = {f"narrow_{port}": addresses[port::ports] for port in range(ports)}
    cycles = 0
    while offered := {name: Access(left[0], write) for name, left in waiting.items() if left}:
        for name in timing.step(offered):
            del waiting[name][0]
        cycles += 1
    return cycles
