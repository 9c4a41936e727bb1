"""Accesses to memories: enables at clock edges, and addresses of reads without a clock."""

import numpy as np

from spica.synth.energy.mapped_netlist import netlist_from
from spica.synth.energy.memory_accesses import memory_pj, memory_ports
from spica.synth.energy.memory_energy import MemoryEnergy
from spica.synth.energy.power_library import library_of
from spica.synth.energy.replay import Replay
from spica.synth.macros import Tiling
from support.synth.small_library import SMALL_LIBRARY


def memory(is_clocked, reads=1):
    """Return a netlist with a memory of 4 words of 2 bits."""
    cell = {
        "type": "$mem_v2",
        "parameters": {
            "SIZE": f"{4:b}",
            "WIDTH": f"{2:b}",
            "RD_PORTS": f"{reads:b}",
            "WR_PORTS": "1",
            "RD_CLK_ENABLE": str(int(is_clocked)) * reads,
        },
        "attributes": {},
        "connections": {
            "RD_EN": [10 + k for k in range(reads)],
            "RD_ADDR": [20 + k for k in range(2 * reads)],
            "RD_DATA": [30 + k for k in range(2 * reads)],
            "WR_EN": [40, 41],
        },
        "port_directions": {
            "RD_EN": "input",
            "RD_ADDR": "input",
            "RD_DATA": "output",
            "WR_EN": "input",
        },
    }
    module = {"ports": {}, "cells": {"store": cell}, "netnames": {}}
    return netlist_from(module, library_of(SMALL_LIBRARY), "some", {})


def energy_of(ports, before, now, clocked):
    costs = MemoryEnergy(
        read=10.0, write=100.0, leakage=1.0, tiling=Tiling(macro=None, count=0, area=1.0)
    )
    replayed = Replay(
        toggles=np.zeros(50, np.uint64),
        clocked=np.array(clocked, bool),
        before=np.array(before, bool),
        now=np.array(now, bool),
        batch=np.zeros(len(clocked), np.int64),
        weighted=np.zeros(1),
        counts=(True,),
        differing=(),
    )
    energy, reads, writes = memory_pj([(ports, costs)], replayed)
    return energy.tolist(), reads, writes


def test_clocked_accesses():
    (ports,) = memory_ports(memory(is_clocked=True))
    assert ports.reads == ((10,),)
    assert ports.writes == ((40, 41),)
    assert ports.nets == (10, 40, 41)
    # Enables count before the edges of cycles 0, 1 and 3; either bit makes a write.
    before = [[1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1]]
    found = energy_of(ports, before, np.zeros((3, 4)), [1, 1, 0, 1])
    assert found == ([10.0, 100.0, 0.0, 110.0], 2, 2)


def test_two_read_ports():
    (ports,) = memory_ports(memory(is_clocked=True, reads=2))
    assert ports.reads == ((10,), (11,))
    found = energy_of(ports, np.ones((4, 3)), np.ones((4, 3)), [1, 1, 1])
    assert found == ([120.0] * 3, 6, 3)


def test_reads_without_a_clock_follow_the_address():
    (ports,) = memory_ports(memory(is_clocked=False))
    assert ports.reads == ((20, 21),)
    before = [[0, 1, 1], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    now = [[1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert energy_of(ports, before, now, [0, 1, 0]) == ([10.0, 0.0, 10.0], 2, 0)
