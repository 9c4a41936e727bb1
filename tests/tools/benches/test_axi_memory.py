"""Tests of `support.memory.axi_memory`: detection of violations of AXI4."""

import random

import pytest

from spica.hw.lib.axi import Axi4Signature
from spica.sim.golden.memory.dma.dma import SparseMemory
from support.memory.axi_memory import AxiMemory

READ = {"arvalid": 1, "araddr": 0x8000_0040, "arlen": 1, "arsize": 5, "arburst": 1}
WRITE = {"awvalid": 1, "awaddr": 0x8000_0040, "awlen": 0, "awsize": 5, "awburst": 1}
BEAT = {"wvalid": 1, "wdata": 7, "wstrb": 1, "wlast": 1}


def run(*cycles, refuse=False, **options):
    """Drive a memory with a master's outputs cycle by cycle; return the memory."""
    axi = Axi4Signature(address_width=32, data_width=256, id_width=4).create()
    memory = AxiMemory(
        axi, SparseMemory(), random.Random(0), block=64, index=1, masters=2, **options
    )
    for channel in ("aw", "w", "ar"):
        memory.wires.driven[f"{channel}ready"] = int(not refuse)
    for cycle in cycles:
        memory.step([cycle.get(name, 0) for name in memory.wires.names])
    return memory


def test_a_legal_write_is_done():
    memory = run(WRITE, BEAT, {"bready": 1}, {"bready": 1})
    assert memory.memory.read(0x8000_0040, 2) == bytes([7, 0])
    assert memory.idle


@pytest.mark.parametrize(
    ("cycles", "message"),
    [
        ([READ | {"arlen": 2}], "crosses 64 bytes"),
        ([READ | {"araddr": 0x8000_0000}], "wrong master"),
        ([READ | {"araddr": 0x8000_0FE0}], "crosses 4096 bytes"),
        ([READ | {"arid": 1}], "id is not below 1"),
        ([READ, READ], "2 reads in flight"),
        ([WRITE | BEAT | {"wlast": 0}], "wlast"),
        ([WRITE | {"awlen": 1}, BEAT, BEAT], "wlast"),
        ([WRITE | BEAT | {"wstrb": 0}], "strobe"),
        ([WRITE | BEAT, {}, {}], "response is refused"),
    ],
)
def test_broken_rules_are_noticed(cycles, message):
    with pytest.raises(AssertionError, match=message):
        run(*cycles, ids=1, outstanding=1, whole_writes=True, prompt=True)


@pytest.mark.parametrize("channel", [READ, WRITE, BEAT])
def test_a_refused_offer_must_stay(channel):
    valid, payload = list(channel)[:2]
    with pytest.raises(AssertionError, match="dropped"):
        run(channel, channel | {valid: 0}, refuse=True)
    with pytest.raises(AssertionError, match="changed"):
        run(channel, channel | {payload: channel[payload] + 64}, refuse=True)
