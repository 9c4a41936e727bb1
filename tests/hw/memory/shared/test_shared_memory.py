"""Tests of `shared_memory` against its golden model: values, latency, parallelism, fairness."""

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from spica.hw.config import SharedMemoryConfig
from spica.hw.memory.shared.shared_memory import (
    SharedMemory,
    SharedMemoryPorts,
    cluster_ports,
    port_names,
)
from spica.hw.presets import PRESETS
from spica.sim.engine.testbench import require_no_loop, simulate
from spica.synth.measure import measure
from support.memory.shared_memory_traffic import Traffic

SMALL = SharedMemoryConfig(size=256, banks=2, subbanks=4)
MIXED = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=256, banks=2, subbanks=4, narrow_ports=3),
    read_sizes=(16, 8, 4),
    write_sizes=(16, 8),
)
ROWS = replace(MIXED, row_ports=2, row_bytes=8)


def run_traffic(config, *, seed=1, cycles=300, stall=0.2, stalls=None, addresses=None):
    """Run random traffic on a memory of `config`; return its statistics."""
    stalls = dict.fromkeys(("read", "write", "narrow", "row"), stall) | (stalls or {})
    addresses = addresses or range(config.memory.size)
    dut = require_no_loop(SharedMemory(config))
    traffic = Traffic(dut, random.Random(seed), stalls=stalls, addresses=addresses)
    simulate(dut, partial(traffic.run, cycles=cycles))
    return traffic


@pytest.mark.parametrize("stall", [0.0, 0.6])
@pytest.mark.parametrize("span", [32, 256])
@pytest.mark.parametrize("config", [MIXED, ROWS], ids=["lanes", "rows"])
@pytest.mark.quick(1)
def test_mixed_sizes_match_golden_model(config, stall, span):
    traffic = run_traffic(config, cycles=200, stall=stall, addresses=range(span))
    assert traffic.accesses > (400 if span == 256 else 200)


@pytest.mark.parametrize("latency", [1, 2, 3])
@pytest.mark.quick(1)
def test_response_arrives_after_the_stated_latency(latency):
    memory = SharedMemoryConfig(size=128, banks=2, subbanks=2, read_latency=latency, narrow_ports=2)
    config = SharedMemoryPorts(
        memory=memory, read_sizes=(8, 4), write_sizes=(8,), row_ports=1, row_bytes=8
    )
    assert run_traffic(config, seed=latency, cycles=100, stall=0.3).accesses > 100


@pytest.mark.parametrize(
    "config",
    [
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=16, banks=1, subbanks=1, narrow_ports=1),
            read_sizes=(),
            write_sizes=(),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=16, banks=1, subbanks=1),
            read_sizes=(4,),
            write_sizes=(4,),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=64, banks=8, subbanks=1, narrow_ports=5),
            read_sizes=(4,),
            write_sizes=(4,),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=64, banks=1, subbanks=8, narrow_ports=2),
            read_sizes=(32, 4),
            write_sizes=(),
        ),
        SharedMemoryPorts(
            memory=SharedMemoryConfig(size=16, banks=1, subbanks=2, narrow_ports=1),
            read_sizes=(),
            write_sizes=(),
            row_ports=2,
            row_bytes=4,
        ),
        cluster_ports(PRESETS["tiny_matrix"]),
    ],
    ids=[
        "narrow only",
        "one word",
        "banks of a word",
        "narrow writers",
        "rows of a word",
        "tiny_matrix",
    ],
)
@pytest.mark.quick(2)
def test_shapes_match_golden_model(config):
    addresses = range(min(64, config.memory.size))
    assert run_traffic(config, cycles=80, addresses=addresses).accesses > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_long_traffic_matches_golden_model(seed):
    rng = random.Random(seed)
    line = rng.choice([1, 2, 4, 8])
    sizes = [4 << n for n in range(line.bit_length())]
    memory = SharedMemoryConfig(
        size=512, banks=rng.choice([1, 2, 4]), subbanks=line, narrow_ports=rng.randint(1, 6)
    )
    config = SharedMemoryPorts(
        memory=memory,
        read_sizes=tuple(rng.choices(sizes, k=rng.randint(1, 4))),
        write_sizes=tuple(rng.choices(sizes, k=rng.randint(1, 3))),
        row_ports=rng.randint(1, 4),
        row_bytes=rng.choice(sizes),
    )
    span = range(rng.choice([16, 64, 512]))
    assert run_traffic(config, seed=seed, cycles=2000, stall=0.3, addresses=span).accesses > 2000


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"read_sizes": (32,)}, "each of read_sizes must be between 4 and 16, not 32"),
        ({"write_sizes": (2,)}, "each of write_sizes must be between 4 and 16, not 2"),
        ({"read_sizes": (12,)}, "each of read_sizes must be a power of two, not 12"),
        (
            {"write_sizes": ()},
            "write_sizes must name a port where there are no narrow ports, not ()",
        ),
        ({"row_ports": 33, "row_bytes": 4}, "row_ports must be between 0 and 32, not 33"),
        ({"row_ports": 1}, "row_bytes must be an integer with row ports, not None"),
        ({"row_bytes": 4}, "row_bytes must be none without row ports, not 4"),
        ({"row_ports": 1, "row_bytes": 32}, "row_bytes must be between 4 and 16, not 32"),
        ({"read_sizes": ()}, "read_sizes must name a port where there are no narrow ports, not ()"),
    ],
)
def test_bad_ports_are_refused(parameters, message):
    good = {"memory": SMALL, "read_sizes": (16,), "write_sizes": (16,)}
    with pytest.raises(ValueError, match=re.escape(message)):
        SharedMemoryPorts(**(good | parameters))


def test_ports_of_a_cluster():
    config = cluster_ports(PRESETS["matrix"])
    assert port_names(PRESETS["matrix"]) == (["a", "b", "dma0", "dma1"], ["dma0", "dma1"])
    assert (config.read_sizes, config.write_sizes) == ((32,) * 4, (32,) * 2)


@pytest.mark.parametrize(
    "preset",
    # Sizes between the smallest and the largest are slow tests.
    [
        pytest.param(name, marks=() if name in ("tiny", "virgo") else pytest.mark.slow)
        for name in PRESETS
    ],
)
@pytest.mark.full
def test_logic_between_registers_is_within_the_budget(preset):
    measured = measure(SharedMemory(cluster_ports(PRESETS[preset])), f"shared_{preset}")
    assert measured.depth <= 60
    assert measured.sram_bits == 8 * PRESETS[preset].shared.size
