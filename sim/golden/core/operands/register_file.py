"""Golden model of the register file: values, banks and arbitration by cycle."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from .....hw.config import PipelineConfig
from .....hw.core.layouts import REGISTERS

__all__ = ["Access", "RegisterFileModel", "Served", "WritebackModel", "bank_of", "cycles_of"]


@dataclass(frozen=True)
class Access:
    """A register of the threads of `mask`; for writes with `values`, one for each thread."""

    warp: int
    register: int
    mask: int
    values: tuple[int, ...] = ()
    writes: bool = True

    def threads(self) -> set[int]:
        """Return the threads of `mask`."""
        return {thread for thread in range(self.mask.bit_length()) if self.mask >> thread & 1}


@dataclass
class Served:
    """Served accesses of all collectors, or of all buses, in a cycle.

    Parameters
    ----------
    threads : list of set of int, or None
        For each of them the threads read or written; None without any data.
    ready : list of bool
        Accesses that completed.
    busy, conflicts : int
        Mask of banks that served an access, and of banks that stalled another.

    """

    threads: list[set[int] | None]
    ready: list[bool]
    busy: int = 0
    conflicts: int = 0


def bank_of(config: PipelineConfig, warp: int, register: int, thread: int) -> int:
    """Return the bank that holds a register of a thread."""
    return ((warp if config.bank_mapping == "warp" else thread) + register) % config.banks


def cycles_of(config: PipelineConfig, accesses) -> int:
    """Return the cycles of simultaneous accesses: the reads of the busiest bank."""
    load: Counter = Counter()
    for access in accesses:
        banks = [bank_of(config, access.warp, access.register, t) for t in access.threads()]
        load.update(set(banks) if config.bank_mapping == "warp" else banks)
    return max([1, *load.values()])


@dataclass
class Turns:
    """Accesses of collectors, or of buses, until their last cycle.

    Parameters
    ----------
    config : PipelineConfig
        The core.
    by_age : bool
        True if a bank serves the oldest first, else round-robin.
    whole : bool
        True if all threads are served regardless of the mask: reads of warp-wide banks.

    """

    config: PipelineConfig
    by_age: bool
    whole: bool
    cycle: int = 0
    since: dict[int, int] = field(default_factory=dict)
    left: dict[int, set[int]] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)

    def step(self, accesses: list[Access | None]) -> Served:
        """Return the accesses served by each bank in a cycle."""
        asked: dict[int, dict[int, set[int]]] = defaultdict(dict)
        for number, access in enumerate(accesses):
            if access is not None and access.writes:
                self.since.setdefault(number, self.cycle)
                for bank, threads in self.asked_banks(number, access).items():
                    asked[bank][number] = threads
        served = Served([None] * len(accesses), [False] * len(accesses))
        for bank in range(self.config.banks):
            if len(asked[bank]) > 1:
                served.conflicts |= 1 << bank
            if winner := self.turn(bank, asked[bank]):
                number, threads = winner
                served.busy |= 1 << bank
                served.threads[number] = (served.threads[number] or set()) | threads
                self.left[number] -= threads
        self.finish(accesses, served)
        self.cycle += 1
        return served

    def asked_banks(self, number: int, access: Access) -> dict[int, set[int]]:
        """Return the threads requested from each bank."""
        if self.config.bank_mapping == "warp":
            everyone = set(range(self.config.threads))
            threads = everyone if self.whole else access.threads()
            # One row, even if none of its words is written.
            self.left[number] = set(threads)
            return {bank_of(self.config, access.warp, access.register, 0): threads}
        banks: dict[int, set[int]] = {}
        for thread in sorted(self.left.setdefault(number, access.threads())):
            banks.setdefault(bank_of(self.config, access.warp, access.register, thread), {thread})
        return banks

    def turn(self, bank: int, asked: dict[int, set[int]]) -> tuple[int, set[int]] | None:
        """Return the access served by a bank, and its threads."""
        if not asked:
            self.last[bank] = -1
            return None
        last = self.last.get(bank, -1)
        if self.by_age:
            number = min(asked, key=lambda number: (self.since[number], number))
        else:
            number = min(asked, key=lambda number: (number <= last, number))
        self.last[bank] = number
        return number, asked[number]

    def finish(self, accesses: list[Access | None], served: Served) -> None:
        """Remove the accesses that have completed."""
        for number, access in enumerate(accesses):
            if access is None:
                continue
            if not access.writes:
                served.ready[number] = True
            elif not self.left[number] and (
                served.threads[number] is not None or self.config.bank_mapping == "thread"
            ):
                served.ready[number] = True
                served.threads[number] = served.threads[number] or set()
                del self.since[number], self.left[number]


class RegisterFileModel:
    """Golden model of `RegisterFile`: values, and served accesses by cycle.

    Parameters
    ----------
    config : PipelineConfig
        The core.

    """

    def __init__(self, config: PipelineConfig):
        self.config = config
        self.registers = [
            [[0] * config.threads for _ in range(REGISTERS)] for _ in range(config.warps)
        ]
        self.reads = Turns(config, config.bank_arbiter == "age", True)
        self.writes = Turns(config, True, False)

    def step(self, reads: list[Access | None], writes: list[Access | None]):
        """Return the served reads and writes, and the values of each read by thread.

        Each list has the accesses that the collectors, or the buses, offer in this cycle.
        """
        read, write = self.reads.step(reads), self.writes.step(writes)
        answers: list[dict[int, int] | None] = []
        for access, threads in zip(reads, read.threads, strict=True):
            if access is None or threads is None:
                answers.append(None)
            else:
                values = self.registers[access.warp][access.register]
                answers.append({thread: values[thread] for thread in threads})
        for access, threads in zip(writes, write.threads, strict=True):
            if access is None or threads is None:
                continue
            for thread in threads:
                self.registers[access.warp][access.register][thread] = access.values[thread]
        return read, write, answers


class WritebackModel:
    """Golden model of `Writeback`: assigns buses to sources, oldest first, until written.

    Parameters
    ----------
    config : PipelineConfig
        The core.
    sources : int
        Units that offer results.

    """

    def __init__(self, config: PipelineConfig, sources: int):
        self.since: list[int | None] = [None] * sources
        self.held: list[int | None] = [None] * config.writeback_buses
        self.cycle = 0

    def step(self, offered: list[bool], ready: list[bool]) -> list[int | None]:
        """Return the source on each bus; `ready` are the buses written in this cycle."""
        for source, offers in enumerate(offered):
            if offers and self.since[source] is None:
                self.since[source] = self.cycle
        queue = [
            (since, source)
            for source, since in enumerate(self.since)
            if since is not None and source not in self.held
        ]
        queue.sort(reverse=True)
        chosen = [
            source if source is not None or not queue else queue.pop()[1] for source in self.held
        ]
        for bus, source in enumerate(chosen):
            self.held[bus] = None if ready[bus] else source
            if source is not None and ready[bus]:
                self.since[source] = None
        self.cycle += 1
        return chosen
