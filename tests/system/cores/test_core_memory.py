"""Tests of the simple memory behind cores: response time, order, and refusals."""

import ctypes
import random
from collections import Counter

import pytest

from spica.hw.cluster.cores import CoreSignature
from spica.hw.emit.emission import EmittedPort
from spica.hw.isa.memory_map import CONSOLE_BASE, DRAM_BASE, DRAM_END, ENTRY, SHARED_BASE
from spica.sim.engine.verilator_model import build_harness
from spica.sim.harness.binding import Layout
from spica.sim.harness.core_harness import CoreHarness
from spica.sim.harness.core_memory import CoreMemoryConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import small_config

CONFIG = small_config(warps=2, threads=4)
LANES = 4
TAGS = 16


class Ports:
    """The memory's ports without a core, driven cycle by cycle."""

    def __init__(self, **timing):
        signature = CoreSignature(CONFIG)
        core = signature.create(path=("core0",))
        ports = [
            EmittedPort("_".join(map(str, ("core0", *path))), str(member.flow), len(value))
            for path, member, value in signature.flatten(core)
        ]
        ports = [
            EmittedPort(port.name, "input" if "In" in port.direction else "output", port.width)
            for port in ports
        ]
        busy = EmittedPort("core0_busy", "output", 1)
        self.layout = Layout([*ports, busy, EmittedPort("start", "input", 1)], ())
        memory = CoreMemoryConfig(**timing)
        self.harness = CoreHarness(build_harness(), self.layout, CONFIG, memory)
        self.outputs = (ctypes.c_uint32 * self.layout.output_words)()
        self.inputs = (ctypes.c_uint32 * self.layout.input_words)()
        self.begin()

    def begin(self):
        """Start, and advance to the first cycle in which requests can be accepted."""
        self.harness.begin_cores(True, max_cycles=1 << 40, watchdog=1 << 40)
        self.cycle = -2
        self.step()
        assert self.input("start") == [1]
        self.step()

    def step(self, **outputs):
        """Drive the memory with this cycle's outputs and advance."""
        places = {port.name.removeprefix("core0_"): port for port in self.layout.outputs}
        ctypes.memset(self.outputs, 0, ctypes.sizeof(self.outputs))
        for name, value in {"busy": 1, **outputs}.items():
            words = value if isinstance(value, list) else [value]
            for number, word in enumerate(words):
                self.outputs[places[name].word + number] = word
        self.harness.step(self.harness.handle, self.outputs, self.inputs)
        self.cycle += 1

    def input(self, name):
        (port,) = (
            candidate
            for candidate in self.layout.inputs
            if candidate.name in (name, f"core0_{name}")
        )
        return [self.inputs[port.word + number] for number in range(port.words)]

    def flag(self, name):
        return self.input(name)[0]

    def request(self, tag, address, *, mask=15, data=0, size=4, store=False):
        """Return the outputs of a request of lanes to consecutive words, or to given ones."""
        addresses = (
            address if isinstance(address, list) else [address + 4 * k for k in range(LANES)]
        )
        strobes = sum(
            ((1 << size) - 1 << byte_address % 4 & 15) << 4 * k
            for k, byte_address in enumerate(addresses)
        )
        return {
            "request_valid": 1,
            "request_tag": tag,
            "request_is_store": int(store),
            "request_mask": mask,
            "request_address": addresses,
            "request_data": data if isinstance(data, list) else [data] * LANES,
            "request_strobes": strobes,
        }

    def answer(self):
        """Return tag, mask, errors and words of this cycle's response, if there is one."""
        if not self.flag("response_valid"):
            return None
        names = ("response_tag", "response_mask", "response_error")
        return (*map(self.flag, names), self.input("response_data"))

    def access(self, address, **request):
        """Run one request; return its response."""
        self.step(**self.request(1, address, **request))
        while (answer := self.answer()) is None:
            self.step()
        self.step()
        return answer

    def fetch(self, address):
        """Return the words of a pair, and whether it is outside memory."""
        self.step(fetch_valid=1, fetch_address=address, fetch_tag=1)
        while not self.flag("fetched_valid"):
            self.step()
        assert self.flag("fetched_tag") == 1
        answer = (*self.input("fetched_data"), self.flag("fetched_error"))
        self.step()
        return answer


def drive(ports, count, seed=1):
    """Request `count` words and pairs at full rate.

    Return the waits of each kind, the order of responses, and the cycles without an accepted
    request.
    """
    rng = random.Random(seed)
    requested, answered, fetches, fetched, masks = {}, {}, {}, {}, {}
    order, free, refusals = [], list(range(TAGS)), 0
    free_pairs, names, pairs = list(range(4)), {}, {}
    while len(answered) < count or len(fetched) < count:
        answer = ports.answer()
        if answer is not None:
            tag, mask, _, words = answer
            number = names[tag]
            assert masks[number] & mask == mask
            assert all(
                words[lane] == 4 * (number + lane) for lane in range(LANES) if mask >> lane & 1
            )
            masks[number] &= ~mask
            order.append(number)
            if not masks[number]:
                answered[number] = ports.cycle
                free.append(tag)
        if ports.flag("fetched_valid"):
            pair = ports.flag("fetched_tag")
            fetched[pairs[pair]] = ports.cycle
            free_pairs.append(pair)
        outputs = {}
        if len(requested) < count and free:
            if ports.flag("request_ready"):
                number, tag = len(requested), free.pop(0)
                requested[number], names[tag] = ports.cycle, number
                masks[number] = rng.randrange(1, 1 << LANES)
                outputs |= ports.request(tag, ENTRY + 4 * number, mask=masks[number])
            else:
                refusals += 1
        if len(fetches) < count and free_pairs and ports.flag("fetch_ready"):
            number, pair = len(fetches), free_pairs.pop(0)
            fetches[number], pairs[pair] = ports.cycle, number
            outputs |= {
                "fetch_valid": 1,
                "fetch_address": ENTRY + 8 * number,
                "fetch_tag": pair,
            }
        ports.step(**outputs)
        assert ports.cycle < 50 * count
    waits = [answered[k] - requested[k] for k in range(count)]
    fetch_waits = [fetched[k] - fetches[k] for k in range(count)]
    return waits, fetch_waits, order, refusals


def filled(count, **timing):
    ports = Ports(**timing)
    words = [4 * number for number in range(2 * count + LANES)]
    ports.harness.write(ENTRY, b"".join(word.to_bytes(4, "little") for word in words))
    return ports


@pytest.mark.parametrize("latency", [1, 2, 20])
def test_latency_is_as_stated_and_one_answer_leaves_per_cycle(latency):
    ports = filled(100, latency=latency)
    waits, fetch_waits, order, refusals = drive(ports, 100)
    assert set(waits) == set(fetch_waits) == {latency}
    assert order == list(range(100))
    assert refusals == 0
    if latency == 1:
        assert ports.cycle == 101


def test_jitter_adds_up_to_as_much_and_keeps_the_order():
    waits, fetch_waits, order, _ = drive(filled(300, latency=2, jitter=5), 300)
    assert order == sorted(order)
    # At full rate one waits for another.
    assert max(waits) == max(fetch_waits) == 7
    ports = filled(100, latency=2, jitter=5)
    spent = {ports.access: set(), ports.fetch: set()}
    for number in range(100):
        for access, cycles in spent.items():
            before = ports.cycle
            access(ENTRY + 8 * number)
            cycles.add(ports.cycle - before - 1)
    assert list(spent.values()) == [{2, 3, 4, 5, 6, 7}] * 2


def test_shuffle_lets_any_go_first():
    _, _, order, _ = drive(filled(300, latency=4, jitter=8, shuffle=True), 300)
    assert order != sorted(order)
    assert sorted(order) == list(range(300))


def test_stall_and_silence_are_shares_of_cycles():
    waits, _, _, refusals = drive(filled(1000, stall=0.25), 1000)
    assert set(waits) == {1}
    assert 0.2 < refusals / (1000 + refusals) < 0.3
    waits, _, _, _ = drive(filled(1000, silence=0.5), 1000)
    assert max(waits) > 5


def test_split_answers_arrive_in_parts():
    _, _, order, _ = drive(filled(500, split=0.5), 500)
    parts = Counter(Counter(order).values())
    assert parts[1] > 150
    assert parts[2] > 50


def test_the_seed_decides_and_beginning_anew_repeats():
    timing = {"latency": 2, "jitter": 7, "stall": 0.2, "shuffle": True, "split": 0.3}
    first, same, other = (filled(200, seed=seed, **timing) for seed in (1, 1, 2))
    expected = drive(first, 200)
    first.step()
    first.begin()
    assert drive(first, 200) == drive(same, 200) == expected
    assert drive(other, 200) != expected


def test_what_is_stored_is_there_in_the_next_cycle():
    ports = Ports(latency=9)
    ports.step(**ports.request(1, ENTRY, data=[1, 2, 3, 4], store=True))
    ports.step(**ports.request(2, ENTRY))
    answers = []
    while len(answers) < 2:
        answers.append(ports.answer()) if ports.answer() else None
        ports.step()
    assert [answer[:3] for answer in answers] == [(1, 15, 0), (2, 15, 0)]
    assert answers[1][3] == [1, 2, 3, 4]


def test_of_several_lanes_at_one_word_the_last_stays():
    ports = Ports()
    ports.access([ENTRY] * LANES, data=[5, 6, 7, 8], mask=7, store=True)
    assert ports.harness.read(ENTRY, 4).tolist() == [7, 0, 0, 0]


def test_strobes_are_all_that_is_stored():
    ports = Ports()
    ports.harness.write(ENTRY, bytes(range(16)))
    at = [ENTRY + 1, ENTRY + 6, ENTRY + 8, ENTRY + 15]
    ports.access(at, data=[0xAAAAAAAA] * LANES, size=1, mask=11, store=True)
    expected = [0, 0xAA, 2, 3, 4, 5, 0xAA, 7, *range(8, 15), 0xAA]
    assert ports.harness.read(ENTRY, 16).tolist() == expected


@pytest.mark.parametrize("store", [False, True])
def test_lanes_without_memory_are_refused_and_the_others_are_not(store):
    ports = Ports()
    at = [DRAM_BASE - 4, DRAM_END - 4, SHARED_BASE + CONFIG.shared.size + 0x1000, SHARED_BASE]
    tag, mask, error, _ = ports.access(at, data=9, store=store)
    assert (tag, mask, error) == (1, 15, 0b0101)
    if store:
        assert ports.harness.read(SHARED_BASE, 1).tolist() == [9]
        assert ports.harness.read(DRAM_END - 4, 1).tolist() == [9]


def test_only_what_was_placed_may_be_touched():
    ports = Ports()
    ports.harness.allow(ENTRY + 4, 4)
    ports.harness.allow(ENTRY + 8, 6)
    ports.harness.allow(SHARED_BASE - 4, 4)
    assert ports.access(ENTRY)[2] == 0b1001
    assert ports.access(ENTRY + 12, size=2, mask=1)[2] == 0
    assert ports.access(ENTRY + 14, size=2, mask=1)[2] == 1
    assert ports.access(SHARED_BASE - 4, mask=3)[2] == 0
    ports.harness.write(ENTRY, bytes(range(24)))
    assert ports.fetch(ENTRY) == (0, 0x07060504, 0)
    assert ports.fetch(ENTRY + 16) == (0, 0, 1)


def test_nothing_is_fetched_where_nothing_was_written():
    ports = Ports()
    ports.harness.write(ENTRY, b"\1")
    ports.harness.write(SHARED_BASE, b"\1")
    assert ports.fetch(ENTRY) == (1, 0, 0)
    assert ports.fetch(ENTRY + (1 << 20)) == (0, 0, 1)
    assert ports.fetch(SHARED_BASE) == (0, 0, 1)


def test_the_console_takes_bytes_lane_by_lane():
    ports = Ports()
    at = [CONSOLE_BASE + lane for lane in (0, 1, 2, 3)]
    data = [0x41, 0x4200, 0x430000, 0x44000000]
    assert ports.access(at, data=data, size=1, mask=13, store=True)[2] == 0
    assert ports.harness.console_from(0) == b"ACD"
    assert ports.harness.console_from(2) == b"D"
    assert ports.access(at, size=1)[2] == 15
    assert ports.access(CONSOLE_BASE, size=4, store=True)[2] == 15
    assert ports.access([CONSOLE_BASE + 63, CONSOLE_BASE - 1] * 2, size=1, store=True)[2] == 0b1010


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (
            [{"fetch_valid": 1, "fetch_address": ENTRY, "fetch_tag": 1}] * 2,
            "a fetch reuses the tag",
        ),
        (
            [{"fetch_valid": 1, "fetch_address": ENTRY + 4}],
            "a fetch address is not a multiple of 8",
        ),
        ([{"request_valid": 1, "request_mask": 1}] * 2, "a request reuses the tag"),
        ([{"request_valid": 1}], "a request has no active lane"),
    ],
)
def test_breaking_the_rules_of_the_ports_ends_the_run(outputs, message):
    ports = Ports(latency=5)
    for output in outputs:
        assert ports.harness.state().stop == StopReason.NONE
        ports.step(**output)
    assert ports.harness.state().stop == StopReason.VIOLATION
    assert ports.harness.violation().startswith(message)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"latency": 0}, "latency must be"),
        ({"jitter": -1}, "jitter must be"),
        ({"stall": 1.0}, "stall must be at least 0 and below 1, not 1.0"),
        ({"silence": -0.1}, "silence must be at least 0 and below 1, not -0.1"),
        ({"split": 2}, "split must be at least 0 and below 1, not 2"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_bad_timing_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        CoreMemoryConfig(**changes)
