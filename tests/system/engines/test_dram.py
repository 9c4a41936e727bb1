"""Tests of the DRAM model: latency, bandwidth, rows, order, errors, and rules for its masters."""

import random
from collections import deque

import numpy as np
import pytest
from amaranth.lib.wiring import Flow

from spica.base.errors import UserError
from spica.hw.emit.emission import EmittedPort
from spica.hw.isa.memory_map import DRAM_BASE, DRAM_END
from spica.hw.lib.axi import Axi4Signature
from spica.sim.engine.verilator_model import build_harness
from spica.sim.harness.binding import Layout
from spica.sim.harness.dram import DramConfig, Fault, traffic
from spica.sim.harness.harness import Harness

BEAT = 32


class Bus:
    """One AXI4 master's pins, set and read by name."""

    def __init__(self, channels=1, shown=(), **dram):
        signature = Axi4Signature(address_width=32, data_width=8 * BEAT, id_width=4)
        ports = [EmittedPort(name, "output", 1) for name in shown]
        ports += [
            EmittedPort(
                f"m_axi0_{path[0]}",
                "output" if member.flow == Flow.Out else "input",
                member.shape,
            )
            for path, member in signature.members.flatten()
        ]
        self.layout = Layout(ports, ())
        self.harness = Harness(
            build_harness(),
            self.layout.table(),
            DramConfig(**{"bytes_per_cycle": 32} | dram),
            channels=channels,
            interleave_bytes=64,
            access_cycles=20,
        )
        self.places = {
            p.name.removeprefix("m_axi0_"): p for p in (*self.layout.inputs, *self.layout.outputs)
        }
        self.out = np.zeros(self.layout.output_words, np.uint32)
        self.into = np.zeros(self.layout.input_words, np.uint32)
        self.cycle = 0

    def set(self, **values):
        for name, value in values.items():
            port = self.places[name]
            raw = int(value).to_bytes(4 * port.words, "little")
            self.out[port.word : port.word + port.words] = np.frombuffer(raw, np.uint32)

    def get(self, name):
        port = self.places[name]
        return int.from_bytes(self.into[port.word : port.word + port.words].tobytes(), "little")

    def step(self):
        self.harness.step(self.harness.handle, self.out, self.into)
        self.cycle += 1


def run(bus, reads=(), writes=(), *, seed=0, stall=0.0, limit=50_000):
    """Run bursts; return beats (cycle, id, data, response) and responses (cycle, id, code).

    Reads are (id, address, beats), writes (id, address, [(data, strobes), ...]).
    """
    rng = random.Random(seed)
    total = sum(beats for _, _, beats in reads)
    reads, addresses = deque(reads), deque(writes)
    data = deque(
        (word, strobes, k == len(beats) - 1)
        for _, _, beats in writes
        for k, (word, strobes) in enumerate(beats)
    )
    got, replies, accepted = [], [], []
    bus.set(arsize=5, arburst=1, awsize=5, awburst=1)
    offered = dict.fromkeys(("ar", "aw", "w"), False)
    while len(got) < total or len(replies) < len(writes):
        assert bus.cycle < limit
        queues = {"ar": reads, "aw": addresses, "w": data}
        for channel, queue in queues.items():
            offered[channel] = bool(queue) and (offered[channel] or rng.random() >= stall)
            bus.set(**{f"{channel}valid": offered[channel]})
        if reads:
            bus.set(arid=reads[0][0], araddr=reads[0][1], arlen=reads[0][2] - 1)
        if addresses:
            first = addresses[0]
            bus.set(awid=first[0], awaddr=first[1], awlen=len(first[2]) - 1)
        if data:
            bus.set(wdata=data[0][0], wstrb=data[0][1], wlast=data[0][2])
        willing = {channel: rng.random() >= stall for channel in ("r", "b")}
        bus.set(rready=willing["r"], bready=willing["b"])
        for channel, queue in queues.items():
            if offered[channel] and bus.get(f"{channel}ready"):
                queue.popleft()
                offered[channel] = False
                accepted.append((channel, bus.cycle))
        if willing["r"] and bus.get("rvalid"):
            got.append((bus.cycle, bus.get("rid"), bus.get("rdata"), bus.get("rresp")))
        if willing["b"] and bus.get("bvalid"):
            replies.append((bus.cycle, bus.get("bid"), bus.get("bresp")))
        bus.step()
    assert not bus.harness.violation()
    return got, replies, accepted


def stream(count, *, start=DRAM_BASE, ids=1):
    return [(k % ids, start + 64 * k, 2) for k in range(count)]


def words(count, value=7):
    return [(value, (1 << BEAT) - 1)] * count


@pytest.mark.parametrize("latency", [1, 2, 37, 100])
def test_idle_read_takes_the_stated_latency(latency):
    bus = Bus(latency=latency)
    for _ in range(3):
        beats, _, accepted = run(bus, [(3, DRAM_BASE, 1)])
        assert beats[0][0] - accepted[0][1] == latency
        assert beats[0][1] == 3


@pytest.mark.parametrize("bandwidth", [32, 16, 8, 5.5])
def test_streaming_reads_reach_the_stated_bandwidth(bandwidth):
    count = 400
    beats, _, _ = run(Bus(bytes_per_cycle=bandwidth), stream(count))
    cycles = beats[-1][0] - beats[0][0]
    assert cycles == pytest.approx(count * 64 / bandwidth, rel=0.01)


def test_queue_limits_the_reads_under_way():
    count = 80
    beats, _, _ = run(Bus(read_queue=4, latency=100), stream(count))
    assert beats[-1][0] >= (count // 4 - 1) * 100
    bus = Bus(read_queue=4, latency=1)
    bus.set(arsize=5, arburst=1, arvalid=1, araddr=DRAM_BASE)
    for _ in range(50):
        bus.step()
    assert bus.harness.channel(0)[1] == 4


def test_buffer_takes_writes_at_a_beat_per_cycle():
    writes = [(0, DRAM_BASE + 64 * k, words(2)) for k in range(64)]
    _, replies, accepted = run(Bus(latency=50), [], writes)
    cycles = [cycle for channel, cycle in accepted if channel == "w"]
    assert cycles == list(range(cycles[0], cycles[0] + 128))
    assert replies[0][0] - cycles[1] == 50


def test_writes_reach_the_bandwidth_for_ever():
    writes = [(0, DRAM_BASE + 64 * k, words(2)) for k in range(400)]
    _, replies, _ = run(Bus(bytes_per_cycle=16), [], writes)
    assert replies[-1][0] - replies[0][0] == pytest.approx(400 * 4, rel=0.17)


def test_reads_and_writes_share_the_bus():
    writes = [(0, DRAM_BASE + (1 << 20) + 64 * k, words(2)) for k in range(300)]
    bus = Bus()
    beats, replies, _ = run(bus, stream(300), writes)
    cycles = max(beats[-1][0], replies[-1][0]) - 100
    assert 1100 <= cycles <= 1400
    (figures,) = bus.harness.statistics()
    assert figures.read_bytes == figures.write_bytes == 300 * 64
    assert figures.bus_cycles == pytest.approx(1200, abs=64)


def test_rows_of_one_bank_follow_each_other_and_of_different_banks_overlap():
    config = {"banks": 4, "row_bytes": 1024, "row_cycle": 30, "activate_gap": 2}
    same = [(0, DRAM_BASE + k * 5 * 1024, 2) for k in (0, 1, 0, 1, 0, 1, 0, 1)]
    bus = Bus(**config)
    beats, _, _ = run(bus, same)
    assert beats[-1][0] - beats[0][0] == 7 * 30 + 1
    assert bus.harness.statistics()[0].row_misses == 8
    different = [(0, DRAM_BASE + k * 1024, 2) for k in range(4)]
    beats, _, _ = run(Bus(**config), different)
    assert beats[-1][0] - beats[0][0] == 7


def test_open_rows_go_first_but_not_past_their_id():
    config = {"banks": 4, "row_bytes": 1024, "row_cycle": 60}
    first, conflict, hit = DRAM_BASE, DRAM_BASE + 5 * 1024, DRAM_BASE + 64
    beats, _, _ = run(Bus(**config), [(0, first, 2), (1, conflict, 2), (2, hit, 2)])
    assert [beat[1] for beat in beats] == [0, 0, 2, 2, 1, 1]
    beats, _, _ = run(Bus(**config), [(0, first, 2), (1, conflict, 2), (1, hit, 2)])
    assert [beat[1] for beat in beats] == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("stall", [0.0, 0.4])
def test_random_traffic_against_a_dictionary(stall):
    rng = random.Random(5)
    bus = Bus(stall=stall, seed=2, latency=20)
    model = {}
    for turn in range(6):
        writes = []
        for number in range(30):
            beats = rng.choice((1, 2, 2, 7, 16))
            address = DRAM_BASE + 4096 * (30 * turn + number) + BEAT * rng.randrange(100)
            burst = [(rng.getrandbits(8 * BEAT), rng.getrandbits(BEAT)) for _ in range(beats)]
            writes.append((rng.randrange(16), address, burst))
            for k, (word, strobes) in enumerate(burst):
                raw = word.to_bytes(BEAT, "little")
                for lane in range(BEAT):
                    if strobes >> lane & 1:
                        model[address + BEAT * k + lane] = raw[lane]
        _, replies, _ = run(bus, [], writes, seed=turn, stall=stall)
        assert sorted(reply[1] for reply in replies) == sorted(write[0] for write in writes)
        reads = [(rng.randrange(16), address, len(burst)) for _, address, burst in writes]
        beats, _, _ = run(bus, reads, seed=turn, stall=stall)
        for identity in range(16):
            expected = [
                int.from_bytes(bytes(model.get(at + k, 0) for k in range(BEAT)), "little")
                for read, address, count in reads
                if read == identity
                for at in range(address, address + BEAT * count, BEAT)
            ]
            assert [beat[2] for beat in beats if beat[1] == identity] == expected


def test_stalls_begin_anew_with_the_ports():
    bus = Bus(stall=0.4, seed=2, latency=20)
    writes = [(0, DRAM_BASE + 64 * k, words(2)) for k in range(30)]
    seen = []
    for _ in range(3):
        start = bus.cycle
        happened = run(bus, stream(40), writes)
        seen.append([[event[0] - start for event in part] for part in happened[:2]])
        bus.harness.library.harness_renew(bus.harness.handle)
        bus.into[:] = 0
    assert seen[0] == seen[1] == seen[2]


def test_the_last_response_is_the_dmas_where_it_is_shown():
    writes = [(0, DRAM_BASE, words(2))]
    bus = Bus()
    _, replies, _ = run(bus, [], writes)
    assert bus.harness.state().last_response == replies[-1][0]
    names = [f"dma_axi_0_{name}" for name in ("awvalid", "wvalid", "bvalid", "bready")]
    bus = Bus(shown=names)
    run(bus, [], writes)
    assert bus.harness.state().last_response == 0
    bus.set(dma_axi_0_bvalid=1)
    bus.step()
    assert bus.harness.state().last_response == 0
    bus.set(dma_axi_0_bready=1)
    bus.step()
    bus.set(dma_axi_0_bvalid=0)
    bus.step()
    assert bus.harness.state().last_response == bus.cycle - 2


def test_utilisation_is_a_share_of_the_peak():
    bus = Bus(bytes_per_cycle=16)
    run(bus, stream(10), [(0, DRAM_BASE, words(2))])
    moved = traffic(bus.harness.statistics(), 1000, 16)
    assert moved == {
        "cycles": 1000,
        "read_bytes": 640,
        "written_bytes": 64,
        "row_hits": sum(channel.row_hits for channel in bus.harness.statistics()),
        "row_misses": sum(channel.row_misses for channel in bus.harness.statistics()),
        "bytes_per_cycle": 0.704,
        "utilization": 0.044,
    }


def test_outside_and_faults_answer_with_errors_and_write_nothing():
    bus = Bus()
    bus.harness.inject([Fault(start=DRAM_BASE + 64, end=DRAM_BASE + 65, reads=False)])
    targets = (DRAM_BASE, DRAM_BASE + 64, 0, DRAM_END)
    _, replies, _ = run(bus, [], [(0, address, words(1)) for address in targets])
    assert [reply[2] for reply in replies] == [0, 2, 2, 2]
    beats, _, _ = run(bus, [(0, address, 1) for address in targets])
    assert [beat[3] for beat in beats] == [0, 0, 2, 2]
    assert [beat[2] for beat in beats] == [7, 0, 0, 0]


@pytest.mark.parametrize(
    ("first", "then", "message"),
    [
        ({"arvalid": 1, "araddr": DRAM_BASE}, {"arvalid": 0}, "AR: valid fell before ready"),
        (
            {"awvalid": 1, "awaddr": DRAM_BASE},
            {"awaddr": DRAM_BASE + 64},
            "AW: payload changed before ready",
        ),
        ({"wvalid": 1, "wdata": 5}, {"wdata": 6}, "W: payload changed before ready"),
        ({"arvalid": 1, "araddr": DRAM_BASE + 4064, "arlen": 1}, {}, "AR: burst crosses 4096"),
        ({"awvalid": 1, "awaddr": DRAM_BASE, "awburst": 2}, {}, "AW: burst must be INCR"),
        ({"arvalid": 1, "araddr": DRAM_BASE, "arsize": 2}, {}, "AR: size must be a whole beat"),
        ({"awvalid": 1, "awaddr": DRAM_BASE, "wvalid": 1}, {}, "W: wlast missing"),
        (
            {"awvalid": 1, "awaddr": DRAM_BASE, "awlen": 1, "wvalid": 1, "wlast": 1},
            {},
            "W: wlast too early",
        ),
    ],
)
def test_broken_rules_are_named(first, then, message):
    bus = Bus()
    bus.set(**{"arsize": 5, "arburst": 1, "awsize": 5, "awburst": 1} | first)
    bus.step()  # nothing is ready in the first cycle, so every offer must be held
    bus.set(**then)
    for _ in range(3):
        bus.step()
    assert f"m_axi0 violates the AXI rules in cycle 1: {message}" in bus.harness.violation()


@pytest.mark.parametrize("stall", [0.0, 0.3])
def test_jitter_lets_reads_overtake_each_other_but_not_those_of_their_id(stall):
    bus = Bus(latency=20, jitter=60, stall=stall)
    reads = stream(200, ids=4)
    for number, (_, address, _) in enumerate(reads):
        bus.harness.write(address, number.to_bytes(4, "little") + bytes(60))
    beats, _, _ = run(bus, reads, stall=stall)
    arrived = [(each_id, data) for _, each_id, data, _ in beats[::2]]  # beats of a burst in a row
    assert [each_id for _, each_id, *_ in beats[1::2]] == [each_id for each_id, _ in arrived]
    assert arrived != [(n % 4, n) for n in range(200)]
    for number in range(4):
        assert [data for each_id, data in arrived if each_id == number] == [*range(number, 200, 4)]
    took = [beats[0][0] - accepted[0][1] for beats, _, accepted in (
        run(Bus(latency=20, jitter=60, seed=seed), [(0, DRAM_BASE, 1)]) for seed in range(40)
    )]  # fmt: skip
    assert 20 <= min(took) < 30 and 70 < max(took) <= 80


def test_with_jitter_a_write_is_in_memory_somewhen_before_its_response():
    waited = []
    for seed in range(40):
        bus = Bus(latency=30, jitter=20, seed=seed)
        bus.set(awsize=5, awburst=1, awaddr=DRAM_BASE, bready=1)
        bus.set(awvalid=1, wvalid=1, wdata=7, wstrb=1, wlast=1)
        accepted_at = None
        while not bus.get("bvalid"):
            both = bus.get("awready"), bus.get("wready")
            bus.step()
            if accepted_at is None and all(both):
                accepted_at = bus.cycle
                bus.set(awvalid=0, wvalid=0)
            if accepted_at and len(waited) == seed and bus.harness.read(DRAM_BASE, 1)[0] == 7:
                waited.append(bus.cycle - accepted_at)
        assert len(waited) == seed + 1
    assert min(waited) < 10 and max(waited) > 25


def test_back_door_is_sparse_and_bounded():
    bus = Bus()
    data = np.random.default_rng(0).integers(0, 256, 200_000, np.uint8)
    for address in (DRAM_BASE, DRAM_END - data.size, DRAM_BASE + 0x1234_5677):
        bus.harness.write(address, data.tobytes())
        assert (bus.harness.read(address, data.size) == data).all()
    assert not bus.harness.read(DRAM_BASE + 0x4000_0000, 1000).any()
    with pytest.raises(UserError, match="DRAM addresses must lie in 0x80000000 to 0xFEFFFFFF"):
        bus.harness.read(DRAM_END - 1, 2)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bytes_per_cycle": 0}, "bytes_per_cycle must be above 0 and at most 1024, not 0"),
        ({"banks": 3}, "banks must be a power of two, not 3"),
        ({"latency": 0}, "latency must be between 1 and 10000, not 0"),
        ({"write_buffer_bytes": 5000}, "write_buffer_bytes must be a multiple of 4096, not 5000"),
        ({"jitter": -1}, "jitter must be between 0 and 10000, not -1"),
        ({"stall": 1.0}, "stall must be at least 0 and below 1, not 1.0"),
    ],
)
def test_bad_configs_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        DramConfig(**values)
