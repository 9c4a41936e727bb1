"""Bench of the register file: random accesses, and its contract in every cycle."""

import random
from collections import defaultdict
from dataclasses import dataclass

from spica.hw.config import CoreConfig
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.lib.interfaces.execution_unit import REGISTERS
from spica.sim.golden.core.operands.register_file import Access, bank_of

__all__ = ["Traffic"]


@dataclass(eq=False)
class Pending:
    """An access until its last cycle, and the rows or words that are left of it, by thread."""

    access: Access
    since: int
    left: set[int]


class Traffic:
    """Random accesses to a register file, whose contract is checked in every cycle.

    Each bank with a request serves one, and reports if there are others. Reads return the values
    of completed writes, each thread once. The oldest access of a bank goes first; or reads take
    turns, from the lowest collector after a pause.

    Parameters
    ----------
    config : CoreConfig
        Config under test.
    rng : random.Random
        Source of the accesses.
    stall : float
        Probability that a free collector or bus idles for a cycle.

    """

    def __init__(self, config: CoreConfig, rng: random.Random, stall: float):
        self.config, self.rng, self.stall = config, rng, stall
        self.dut = RegisterFile(config)
        self.registers = [
            [[0] * config.threads for _ in range(REGISTERS)] for _ in range(config.warps)
        ]
        self.reads: list[Pending | None] = [None] * config.collectors
        self.writes: list[Pending | None] = [None] * config.writeback_buses
        self.requested, self.accepted = list(self.reads), [False] * config.collectors
        self.contenders: dict[int, list[int]] = {}  # collectors at each bank in the last cycle
        self.last: dict[int, int] = {}  # collector served last by each bank without a pause
        self.cycle = self.accesses = self.read_conflicts = 0

    def new_access(self, *, reads: bool) -> Pending | None:
        """Return an access without conflict on its register, or None."""
        config, rng = self.config, self.rng
        if rng.random() < self.stall:
            return None
        warp, register = rng.randrange(config.warps), rng.randrange(1, rng.choice([6, 64]))
        others = self.writes if reads else [*self.writes, *self.reads]
        used = {(pending.access.warp, pending.access.register) for pending in others if pending}
        if (warp, register) in used:
            return None
        full = (1 << config.threads) - 1
        mask = rng.choice([full, full, 1 << rng.randrange(config.threads), rng.randint(0, full)])
        extremes = (0, 0xFFFF_FFFF, rng.getrandbits(32), rng.getrandbits(32))
        values = tuple(rng.choice(extremes) for _ in range(config.threads))
        access = Access(warp, register, mask, values, writes=reads or rng.random() > 0.1)
        left = {0} if config.bank_mapping == "warp" else access.threads()
        return Pending(access, self.cycle, left if access.writes else set())

    def offer(self, ctx):
        """Start accesses at idle collectors and buses, and drive all ports."""
        for accesses, ports in ((self.writes, self.dut.write), (self.reads, self.dut.request)):
            reads = accesses is self.reads
            for number, port in enumerate(ports):
                if accesses[number] is None:
                    accesses[number] = pending = self.new_access(reads=reads)
                    ctx.set(port.valid, pending is not None)
                    if pending is not None:
                        ctx.set(port.payload, payload_of(pending.access, reads=reads))

    def banks_of(self, pending: Pending) -> dict[int, int]:
        """Return the thread requested from each bank."""
        access, banks = pending.access, {}
        for thread in sorted(pending.left):
            banks.setdefault(bank_of(self.config, access.warp, access.register, thread), thread)
        return banks

    def by_bank(self, accesses: list[Pending | None], events: int, conflicts: int):
        """Return the numbers of the accesses that request each bank; check the events."""
        numbers_of: dict[int, list[int]] = defaultdict(list)
        for number, pending in enumerate(accesses):
            for bank in self.banks_of(pending) if pending else ():
                numbers_of[bank].append(number)
        assert events == sum(1 << bank for bank in numbers_of)
        assert conflicts == sum(
            1 << bank for bank, numbers in numbers_of.items() if len(numbers) > 1
        )
        return numbers_of

    def check_answers(self, answers: list):
        """Check the responses to the reads of the cycle before."""
        served: dict[int, int] = {}
        for number, (valid, answer) in enumerate(zip(answers[::2], answers[1::2], strict=True)):
            pending, accepted = self.requested[number], self.accepted[number]
            threads = {t for t in range(self.config.threads) if valid and answer.mask >> t & 1}
            done = threads if self.config.bank_mapping == "thread" else {0} & threads
            assert valid == (bool(done) or accepted)
            if pending is None:
                continue
            access = pending.access
            assert done <= pending.left
            assert self.config.bank_mapping == "thread" or len(threads) in (0, self.config.threads)
            pending.left -= done
            assert accepted == (not pending.left)
            values = self.registers[access.warp][access.register]
            assert all(answer["values"][thread] == values[thread] for thread in threads)
            for thread in done:
                bank = bank_of(self.config, access.warp, access.register, thread)
                assert bank not in served, f"bank {bank} serves two threads"
                served[bank] = number
        order = {bank: self.first(bank, numbers) for bank, numbers in self.contenders.items()}
        assert served == order
        self.last = served

    def first(self, bank: int, numbers: list[int]) -> int:
        """Return the collector that a bank serves."""
        if self.config.bank_arbiter == "age":
            return min(numbers, key=lambda number: (self.requested[number].since, number))
        last = self.last.get(bank, -1)
        return min(numbers, key=lambda number: (number <= last, number))

    def check_writes(self, written: list[int], events):
        """Serve the oldest write of each bank; check and apply the completed ones."""
        banks = self.by_bank(self.writes, events.writes, events.write_conflicts)
        ages = [write.since if write else -1 for write in self.writes]
        banks_of = [self.banks_of(write) if write else {} for write in self.writes]
        for bank, numbers in banks.items():
            winner = min(numbers, key=lambda number: (ages[number], number))
            self.writes[winner].left.remove(banks_of[winner][bank])
        for number, pending in enumerate(self.writes):
            assert written[number] == (pending is not None and not pending.left)
            if pending is not None and not pending.left:
                access = pending.access
                for thread in access.threads() if access.writes else ():
                    self.registers[access.warp][access.register][thread] = access.values[thread]
                self.writes[number] = None

    async def run(self, ctx, cycles: int):
        """Run some cycles."""
        dut = self.dut
        signals = [port.ready for port in (*dut.request, *dut.write)]
        signals += [signal for answer in dut.data for signal in (answer.valid, answer.payload)]
        for _ in range(cycles):
            self.offer(ctx)
            _, _, events, *sampled = await ctx.tick().sample(dut.events, *signals)
            count, ports = len(self.reads), len(self.reads) + len(self.writes)
            ready, written, answers = sampled[:count], sampled[count:ports], sampled[ports:]
            self.check_answers(answers)
            self.contenders = self.by_bank(self.reads, events.reads, events.read_conflicts)
            self.check_writes(written, events)
            self.requested, self.accepted = self.reads, [bool(access) for access in ready]
            self.reads = [None if ready[n] else access for n, access in enumerate(self.reads)]
            self.read_conflicts += events.read_conflicts > 0
            self.accesses += sum(ready) + sum(written)
            self.cycle += 1


def payload_of(access: Access, *, reads: bool) -> dict:
    """Return the request of a read, or the result of a write."""
    common = {"warp": access.warp, "mask": access.mask}
    if reads:
        return common | {"register": access.register}
    return common | {"rd": access.register, "writes": access.writes, "values": [*access.values]}
