"""Tests of atomics at `shared_memory` against its golden model: values, reservations, rates."""

import random
import re
from dataclasses import replace
from functools import partial

import pytest

from spica.hw.config import SharedAtomicsConfig, SharedMemoryConfig
from spica.hw.isa.operations import AtomicOperation
from spica.hw.memory.shared.shared_memory import SharedMemory, SharedMemoryPorts
from spica.sim.engine.testbench import require_no_loop, simulate
from support.memory.shared_memory_traffic import Traffic

ATOMICS = SharedAtomicsConfig(owner_width=1, reservations=2)
LANES = SharedMemoryPorts(
    memory=SharedMemoryConfig(size=256, banks=2, subbanks=4, narrow_ports=3, atomics=ATOMICS),
    read_sizes=(16, 8, 4),
    write_sizes=(16, 8),
)
ROWS = replace(LANES, row_ports=2, row_bytes=8)
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


def run_traffic(config, *, seed=1, cycles=300, stall=0.2, atomics=0.5, addresses=None):
    """Run random traffic on a memory of `config`; return its statistics."""
    stalls = dict.fromkeys(("read", "write", "narrow", "row"), stall)
    addresses = addresses or range(config.memory.size)
    dut = require_no_loop(SharedMemory(config))
    traffic = Traffic(
        dut, random.Random(seed), stalls=stalls, addresses=addresses, atomics=atomics
    )
    simulate(dut, partial(traffic.run, cycles=cycles))
    return traffic


@pytest.mark.parametrize("stall", [0.0, 0.6])
@pytest.mark.parametrize("span", [16, 256])
@pytest.mark.parametrize("config", [LANES, ROWS], ids=["lanes", "rows"])
def test_mixed_accesses_match_golden_model(config, stall, span):
    traffic = run_traffic(config, cycles=400, stall=stall, addresses=range(span))
    assert traffic.accesses > 400
    # Without stalls every word of one line is written again and again.
    assert traffic.conditional > 2 or (span == 16 and stall == 0.0)


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_match_golden_model(name):
    config = SHAPES[name]
    traffic = run_traffic(config, cycles=200, atomics=0.7, addresses=range(16))
    assert traffic.accesses > 60
