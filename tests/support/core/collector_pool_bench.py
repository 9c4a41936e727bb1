"""Bench of the operand collectors, between models of banks, units and buses."""

import random

from amaranth import Value

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import more_field
from spica.hw.isa.operations import Port
from spica.sim.engine.testbench import simulate
from spica.sim.golden.core.operands.collector_pool import CollectorsModel, expected_operations
from spica.sim.units.alike import require_alike
from support.core.collector_pool_surroundings import (
    Banks,
    Issuer,
    Surroundings,
    Units,
    random_values,
)
from support.core.packed_collector_pool import PackedCollectors
from support.packing import Packing

__all__ = ["CollectorsBench"]


class CollectorsBench:
    """Bench that runs a program through the collectors and checks all their outputs.

    In each cycle, requests, offers, readies and events must equal those of `CollectorsModel`.
    Operands must equal those of `expected_operations`.

    Parameters
    ----------
    config : CoreConfig
        The core.
    surroundings : Surroundings
        Behaviour of the surroundings.
    program : list of dict
        Instructions to issue, by `issue_of`, instruction n at index n.
    seed : int
        Random seed.

    Attributes
    ----------
    cycles : int
        Cycles until the last write.
    issued, accepted, written : list of int
        Cycle in which each instruction was accepted, went to its port, and was written.
    snooped : int
        Operands taken from buses.

    """

    def __init__(
        self, config: CoreConfig, surroundings: Surroundings, program: list[dict], seed: int = 1
    ):
        self.config = config
        self.surroundings = surroundings
        self.program = program
        self.rng = rng = random.Random(seed)
        self.banks = Banks(config, surroundings, rng)
        self.units = Units(config, surroundings, rng)
        self.issuer = Issuer(config, surroundings, program, rng)
        self.model = CollectorsModel(config)
        self.final = {name: list(values) for name, values in self.banks.registers.items()}
        self.expected = expected_operations(config, program, self.final)
        self.dut = PackedCollectors(config)
        self.packings = {name: Packing(layout) for name, layout in self.dut.layouts.items()}
        self.cycles = self.snooped = self.done = 0
        self.issued, self.accepted, self.written = ([-1] * len(program) for _ in range(3))

    def run(self, timeout: int = 20_000):
        """Run the program; raise `AssertionError` on any difference."""
        simulate(self.dut, self.testbench, timeout=timeout)
        for name, values in self.final.items():
            assert self.banks.registers[name] == values, f"warp and register {name}"
        return self

    async def testbench(self, ctx):
        """Run until the last result is written."""
        dut = self.dut
        while self.done < len(self.program):
            buses = self.units.buses(self.cycles)
            offers = self.issuer.offers(self.cycles, buses)
            ctx.set(dut.answers, self.packings["answers"].pack(self.answers(buses, offers)))
            o = self.packings["o"].unpack(ctx.get(Value.cast(dut.o)))
            granted = self.check_requests(o["request"])
            offered = {port for port in self.config.ports if o["offered"] >> port & 1}
            require_alike(offered, set(self.model.offered), "ports offered in cycle", self.cycles)
            found = {port: ctx.get(Value.cast(dut.operation[port])) for port in offered}
            accepted = self.check_offers(found)
            ctx.set(dut.readies, self.packings["readies"].pack(self.readies(granted, accepted)))
            o = self.packings["o"].unpack(ctx.get(Value.cast(dut.o)))
            issues = self.check_room(o["i_ready"], offers, accepted)
            self.end_cycle(o["events"], granted, buses, accepted, issues)
            await ctx.tick()

    def answers(self, buses: list[dict | None], offers: list[dict | None]) -> dict:
        """Return all inputs of the collectors, with random values where nothing is valid."""
        everyone = (1 << self.config.threads) - 1
        nonsense = {"mask": everyone, "values": random_values(self.config, self.rng)}
        issue = self.rng.choice(self.program)
        name = {"warp": issue["warp"], "rd": self.rng.choice(issue["instruction"]["sources"])}
        last = dict.fromkeys(more_field(self.config), 0)
        result = nonsense | name | last | {"writes": 1, "pc": 0, "flags": 0}
        answers = [self.banks.answers.get(c) for c in range(self.config.collectors)]
        return {
            "i": [{"valid": one is not None, "payload": one or issue} for one in offers],
            "data": [{"valid": one is not None, "payload": one or nonsense} for one in answers],
            "bus": [{"valid": one is not None, "payload": one or result} for one in buses],
        }

    def check_requests(self, requests: list[dict]) -> set[int]:
        """Compare requests with the model's; return the collectors with a completed grant."""
        found = {c: one["payload"] for c, one in enumerate(requests) if one["valid"]}
        require_alike(found, self.model.requests(), "requests in cycle", self.cycles)
        return self.banks.grant(found)

    def check_offers(self, operations: dict[int, int]) -> set[int]:
        """Compare the offer to each port with the expected one; return the ports that accept."""
        for port, operation in operations.items():
            number = self.model.offered[port].issue["instruction"]["pc"] // 4
            found = self.packings["operation"].unpack(operation)
            expected = self.expected[number]
            idle = [t for t in range(self.config.threads) if not expected["mask"] >> t & 1]
            for values, exact in zip(found["operands"], expected["operands"], strict=True):
                for thread in idle:  # operands of inactive threads are undefined
                    values[thread] = exact[thread]
            require_alike(found, expected, "instruction", number, "at", Port(port))
        return {port for port in operations if self.rng.random() < self.surroundings.accept}

    def readies(self, granted: set[int], accepted: set[int]) -> dict:
        """Return the readies; those of ports without an offer are random."""
        ready = sum(1 << port for port in accepted)
        idle = sum(1 << port for port in self.config.ports if port not in self.model.offered)
        return {
            "request": sum(1 << collector for collector in granted),
            "operation": ready | idle & self.rng.getrandbits(len(self.config.ports)),
        }

    def check_room(self, ready: int, offers: list[dict | None], accepted: set[int]) -> list[dict]:
        """Compare the accepted slots with the free collectors; return their instructions."""
        room = self.model.room(accepted)
        issues = []
        for slot, offer in enumerate(offers):
            assert (ready >> slot & 1) == (room > len(issues)), f"ready of slot {slot}"
            if offer is not None and room > len(issues):
                issues.append(offer)
        return issues

    def end_cycle(
        self,
        events: dict,
        granted: set[int],
        buses: list[dict | None],
        accepted: set[int],
        issues: list[dict],
    ):
        """End the cycle, here and in the model; compare events."""
        results = [bus for bus in buses if bus is not None]
        model = self.model
        happened = {
            "occupied": len(model.entries),
            "refused": len(set(model.requests()) - granted),
        }
        for port in accepted:
            self.accept(model.offered[port].issue["instruction"]["pc"] // 4)
        for result in results:
            self.write(result)
        happened["snooped"] = model.step(granted, results, accepted, issues)
        assert events == happened
        self.snooped += happened["snooped"]
        for issue in issues:
            self.issuer.issue(issue)
            self.issued[issue["instruction"]["pc"] // 4] = self.cycles
        self.cycles += 1

    def accept(self, number: int):
        """Start an instruction in its unit."""
        operation = self.expected[number]
        due = self.units.start(self.cycles, operation)
        self.accepted[number] = self.cycles
        target = (operation["warp"], operation["rd"])
        if operation["writes"] and self.issuer.expected[target][0] == number:
            self.issuer.expected[target] = (number, due)

    def write(self, result: dict):
        """Write a bus result into the registers."""
        self.done += 1
        self.written[result["pc"] // 4] = self.cycles
        if result["writes"]:
            self.issuer.write(result)
            self.banks.write(result)
