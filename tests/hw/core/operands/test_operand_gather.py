"""Tests of collectors, register banks and writeback together, against a sequential model."""

import random

import pytest
from amaranth import Value
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from spica.hw.config import CoreConfig
from spica.hw.core.layouts import issue_layout, operation_layout, result_layout
from spica.hw.core.operands.collector_pool import Collectors
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.core.operands.writeback import Writeback
from spica.hw.isa.operations import PORTS, Port
from spica.hw.lib.streams import ResponseSignature
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.sim.golden.core.operands.collector_pool import expected_operations
from support.core.collector_pool_surroundings import Issuer, Surroundings, Units, issue_of
from support.packing import Packing


class Gathering(wiring.Component):
    """Path from issued instructions to operations, and from results to registers."""

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__({
            "i": In(stream.Signature(issue_layout(config))).array(config.issue_width),
            "result": In(stream.Signature(result_layout(config))).array(len(self.config.ports)),
            "bus": Out(ResponseSignature(result_layout(config))).array(config.writeback_buses),
            "operation": Out(stream.Signature(operation_layout(config))).array(
                len(self.config.ports)
            ),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.collectors = collectors = Collectors(self.config)
        m.submodules.registers = registers = RegisterFile(self.config)
        m.submodules.writeback = writeback = Writeback(self.config, len(self.config.ports))
        for number, i in enumerate(self.i):
            connect(m, flipped(i), collectors.i[number])
        for number in range(self.config.collectors):
            connect(m, collectors.request[number], registers.request[number])
            connect(m, registers.data[number], collectors.data[number])
        for number, port in enumerate(self.operation):
            connect(m, collectors.operation[number], flipped(port))
            connect(m, flipped(self.result[number]), writeback.result[number])
        for number, bus in enumerate(self.bus):
            connect(m, writeback.write[number], registers.write[number])
            connect(m, writeback.bus[number], collectors.bus[number])
            m.d.comb += [
                bus.valid.eq(writeback.bus[number].valid),
                bus.payload.eq(writeback.bus[number].payload),
            ]
        return m


class GatheringBench:
    """Bench that runs a program; every unit has its own queue of results."""

    def __init__(self, config: CoreConfig, surroundings: Surroundings, program: list[dict]):
        self.config = config
        self.surroundings = surroundings
        self.program = program
        self.rng = random.Random(1)
        self.issuer = Issuer(config, surroundings, program, self.rng)
        self.units = {port: Units(config, surroundings, self.rng) for port in config.ports}
        zeros = {(w, r): [0] * config.threads for w in range(config.warps) for r in range(64)}
        self.expected = expected_operations(config, program, zeros)
        layouts = (issue_layout(config), operation_layout(config), result_layout(config))
        self.issue, self.operation, self.result = (Packing(layout) for layout in layouts)
        self.cycles = self.written = 0
        self.accepted = [-1] * len(program)

    def run(self):
        """Run until all results are written."""
        dut = Gathering(self.config)
        require_no_loop(dut)

        async def testbench(ctx):
            await self.testbench(ctx, dut)

        simulate(dut, testbench, timeout=5000)
        return self

    async def testbench(self, ctx, dut):
        """In each cycle: offer results, check the buses, issue."""
        while self.written < len(self.program):
            heads = self.offer_results(ctx, dut)
            buses = [
                self.result.unpack(ctx.get(Value.cast(bus.payload))) if ctx.get(bus.valid) else None
                for bus in dut.bus
            ]
            offers = self.issuer.offers(self.cycles, buses)
            for i, offer in zip(dut.i, offers, strict=True):
                ctx.set(i.valid, offer is not None)
                ctx.set(Value.cast(i.payload), self.issue.pack(offer or self.program[0]))
            self.accept(ctx, dut)
            taken = [offer for i, offer in zip(dut.i, offers, strict=True) if ctx.get(i.ready)]
            for port in heads:
                if ctx.get(dut.result[port].ready):
                    self.units[port].results.pop(0)
            await ctx.tick()
            for bus in filter(None, buses):
                self.written += 1
                if bus["writes"]:
                    self.issuer.write(bus)
            for offer in filter(None, taken):
                self.issuer.issue(offer)
            self.cycles += 1

    def offer_results(self, ctx, dut) -> list[Port]:
        """Offer each unit's oldest result; return the owners."""
        heads = []
        for port, unit in self.units.items():
            due = bool(unit.results) and unit.results[0][0] <= self.cycles
            ctx.set(dut.result[port].valid, due)
            if due:
                heads.append(port)
                ctx.set(Value.cast(dut.result[port].payload), self.result.pack(unit.results[0][1]))
        return heads

    def accept(self, ctx, dut):
        """Accept the ports' offers and compare them with the expected ones."""
        for port in self.config.ports:
            willing = self.rng.random() < self.surroundings.accept
            ctx.set(dut.operation[port].ready, willing)
            if not (willing and ctx.get(dut.operation[port].valid)):
                continue
            found = self.operation.unpack(ctx.get(Value.cast(dut.operation[port].payload)))
            number = found["pc"] // 4
            expected = self.expected[number]
            for values, exact in zip(found["operands"], expected["operands"], strict=True):
                for thread in range(self.config.threads):
                    if not found["mask"] >> thread & 1:
                        values[thread] = exact[thread]
            assert found == expected, f"instruction {number} in cycle {self.cycles}"
            self.accepted[number] = self.cycles
            due = self.units[port].start(self.cycles, expected)
            target = (found["warp"], found["rd"])
            if found["writes"] and self.issuer.expected[target][0] == number:
                self.issuer.expected[target] = (number, due)


def mixed_program(config: CoreConfig, count: int) -> list[dict]:
    """Return instructions with all kinds of dependences and masks."""
    rng = random.Random(4)
    names = [1, 2, 9, 32, 33, 63]
    full = (1 << config.threads) - 1
    program = []
    for number in range(count):
        port = rng.choice(config.ports)
        mask = rng.choice([full, full, 1, rng.randint(1, full)])
        program.append(
            issue_of(
                number,
                rng.randrange(config.warps),
                mask,
                port=port,
                rd=rng.choice(names),
                writes=int(rng.random() < 0.8),
                sources=[rng.choice(names) for _ in range(3)],
                reads=rng.getrandbits(PORTS[port].operands),
            )
        )
    return program


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"snoop": False, "bank_arbiter": "age"},
        {"issue_width": 2, "writeback_buses": 1, "collectors": 3},
        {"bank_mapping": "thread", "banks": 2},
        {"bank_mapping": "thread", "threads": 2, "writeback_buses": 3},
    ],
)
@pytest.mark.quick(1)
def test_operands(fields):
    config = CoreConfig(**({"warps": 3, "threads": 3, "banks": 4} | fields))
    surroundings = Surroundings(accept=0.6, latency=(1, 2, 5))
    GatheringBench(config, surroundings, mixed_program(config, 60)).run()


@pytest.mark.parametrize(("snoop", "step"), [(True, 5), (False, 8)])
@pytest.mark.full
def test_chain(snoop, step):
    """Cycles from a fused multiply-add of four cycles to the next one that needs it."""
    config = CoreConfig(warps=2, threads=2, banks=4, snoop=snoop)
    fields = {"port": Port.FP32, "rd": 40, "writes": 1, "sources": [41, 42, 40], "reads": 7}
    program = [issue_of(number, 0, 3, **fields) for number in range(10)]
    bench = GatheringBench(config, Surroundings(latency=(4,)), program).run()
    steps = [b - a for a, b in zip(bench.accepted, bench.accepted[1:], strict=False)]
    assert steps == [step] * 9


@pytest.mark.full
def test_independent():
    """Three-operand instructions of eight warps reach one per cycle despite bank conflicts."""
    config = CoreConfig(threads=1)
    rng = random.Random(3)
    program = [
        issue_of(
            number,
            number % 8,
            1,
            port=Port.FP32,
            rd=32 + number // 8,
            writes=1,
            sources=[rng.randrange(1, 32) for _ in range(3)],
            reads=7,
        )
        for number in range(160)
    ]
    bench = GatheringBench(config, Surroundings(latency=(4,)), program).run()
    assert 159 / (bench.accepted[-1] - bench.accepted[0]) >= 0.98
