"""Tests of atomics at `shared_memory` against its golden model: values, reservations, rates."""

import random
import re
from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest

from spica.hw.config import SharedAtomicsConfig, SharedMemoryConfig
from spica.hw.isa.operations import AtomicOperation
from spica.hw.lib.interfaces.shared_memory import narrow_request
from spica.hw.memory.shared.shared_memory import SharedMemory, SharedMemoryPorts, cluster_ports
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.measure import measure
from support.memory.shared_memory_traffic import Traffic

ATOMICS = SharedAtomicsConfig(owner_width=1, reservations=2)
LANES = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=256, banks=2, subbanks=4, narrow_ports=3, atomics=ATOMICS),
    read_sizes=(16, 8, 4),
    write_sizes=(16, 8),
)
ROWS = replace(LANES, row_ports=2, row_bytes=8)
#: A bank with ports of all kinds, for single accesses.
BANK = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=128, banks=1, subbanks=4, narrow_ports=3, atomics=ATOMICS),
    read_sizes=(16,),
    write_sizes=(16, 8),
    row_ports=1,
    row_bytes=8,
)
SHAPES = {
    "one word": SharedMemoryPorts(
        memory=SharedMemoryConfig(
            size=16,
            banks=1,
            subbanks=1,
            narrow_ports=1,
            read_latency=1,
            atomics=SharedAtomicsConfig(owner_width=0, reservations=1),
        ),
        read_sizes=(),
        write_sizes=(),
    ),
    "banks of a word": SharedMemoryPorts(
        memory=SharedMemoryConfig(size=64, banks=8, subbanks=1, narrow_ports=5, atomics=ATOMICS),
        read_sizes=(4,),
        write_sizes=(4,),
    ),
    "rows of a word": SharedMemoryPorts(
        memory=SharedMemoryConfig(size=16, banks=1, subbanks=2, narrow_ports=2, atomics=ATOMICS),
        read_sizes=(),
        write_sizes=(),
        row_ports=2,
        row_bytes=4,
    ),
    "last latency": SharedMemoryPorts(
        memory=SharedMemoryConfig(
            size=64, banks=1, subbanks=4, narrow_ports=2, read_latency=8, atomics=ATOMICS
        ),
        read_sizes=(16,),
        write_sizes=(16,),
        row_ports=1,
        row_bytes=16,
    ),
}


ADD, SWAP, LR, SC = (AtomicOperation[name] for name in ("ADD", "SWAP", "LR", "SC"))


def run_traffic(config, *, seed=1, cycles=300, stall=0.2, stalls=None, atomics=0.5, addresses=None):
    """Run random traffic on a memory of `config`; return its statistics."""
    stalls = dict.fromkeys(("read", "write", "narrow", "row"), stall) | (stalls or {})
    addresses = addresses or range(config.memory.size)
    dut = require_no_loop(SharedMemory(config))
    traffic = Traffic(dut, random.Random(seed), stalls=stalls, addresses=addresses, atomics=atomics)
    simulate(dut, partial(traffic.run, cycles=cycles))
    return traffic


@pytest.mark.parametrize("stall", [0.0, 0.6])
@pytest.mark.parametrize("span", [16, 256])
@pytest.mark.parametrize("config", [LANES, ROWS], ids=["lanes", "rows"])
@pytest.mark.quick(1)
def test_mixed_accesses_match_golden_model(config, stall, span):
    traffic = run_traffic(config, cycles=300, stall=stall, addresses=range(span))
    assert traffic.accesses > 300


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.quick(1)
def test_reservations_of_threads_with_few_writes_of_others(seed):
    stalls = {"read": 0.5, "write": 0.97, "row": 0.9, "narrow": 0.1}
    traffic = run_traffic(
        ROWS, seed=seed, cycles=400, stalls=stalls, atomics=0.9, addresses=range(32)
    )
    assert traffic.conditional > 3


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.quick(1)
def test_shapes_match_golden_model(name):
    config = SHAPES[name]
    traffic = run_traffic(config, cycles=200, atomics=0.7, addresses=range(16))
    assert traffic.accesses > 60


class Driver:
    """Ports of a memory with requests one after another; records acceptances and responses."""

    def __init__(self, config):
        self.dut = SharedMemory(config)  # shapes are converted by the tests above
        self.accepted, self.responses, self.cycle = {}, {}, 0

    async def run(self, ctx, cycles, **requests):
        """Offer lists of requests by port, each until it is accepted, for a number of cycles."""
        queues = {name: list(offered) for name, offered in requests.items()}
        ports = {name: getattr(self.dut, name) for name in queues}
        responding = {name: port for name, port in ports.items() if not name.startswith("write")}
        for _ in range(cycles):
            for name, queue in queues.items():
                ctx.set(ports[name].request.valid, bool(queue))
                if queue:
                    ctx.set(ports[name].request.payload, queue[0])
            for name, port in responding.items():
                if ctx.get(port.response.valid):
                    self.responses.setdefault(name, []).append(ctx.get(port.response.payload))
            for name, queue in queues.items():
                if queue and ctx.get(ports[name].request.ready):
                    self.accepted.setdefault(name, []).append(self.cycle)
                    del queue[0]
            await ctx.tick()
            self.cycle += 1
        assert not any(queues.values()), queues
        for port in ports.values():
            ctx.set(port.request.valid, 0)


def atomic(operation, address, value=0, owner=0, mask=0b1111):
    """Return an atomic of a lane."""
    fields = {"operation": operation, "data": value, "owner": owner, "mask": mask}
    return {"address": address, "atomic": 1, **fields}


def store(address, value, mask=0b1111):
    """Return a store of a lane."""
    return {"address": address, "write": 1, "data": value, "mask": mask}


def load(address):
    """Return a load of a lane."""
    return {"address": address}


@pytest.mark.parametrize("latency", [1, 2, 8])
@pytest.mark.parametrize("ports", [1, 3])
@pytest.mark.parametrize(("words", "interval"), [(4, 1), (1, 3)])
@pytest.mark.quick(1)
def test_a_bank_does_an_atomic_per_cycle_and_one_word_in_three(latency, ports, words, interval):
    assert interval <= latency + 2
    config = replace(BANK, memory=replace(BANK.memory, read_latency=latency))
    driver, count = Driver(config), 12

    async def run(ctx):
        await driver.run(ctx, 5, narrow_0=[store(4 * n, 0) for n in range(4)])
        start = driver.cycle
        streams = {
            f"narrow_{port}": [
                atomic(ADD, 4 * ((ports * n + port) % words), 1) for n in range(count)
            ]
            for port in range(ports)
        }
        driver.accepted = {}
        await driver.run(ctx, ports * count * interval + 4, **streams)
        cycles = sorted(cycle for accepted in driver.accepted.values() for cycle in accepted)
        # The turn may have to come to the first port.
        assert cycles[0] <= start + 1
        assert [b - a for a, b in pairwise(cycles)] == [interval] * (ports * count - 1)
        for accepted in driver.accepted.values():
            assert {b - a for a, b in pairwise(accepted)} == {ports * interval}
        driver.responses = {}
        await driver.run(ctx, 8 + latency, narrow_0=[load(4 * n) for n in range(words)])
        assert sum(driver.responses["narrow_0"][-words:]) == ports * count

    simulate(driver.dut, run)


#: A write of the second word of the first line by each path, and of words beside it.
WRITES = {
    "wide": ("write_0", {"address": 0, "data": 0, "mask": 0x00F0}, True),
    "one byte": ("write_1", {"address": 0, "data": 0, "mask": 0x40}, True),
    "wide, other words": ("write_0", {"address": 0, "data": 0, "mask": 0xFF0F}, False),
    "row": ("row_0", {"address": 0, "write": 1, "data": 0, "mask": 0xFF}, True),
    "row, other word": ("row_0", {"address": 0, "write": 1, "data": 0, "mask": 0x0F}, False),
    "lane": ("narrow_1", store(4, 0), True),
    "lane, no byte": ("narrow_1", store(4, 0, 0), False),
    "lane, other line": ("narrow_1", store(20, 0), False),
    "atomic": ("narrow_1", atomic(SWAP, 4), True),
    "atomic of another word": ("narrow_1", atomic(SWAP, 8), False),
    "lr of another thread": ("narrow_1", atomic(LR, 4), False),
    "sc of another thread": ("narrow_1", atomic(SC, 4), False),
    "sc of another thread of the port": ("narrow_0", atomic(SC, 4, owner=1), False),
    "own sc of another word": ("narrow_0", atomic(SC, 8), True),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.quick(1)
def test_a_write_of_the_word_by_any_path_ends_a_reservation(name):
    driver, (port, write, ends) = Driver(BANK), WRITES[name]

    async def run(ctx):
        await driver.run(ctx, 3, narrow_0=[atomic(LR, 4)])
        await driver.run(ctx, 4, **{port: [write]})
        await driver.run(ctx, 6, narrow_0=[atomic(SC, 4, 5)])
        assert driver.responses["narrow_0"][-1] == ends
        await driver.run(ctx, 6, narrow_0=[atomic(SC, 4, 6)])
        assert driver.responses["narrow_0"][-1] == 1

    simulate(driver.dut, run)


@pytest.mark.parametrize(("cycles", "fails"), [(255, 0), (256, 0), (257, 1)])
def test_a_reservation_ends_after_256_cycles(cycles, fails):
    driver = Driver(BANK)

    async def run(ctx):
        await driver.run(ctx, 3, narrow_0=[atomic(LR, 4)])
        (first,) = driver.accepted.pop("narrow_0")
        await driver.run(ctx, first + cycles - driver.cycle)
        assert ctx.get(driver.dut.busy) == (not fails)
        await driver.run(ctx, 4, narrow_0=[atomic(SC, 4)])
        assert driver.accepted["narrow_0"] == [first + cycles]
        assert driver.responses["narrow_0"][-1] == fails
        assert not ctx.get(driver.dut.busy)

    simulate(driver.dut, run)


def test_a_bank_gives_as_many_reservations_as_stated():
    driver = Driver(BANK)

    async def run(ctx):
        for n in range(3):
            await driver.run(ctx, 5, **{f"narrow_{n}": [atomic(LR, 4 * n)]})
        for n in range(3):
            await driver.run(ctx, 6, **{f"narrow_{n}": [atomic(SC, 4 * n)]})
        assert [driver.responses[f"narrow_{n}"][-1] for n in range(3)] == [0, 0, 1]

    simulate(driver.dut, run)


@pytest.mark.parametrize(
    ("port", "access", "waits"),
    [
        ("read_0", 0, 2),
        ("write_0", {"address": 0, "data": 0, "mask": 0xFFFF}, 2),
        ("row_0", {"address": 0, "mask": 0xFF}, 2),
        ("row_0", {"address": 0, "write": 1, "data": 0, "mask": 0xFF}, 2),
        ("narrow_1", load(4), 2),
        ("narrow_1", store(4, 0), 2),
        ("narrow_1", atomic(ADD, 4), 2),
        ("read_0", 16, 0),
        ("row_0", {"address": 8, "mask": 0xFF}, 0),
        ("narrow_1", load(20), 0),
        ("narrow_1", store(8, 0), 0),
    ],
)
@pytest.mark.quick(1)
def test_a_locked_word_waits_for_two_cycles_and_others_do_not(port, access, waits):
    driver = Driver(BANK)

    async def run(ctx):
        await driver.run(ctx, 1, narrow_0=[atomic(ADD, 4, 1)])
        await driver.run(ctx, 8, **{port: [access]})
        assert driver.accepted[port] == [1 + waits]

    simulate(driver.dut, run)


@pytest.mark.parametrize(
    ("port", "write"),
    [
        ("write_0", {"address": 64, "data": 0, "mask": 0xFFFF}),
        ("row_0", {"address": 64, "write": 1, "data": 0, "mask": 0xFF}),
        ("narrow_1", store(64, 0)),
    ],
)
def test_writes_are_done_while_atomics_write_in_their_subbank(port, write):
    driver, count = Driver(BANK), 24

    async def run(ctx):
        atomics = [atomic(ADD, 16 * (n % 4), 1) for n in range(count)]
        await driver.run(ctx, 80, narrow_0=atomics, **{port: [write] * 8})
        gaps = [b - a for a, b in pairwise([0, *driver.accepted[port]])]
        assert max(gaps) <= 4
        # Atomics are not kept from the bank either.
        assert max(b - a for a, b in pairwise(driver.accepted["narrow_0"])) <= 5

    simulate(driver.dut, run)


def test_atomics_without_lanes_are_refused():
    memory = replace(LANES.memory, narrow_ports=0)
    message = "memory.atomics must be None where there are no narrow ports"
    with pytest.raises(ValueError, match=re.escape(message)):
        replace(LANES, memory=memory)


def test_only_lanes_with_atomics_have_their_fields():
    fields = {"atomic", "operation", "expected", "owner"}
    for atomics in (None, ATOMICS):
        layout = narrow_request(replace(LANES.memory, atomics=atomics).port)
        assert (set(layout.members) & fields) == (fields if atomics else set())


def test_a_cluster_numbers_the_threads_behind_a_port():
    virgo = PRESETS["virgo"]
    assert virgo.core is not None
    assert cluster_ports(virgo).memory.atomics is None
    atomics = cluster_ports(replace(virgo, core=replace(virgo.core, atomics=True))).memory.atomics
    assert atomics == SharedAtomicsConfig(owner_width=5, reservations=8)


@pytest.mark.parametrize(
    ("preset", "depth", "nand2"), [("tiny", 52, 34_000), ("virgo", 58, 190_000)]
)
@pytest.mark.full
def test_cost_with_atomics(preset, depth, nand2):
    config = PRESETS[preset]
    config = replace(config, core=replace(config.core, atomics=True))
    measured = measure(SharedMemory(cluster_ports(config)), f"shared_{preset}")
    assert measured.depth <= depth
    assert measured.nand2 <= nand2
    assert measured.sram_bits == 8 * config.shared.size
