"""Model of the rest of a core around issue: buffers, collectors, units, buses and banks.

Each register holds the number of the instruction that wrote it last instead of a value. This
detects operands that are stale, too new or missing.
"""

import random
from dataclasses import dataclass

from spica.hw.config import CoreConfig
from spica.hw.core.issue.warp_scoreboard import FIXED_PORTS, VARIABLE_PORTS
from spica.hw.isa.operations import Port
from support.core.issue_entry import Cycle, Entry, Flight

__all__ = ["RestOfCore", "Timing"]


@dataclass(kw_only=True)
class Timing:
    """Latencies, and probabilities of stalls: 0 is never, 1 always."""

    starve: float = 0.0  #: a buffer has no new head
    refuse: float = 0.0  #: collectors accept nothing
    hold: float = 0.0  #: a bus stays empty
    conflict: float = 0.0  #: a bank does not answer
    busy: float = 0.0  #: a unit accepts nothing
    longest: int = 0  #: maximum additional cycles of results with variable latency
    barrier: float = 0.0  #: a blocking instruction waits at a barrier
    end: float = 0.0  #: a blocking instruction ends its warp, which restarts later
    patience: int = 400  #: cycles without any progress until an error is raised


class RestOfCore:
    """Surroundings of issue in a core of `config`, with a program for each warp.

    In each cycle call `before`, run issue, then call `after` with its outputs.
    """

    def __init__(
        self, config: CoreConfig, programs: list[list[Entry]], timing: Timing, rng: random.Random
    ):
        self.config, self.timing, self.rng = config, timing, rng
        self.buffers = [list(program) for program in programs]
        self.left = sum(len(program) for program in programs)
        self.newest: list[dict[int, int]] = [{} for _ in programs]
        self.banks: list[dict[int, int]] = [{} for _ in programs]
        self.queue: list[Flight] = []  # issued, not yet in a collector
        self.collectors: list[Flight] = []  # oldest first
        self.dispatched: list[Flight] = []  # micro-operations before the last one
        self.units: list[Flight] = []
        self.results: list[Flight] = []
        self.under_way: list[list[Flight]] = [[] for _ in programs]
        self.barriers: set[int] = set()
        self.stopped: set[int] = set()
        self.only_products = [False] * len(programs)  # in flight in the last cycle
        self.written: list[Flight | None] = []
        self.resume_at: dict[int, int] = {}
        self.start_at: dict[int, int] = {}
        self.credits = {port: config.credits(port) for port in config.credit_ports}
        self.releases: list[tuple[int, Port]] = []  # cycle and port of returned credits
        self.now = self.issued = self.last_progress = 0

    @property
    def done(self) -> bool:
        """True if nothing is left to issue or in flight."""
        return not self.left and not any(self.under_way)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return probability > 0 and self.rng.random() < probability

    def before(self) -> Cycle:
        """Return the inputs of issue in this cycle."""
        dispatched = self.dispatch()
        arriving = self.arrive()
        self.written = self.choose_results()
        resume = {warp for warp, cycle in self.resume_at.items() if cycle <= self.now}
        self.barriers -= resume
        for warp in resume:
            del self.resume_at[warp]
        started = {warp for warp, cycle in self.start_at.items() if cycle <= self.now}
        active = {warp for warp, buffer in enumerate(self.buffers) if buffer or self.alive(warp)}
        active -= set(self.start_at)
        for warp in started:
            del self.start_at[warp]
        free = self.config.collectors - len(self.collectors)
        refused = self.chance(self.timing.refuse)
        width = self.config.issue_width
        heads = [
            [] if self.chance(self.timing.starve) else buffer[:width] for buffer in self.buffers
        ]
        if width > 1 and self.chance(self.timing.starve):
            heads = [head[:1] for head in heads]
        masks = [self.rng.getrandbits(self.config.threads) for _ in self.buffers]
        self.usable = dict(self.credits)  # without those that return in this cycle
        self.cycle = Cycle(
            heads=heads,
            masks=masks,
            active=active,
            at_barrier=set(self.barriers),
            started=started,
            resume=resume,
            dispatched=dispatched,
            arriving=arriving,
            written=[
                None if flight is None else (flight.warp, flight.entry.rd, flight.entry.writes)
                for flight in self.written
            ],
            ready=[not refused and free > slot for slot in range(width)],
            released=[self.release(port) for port in self.credits],
        )
        return self.cycle

    def release(self, port: Port) -> bool:
        """Return whether the unit of a port returns a credit in this cycle."""
        due = min((pending for pending in self.releases if pending[1] == port), default=None)
        if due is None or due[0] > self.now:
            return False
        self.releases.remove(due)
        self.credits[port] += 1
        return True

    def alive(self, warp: int) -> bool:
        """Return True if a warp has instructions in flight."""
        return bool(self.under_way[warp])

    def dispatch(self) -> list[tuple[int, int] | None]:
        """Send complete instructions to their units; return the events of fixed ports."""
        events: dict[Port, tuple[int, int] | None] = {}
        for port in self.config.ports:
            if self.chance(self.timing.busy):
                continue
            for position, flight in enumerate(self.collectors):
                older = [one for one in self.collectors[:position] if one.warp == flight.warp]
                gathers = any(any(one.waits) or any(one.reads_bank) for one in [*older, flight])
                if flight.entry.port == port and not gathers:
                    self.collectors.remove(flight)
                    self.dispatched.append(flight)
                    if flight.is_last:
                        self.execute(flight)
                    if flight.entry.writes:
                        events[port] = (flight.warp, flight.entry.rd)
                    break
        return [events.get(port) for port in FIXED_PORTS]

    def execute(self, last: Flight):
        """Start an instruction whose last micro-operation is dispatched."""
        if last.entry.port in self.credits:
            delay = 1 + self.rng.randint(0, self.timing.longest)
            self.releases.append((self.now + delay, last.entry.port))
        parts = [
            one
            for one in self.dispatched
            if (one.warp, one.entry.port) == (last.warp, last.entry.port)
        ]
        for flight in parts:
            self.dispatched.remove(flight)
            if flight.responds:
                flight.due = self.now + self.latency(flight.entry.port)
                self.units.append(flight)
            else:
                self.under_way[flight.warp].remove(flight)

    def latency(self, port: Port) -> int:
        """Return the cycles until the result of an instruction dispatched now."""
        if port == Port.FP32:
            return self.config.fma_latency
        if port == Port.INT:
            return self.rng.choice([1, self.config.multiply_latency]) if self.timing.longest else 1
        return 2 + self.rng.randint(0, self.timing.longest)

    def arrive(self) -> list[tuple[int, int] | None]:
        """Move finished instructions to writeback arbitration; return the announcements."""
        for flight in [flight for flight in self.units if flight.due <= self.now]:
            port = flight.entry.port
            if port in VARIABLE_PORTS and any(one.entry.port == port for one in self.results):
                continue  # a unit offers one at a time
            self.units.remove(flight)
            self.results.append(flight)
        offered = {flight.entry.port: flight for flight in self.results if flight.entry.writes}
        return [
            (offered[port].warp, offered[port].entry.rd) if port in offered else None
            for port in VARIABLE_PORTS
        ]

    def choose_results(self) -> list[Flight | None]:
        """Put the oldest results on the buses."""
        chosen = []
        for _ in range(self.config.writeback_buses):
            held = not self.results or self.chance(self.timing.hold)
            chosen.append(None if held else self.results.pop(0))
        return chosen

    def after(self, issued: int | None, second: bool, accepted: int):
        """End the cycle: issuing warp, dual issue, and the number of accepted offers."""
        if self.config.tensor == "hgmma":
            for warp, flights in enumerate(self.under_way):
                self.only_products[warp] = warp != issued and all(one.entry.last for one in flights)
        self.stopped -= self.cycle.resume | self.cycle.started
        self.gather()
        self.write()
        for _ in range(accepted):
            self.allocate()
        if issued is not None:
            for slot in range(1 + second):
                self.take(issued, slot)
        waited = self.now - self.last_progress
        assert self.done or waited <= self.timing.patience, "nothing issues or completes"
        self.now += 1

    def take(self, warp: int, slot: int):
        """Issue the next instruction of `warp`."""
        entry = self.buffers[warp].pop(0)
        if entry.port in self.credits:
            self.credits[entry.port] -= 1
        if entry.stalls_warp:
            self.stopped.add(warp)
        flights = [self.flight(warp, slot, entry, beat) for beat in range(1 + entry.last)]
        for flight in flights:
            if flight.entry.writes:
                self.newest[warp][flight.entry.rd] = flight.number
        self.queue += flights
        self.under_way[warp] += flights
        self.left -= 1
        self.last_progress = self.now

    def flight(self, warp: int, slot: int, entry: Entry, beat: int) -> Flight:
        """Return a micro-operation of an instruction, which reads the newest registers."""
        part = entry.micro_operation(beat)
        right = [
            self.newest[warp].get(name, -1) if read else None
            for name, read in zip(part.sources, part.reads, strict=True)
        ]
        self.issued += 1
        mask = self.cycle.masks[warp]
        return Flight(
            number=self.issued, warp=warp, mask=mask, slot=slot, entry=part, beat=beat, right=right
        )

    def allocate(self):
        """Allocate a collector to the oldest instruction, whose operands `waits` are on a bus."""
        flight = self.queue.pop(0)
        pairs = zip(flight.entry.reads, flight.waits, strict=True)
        flight.reads_bank = [read and not waits for read, waits in pairs]
        self.collectors.append(flight)

    def gather(self):
        """Take operands from the buses, and one per collector from the banks."""
        for flight in self.collectors:
            for result in self.written:
                if result is not None and result.entry.writes and result.warp == flight.warp:
                    for k, name in enumerate(flight.entry.sources):
                        if flight.waits[k] and name == result.entry.rd:
                            flight.waits[k] = False
                            self.check(flight, k, result.number)
            if any(flight.reads_bank) and not self.chance(self.timing.conflict):
                k = flight.reads_bank.index(True)
                flight.reads_bank[k] = False
                name = flight.entry.sources[k]
                self.check(flight, k, self.banks[flight.warp].get(name, -1))

    def check(self, flight: Flight, k: int, version: int):
        """Compare an operand's version with that of program order."""
        assert version == flight.right[k], (
            f"warp {flight.warp} read register {flight.entry.sources[k]} of version {version} "
            f"instead of {flight.right[k]}"
        )

    def write(self):
        """Write the results on the buses to the banks."""
        for flight in self.written:
            if flight is None:
                continue
            bank, rd = self.banks[flight.warp], flight.entry.rd
            if flight.entry.writes:
                assert bank.get(rd, -1) <= flight.number, f"register {rd} written in another order"
                bank[rd] = flight.number
            if flight.entry.stalls_warp:
                self.carry_out(flight.warp)
            self.under_way[flight.warp].remove(flight)
            self.last_progress = self.now

    def carry_out(self, warp: int):
        """Continue `warp` after an instruction that stalled it: restart, barrier or resume."""
        if self.chance(self.timing.end):
            self.start_at[warp] = (self.now // 32 + 1) * 32  # several at a time
        elif self.chance(self.timing.barrier):
            self.barriers.add(warp)
            self.resume_at[warp] = self.now + 40
        else:
            self.resume_at[warp] = self.now + 1
