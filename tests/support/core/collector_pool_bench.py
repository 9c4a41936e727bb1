"""Bench of the operand collectors, between models of banks, units and buses."""

import random

from amaranth import Value

from spica.hw.config import CoreConfig
from spica.hw.isa.operations import PORTS, Port
from spica.hw.lib.interfaces.execution_unit import more_field
from spica.sim.engine.testbench import simulate
from support.alike import require_alike
from support.core.collector_pool_model import expected_operations
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
    """Bench that runs a program through the collectors and checks what they promise.

    Each instruction goes to its port once, with the operands of `expected_operations`, those of a
    warp for one port in order. Each operand is read once, from a bank or from a bus. An instruction
    is accepted if there is a free collector. Requests and offers stay until they are accepted.

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
        self.inside: list[int] = []  # instructions in collectors, the oldest first
        self.refused: dict[int, dict] = {}  # requests of the last cycle
        self.offered: dict[int, int] = {}  # instructions offered and not accepted, by port
        self.final = {name: list(values) for name, values in self.banks.registers.items()}
        self.expected = expected_operations(config, program, self.final)
        self.dut = PackedCollectors(config)
        self.packings = {name: Packing(layout) for name, layout in self.dut.layouts.items()}
        self.cycles = self.read = self.snooped = self.done = 0
        self.issued, self.accepted, self.written = ([-1] * len(program) for _ in range(3))

    def run(self, timeout: int = 20_000):
        """Run the program; raise `AssertionError` on any difference."""
        simulate(self.dut, self.testbench, timeout=timeout)
        assert self.read + self.snooped == sum(
            issue["instruction"]["reads"].bit_count() for issue in self.program
        ), "each operand is read once"
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
            operations = {port: ctx.get(Value.cast(dut.operation[port])) for port in offered}
            accepted = self.check_offers(operations)
            ctx.set(dut.readies, self.packings["readies"].pack(self.readies(granted, accepted)))
            o = self.packings["o"].unpack(ctx.get(Value.cast(dut.o)))
            issues = self.check_room(o["i_ready"], offers, accepted)
            self.end_cycle(o["events"], buses, accepted, issues)
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
        """Check that requests are for instructions inside; return those that are granted."""
        valid_requests = {c: one["payload"] for c, one in enumerate(requests) if one["valid"]}
        assert self.refused.items() <= valid_requests.items(), "a request changed"
        needed = []
        for number in self.inside:
            issue = self.program[number]
            instruction = issue["instruction"]
            reads_all = PORTS[Port(instruction["port"])].reads_all
            mask = (1 << self.config.threads) - 1 if reads_all else issue["mask"]
            for k, source in enumerate(instruction["sources"]):
                if instruction["reads"] >> k & 1:
                    needed.append({"warp": issue["warp"], "register": source, "mask": mask})
        assert all(request in needed for request in valid_requests.values())
        granted = self.banks.grant(valid_requests)
        self.refused = {c: request for c, request in valid_requests.items() if c not in granted}
        self.read += len(granted)
        return granted

    def check_offers(self, operations: dict[int, int]) -> dict[int, int]:
        """Compare the offers with the expected operations; return the accepted ones by port."""
        offers = {}
        for port, operation in operations.items():
            unpacked = self.packings["operation"].unpack(operation)
            offers[port] = number = unpacked["pc"] // 4
            stream = (self.expected[number]["warp"], port)
            older = (n for n in self.inside if (self.expected[n]["warp"], self.port(n)) == stream)
            assert number == next(older, None), f"instruction {number} at {Port(port)}"
            expected = self.expected[number]
            idle = [t for t in range(self.config.threads) if not expected["mask"] >> t & 1]
            for values, exact in zip(unpacked["operands"], expected["operands"], strict=True):
                for thread in idle:  # operands of inactive threads are undefined
                    values[thread] = exact[thread]
            require_alike(unpacked, expected, "instruction", number, "at", Port(port))
        assert self.offered.items() <= offers.items(), "an offer changed"
        willing = [port for port in offers if self.rng.random() < self.surroundings.accept]
        self.offered = {port: number for port, number in offers.items() if port not in willing}
        return {port: offers[port] for port in willing}

    def port(self, number: int) -> int:
        """Return the port of an instruction."""
        return int(self.program[number]["instruction"]["port"])

    def readies(self, granted: set[int], accepted: dict[int, int]) -> dict:
        """Return the readies; those of ports without an offer are random."""
        ready = sum(1 << port for port in accepted)
        idle = sum(1 << p for p in self.config.ports if p not in self.offered | accepted)
        return {
            "request": sum(1 << collector for collector in granted),
            "operation": ready | idle & self.rng.getrandbits(len(self.config.ports)),
        }

    def check_room(
        self, ready: int, offers: list[dict | None], accepted: dict[int, int]
    ) -> list[dict]:
        """Compare the accepted slots with the free collectors; return their instructions."""
        room = self.config.collectors - len(self.inside) + len(accepted)
        issues = []
        for slot, offer in enumerate(offers):
            assert (ready >> slot & 1) == (room > len(issues)), f"ready of slot {slot}"
            if offer is not None and room > len(issues):
                issues.append(offer)
        return issues

    def end_cycle(
        self,
        events: dict,
        buses: list[dict | None],
        accepted: dict[int, int],
        issues: list[dict],
    ):
        """End the cycle; compare events."""
        assert events["occupied"] == len(self.inside)
        assert events["refused"] == len(self.refused)
        self.snooped += events["snooped"]
        for number in accepted.values():
            self.inside.remove(number)
            self.accept(number)
        for result in buses:
            if result is not None:
                self.write(result)
        for issue in issues:
            self.issuer.issue(issue)
            number = issue["instruction"]["pc"] // 4
            self.inside.append(number)
            self.issued[number] = self.cycles
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
