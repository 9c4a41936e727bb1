"""Surroundings of the operand collectors: register banks, units, buses and issue."""

import random
from dataclasses import dataclass

from spica.hw.config import CoreConfig
from spica.hw.isa.operations import Port
from spica.hw.lib.interfaces.execution_unit import more_field
from support.core.collector_pool_model import mixture

__all__ = ["Banks", "Issuer", "Surroundings", "Units", "issue_of", "random_values"]


def random_values(config: CoreConfig, rng: random.Random) -> list[int]:
    """Return a random value for each thread."""
    return [rng.getrandbits(32) for _ in range(config.threads)]


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Behaviour of the surroundings of the collectors; by default, at its best.

    Parameters
    ----------
    grant : float
        Probability that a grantable request is granted.
    conflicts : bool
        True if a bank of registers, `(warp + register) mod banks`, serves one request per cycle.
    accept : float
        Probability that a port accepts.
    latency : tuple of int
        Cycles from acceptance to the bus; one is drawn for each instruction.
    write : float
        Probability that a finished result gets a bus.
    issue : float
        Probability that a slot issues, if it can.
    early : int or None
        Cycles before the earliest write of a result that a consumer may issue; None: as soon as
        the producer has issued.

    """

    grant: float = 1.0
    conflicts: bool = False
    accept: float = 1.0
    latency: tuple[int, ...] = (1,)
    write: float = 1.0
    issue: float = 1.0
    early: int | None = None


def issue_of(number: int, warp: int, mask: int, **fields) -> dict:
    """Return the payload of `issue_layout` for instruction `number`, encoded in its pc."""
    instruction = {
        "pc": 4 * number,
        "port": Port.INT,
        "operation": number % 32,
        "rd": 0,
        "writes": 0,
        "sources": [0, 0, 0],
        "reads": 0,
        "immediate": number * 0x01000193 & 0xFFFFFFFF,
        "rounding": number % 5,
        "a_is_pc": number & 1,
        "b_is_immediate": number >> 1 & 1,
        "stalls_warp": 0,
        "serialises": 0,
    }
    return {"warp": warp, "mask": mask, "instruction": instruction | fields, "pending": 0}


class Banks:
    """Model of the register banks: contents, and granted reads by cycle.

    Parameters
    ----------
    config : CoreConfig
        The core.
    surroundings : Surroundings
        Probability of grants, and bank conflicts.
    rng : random.Random
        Random source.

    Attributes
    ----------
    registers : dict
        Values of all threads, by warp and register.
    answers : dict of int to dict
        Register data read in the last cycle, by collector.

    """

    def __init__(self, config: CoreConfig, surroundings: Surroundings, rng: random.Random):
        self.config = config
        self.surroundings = surroundings
        self.rng = rng
        names = [(warp, register) for warp in range(config.warps) for register in range(64)]
        self.registers = {name: random_values(config, rng) for name in names}
        self.answers: dict[int, dict] = {}
        self.unread: dict[int, int] = {}  # threads not read yet, by collector
        self.busy: set[tuple[int, int]] = set()  # registers read in this cycle

    def grant(self, requests: dict[int, dict]) -> set[int]:
        """Serve requests, in parts with word-wide banks; return the collectors that are done."""
        self.answers = {}
        self.busy.clear()
        granted = set()
        busy = set()
        collectors = list(requests)
        self.rng.shuffle(collectors)
        for collector in collectors:
            request = requests[collector]
            bank = (request["warp"] + request["register"]) % self.config.banks
            refused = self.surroundings.conflicts and bank in busy
            if refused or self.rng.random() >= self.surroundings.grant:
                continue
            busy.add(bank)
            if self.serve(collector, request):
                granted.add(collector)
        return granted

    def serve(self, collector: int, request: dict) -> bool:
        """Read a register, or threads of it, for `collector`; return True if it is complete."""
        mask = (1 << self.config.threads) - 1
        left = self.unread.pop(collector, request["mask"])
        if self.config.bank_mapping == "thread":
            mask = self.part(left)
            if left & ~mask:
                self.unread[collector] = left & ~mask
        if mask:
            name = (request["warp"], request["register"])
            self.busy.add(name)
            values = random_values(self.config, self.rng)
            for thread, value in enumerate(self.registers[name]):
                if mask >> thread & 1:
                    values[thread] = value
            self.answers[collector] = {"mask": mask, "values": values}
        return collector not in self.unread

    def part(self, left: int) -> int:
        """Return the threads of `left` that are read in this cycle."""
        if self.surroundings.grant < 1:
            return left & self.rng.getrandbits(self.config.threads)
        threads = [t for t in range(self.config.threads) if left >> t & 1]
        first = {t % self.config.banks: t for t in reversed(threads)}
        return sum(1 << t for t in first.values())

    def write(self, result: dict):
        """Write a result into the registers; no read of them may be in the same cycle."""
        name = (result["warp"], result["rd"])
        assert name not in self.busy, f"warp and register {name} read and written at once"
        for thread in range(self.config.threads):
            if result["mask"] >> thread & 1:
                self.registers[name][thread] = result["values"][thread]


class Units:
    """Model of the units: computes `mixture` of each operation and puts results on buses.

    Parameters
    ----------
    config : CoreConfig
        The core.
    surroundings : Surroundings
        Latencies.
    rng : random.Random
        Random source.

    """

    def __init__(self, config: CoreConfig, surroundings: Surroundings, rng: random.Random):
        self.config = config
        self.surroundings = surroundings
        self.rng = rng
        self.results: list[tuple[int, dict]] = []  # each with the earliest cycle of its write

    def start(self, cycle: int, operation: dict) -> int:
        """Accept an operation; return the earliest cycle of its result's write."""
        due = cycle + self.rng.choice(self.surroundings.latency)
        result = {name: operation[name] for name in ("warp", "mask", "pc", "rd", "writes")}
        values = random_values(self.config, self.rng)
        for thread, value in enumerate(mixture(operation)):
            if operation["mask"] >> thread & 1:
                values[thread] = value
        more = {name: self.rng.getrandbits(1) for name in more_field(self.config)}
        self.results.append((due, result | more | {"flags": 0, "values": values}))
        return due

    def buses(self, cycle: int) -> list[dict | None]:
        """Return the result on each bus in this cycle; results may overtake older ones."""
        due = [entry for entry in self.results if entry[0] <= cycle]
        buses: list[dict | None] = []
        for _ in range(self.config.writeback_buses):
            if not due or self.rng.random() >= self.surroundings.write:
                buses.append(None)
                continue
            entry = due.pop(self.rng.randrange(len(due)) if self.surroundings.write < 1 else 0)
            self.results.remove(entry)
            buses.append(entry[1])
        return buses


class Issuer:
    """Model of issue: each warp's instructions in order, warps round-robin, as far as legal.

    Parameters
    ----------
    config : CoreConfig
        The core.
    surroundings : Surroundings
        Probability of issue, and how early consumers may issue.
    program : list of dict
        Payloads of `issue_layout` in the order of the program, by `issue_of`.
    rng : random.Random
        Random source.

    Attributes
    ----------
    expected : dict
        By pending warp and register, the instruction that writes it last and the earliest cycle
        of that write, None until the instruction has been accepted.
    twice : set
        Registers whose last writer also reads them from an earlier writer in flight. The
        dependency orders the two, so that an accumulation does not wait for the banks.

    """

    def __init__(
        self,
        config: CoreConfig,
        surroundings: Surroundings,
        program: list[dict],
        rng: random.Random,
    ):
        self.config = config
        self.surroundings = surroundings
        self.rng = rng
        self.queues = [[i for i in program if i["warp"] == warp] for warp in range(config.warps)]
        self.expected: dict[tuple[int, int], tuple[int, int | None]] = {}
        self.twice: set[tuple[int, int]] = set()
        self.turn = 0

    def offers(self, cycle: int, buses: list[dict | None]) -> list[dict | None]:
        """Return the offer of each slot in this cycle: of one warp, to different ports."""
        shown = {(bus["warp"], bus["rd"]) for bus in buses if bus and bus["writes"]}
        for step in range(self.config.warps):
            warp = (self.turn + step) % self.config.warps
            offers: list[dict | None] = []
            for issue in self.queues[warp][: self.config.issue_width]:
                offer = self.ready(issue, cycle, shown)
                unwilling = self.rng.random() >= self.surroundings.issue
                if offer is None or unwilling or (offers and self.clash(offers[0], issue)):
                    break
                offers.append(offer)
            if offers:
                self.turn = warp + 1
                return offers + [None] * (self.config.issue_width - len(offers))
        return [None] * self.config.issue_width

    def clash(self, first, second: dict) -> bool:
        """Return True if two instructions of a warp must not issue in one cycle."""
        older, younger = first["instruction"], second["instruction"]
        reads = [s for k, s in enumerate(younger["sources"]) if younger["reads"] >> k & 1]
        touched = [*reads, *([younger["rd"]] if younger["writes"] else [])]
        return older["port"] == younger["port"] or (older["writes"] and older["rd"] in touched)

    def ready(self, issue: dict, cycle: int, shown: set) -> dict | None:
        """Return the instruction with its pending bits if it can be issued, else None."""
        instruction, warp = issue["instruction"], issue["warp"]
        under_way = {name for name in self.expected if name not in shown or name in self.twice}
        pending = 0
        reads = set()
        for k, source in enumerate(instruction["sources"]):
            if instruction["reads"] >> k & 1 and (warp, source) in under_way:
                arrival, early = self.expected[warp, source][1], self.surroundings.early
                known = arrival is not None and early is not None and arrival <= cycle + early
                if not self.config.snoop or not (known or early is None):
                    return None
                pending |= 1 << k
                reads.add((warp, source))
        target = (warp, instruction["rd"])
        overwrites = instruction["writes"] and target in under_way
        if (reads & self.twice) - shown or (overwrites and target not in reads):
            return None
        return issue | {"pending": pending}

    def issue(self, issue: dict):
        """Record an accepted instruction; in a cycle, after its writes."""
        self.queues[issue["warp"]].pop(0)
        instruction, target = issue["instruction"], (issue["warp"], issue["instruction"]["rd"])
        if instruction["writes"]:
            if target in self.expected:
                self.twice.add(target)
            self.expected[target] = (instruction["pc"] // 4, None)

    def write(self, result: dict):
        """Record a written result."""
        target = (result["warp"], result["rd"])
        if self.expected[target][0] == result["pc"] // 4:
            del self.expected[target]
        else:
            self.twice.remove(target)
