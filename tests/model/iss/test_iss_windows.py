"""Tests of windows in the instruction-set model: places, limits, and what the checks find there."""

from dataclasses import replace

import numpy as np
import pytest

from spica.hw.isa.assembly import INTEGER_NAMES
from spica.hw.isa.memory_map import DRAM_BASE, ENTRY, SHARED_BASE, cluster_window
from spica.hw.isa.program import assemble_program
from spica.hw.styles.shared_fed.config import SharedFedConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.iss.memory_check import Kind
from spica.sim.iss.outcome import Cause
from spica.sim.iss.program_bench import give, lanes_of, small_config
from spica.sim.machine.memory_layout import MemoryLayout

A0, A1, A2 = map(INTEGER_NAMES.index, ("a0", "a1", "a2"))
CONFIG = replace(small_config(warps=2, threads=4), clusters=3)
SIZE = CONFIG.shared.size


def loaded(text: str, config=CONFIG, **options) -> Iss:
    """Return the model with a program, whose warps are still to be started."""
    iss = Iss(config, **options)
    iss.write(ENTRY, assemble_program(text, ENTRY).data)
    return iss


def word(iss: Iss, address: int) -> int:
    """Return a word of memory."""
    return int(iss.read(address, 4).view(np.uint32)[0])


@pytest.mark.parametrize("cluster", range(3))
def test_lanes_reach_their_own_memory_and_that_of_all_clusters(cluster):
    iss = loaded("sw a1, 0(a0)\nlw a2, 0(a0)\nsb a1, 2(a0)\nlhu a2, 2(a0)")
    last = SIZE - 4
    places = [cluster_window(n) + last for n in range(3)] + [SHARED_BASE + 64]
    give(iss, {A0: places, A1: [0x1_0203 + n for n in range(4)]}, core=cluster)
    for _ in range(2):
        assert iss.step(cluster, 0).fault is None
    assert lanes_of(iss, A2, core=cluster) == [0x1_0203 + n for n in range(4)]
    for _ in range(2):
        assert iss.step(cluster, 0).fault is None
    assert lanes_of(iss, A2, core=cluster) == [3 + n for n in range(4)]
    stored = [0x0003_0203 + 0x1_0001 * n for n in range(4)]
    assert [word(iss, cluster_window(n) + last) for n in range(3)] == stored[:3]
    assert word(iss, cluster_window(cluster) + 64) == stored[3]
    assert word(iss, SHARED_BASE + last) == stored[0]


@pytest.mark.parametrize("size, load", [(1, "lbu"), (2, "lhu"), (4, "lw")])
def test_a_window_ends_with_shared_memory(size, load):
    iss = loaded(f"{load} a2, 0(a0)\nsw a2, 0(a1)")
    inside = [cluster_window(n) + SIZE - size for n in range(3)] + [DRAM_BASE]
    give(iss, {A0: inside}, core=1)
    assert iss.step(1, 0).fault is None
    for outside in (
        cluster_window(1) + SIZE,
        cluster_window(0) + (1 << 20) - size,
        cluster_window(3),
        cluster_window(14),
    ):
        give(iss, {A0: [*inside[:2], outside, inside[2]]}, core=1)
        fault = iss.step(1, 0).fault
        assert fault is not None and fault.cause is Cause.OUTSIDE_MEMORY
        assert (fault.lanes, fault.address) == (4, outside)
        assert f"load of {size} bytes at {outside:#x}, an unmapped address" in fault.sentence
        give(iss, {A1: [outside & ~3] * 4}, core=2, pc=ENTRY + 4)
        fault = iss.step(2, 0).fault
        assert fault is not None and (fault.lanes, fault.address) == (15, outside & ~3)
    end = cluster_window(2) + SIZE
    give(iss, {A0: [end + size * lane for lane in (-2, -1, 0, 1)]})
    fault = iss.step(0, 0).fault
    assert fault is not None and (fault.lanes, fault.address) == (0b1100, end)


def test_one_cluster_has_no_windows():
    iss = loaded("lw a2, 0(a0)", replace(CONFIG, clusters=1))
    give(iss, {A0: cluster_window(0)})
    fault = iss.step(0, 0).fault
    assert fault is not None and fault.cause is Cause.OUTSIDE_MEMORY


def test_operands_of_products_are_not_in_windows():
    tensor = SharedFedConfig(numerics="nvidia(hopper)")
    config = replace(small_config(warps=4, threads=8, tensor=tensor), clusters=2)
    iss = loaded("hgmma a0, a1", config)
    give(iss, {A0: SHARED_BASE, A1: cluster_window(0)})
    fault = iss.step(0, 0).fault
    assert fault is not None and fault.cause is Cause.OUTSIDE_MEMORY
    assert "not within shared memory" in fault.sentence


STORES = "sw a1, 0(a0)\nvx_tmc zero"


@pytest.mark.parametrize("places", [[0, 2], [2, 0], [1, 2]])
def test_clusters_that_store_to_one_word_race(places):
    # The second address is that of cluster 2 for itself if it is 2.
    iss = loaded(STORES, checks_races=True)
    first, second = places
    give(iss, {A0: cluster_window(2) + 8 if first != 2 else SHARED_BASE + 8}, core=first, mask=1)
    give(iss, {A0: cluster_window(2) + 8 if second != 2 else SHARED_BASE + 8}, core=second, mask=1)
    for core in range(3):
        if core not in places:
            iss.set_warp(core, 0, mask=0, active=False)
    outcome = iss.run()
    assert outcome.stop is StopReason.FAULT and outcome.fault is not None
    assert outcome.fault.cause is Cause.RACE
    assert outcome.fault.partner is not None
    cores = {outcome.fault.core, outcome.fault.partner.core}
    assert cores == set(places)
    assert "in no order with the store of core" in outcome.fault.sentence
    assert "nothing orders the two" in outcome.fault.partner.advice
    layout = MemoryLayout(CONFIG, [])
    named = {layout.describe(cluster_window(2) + 8), layout.describe(SHARED_BASE + 8)}
    assert named == {"byte 8 of shared memory of cluster 2", "byte 8 of shared memory"}


@pytest.mark.parametrize("between", ["", "fence rw, rw", "csrr a2, mhartid"])
def test_a_fence_orders_the_two_addresses_of_a_word(between):
    iss = loaded(f"sw a1, 0(a0)\n{between}\nlw a2, 0(a1)\nvx_tmc zero", checks_races=True)
    give(iss, {A0: cluster_window(1) + 8, A1: SHARED_BASE + 8}, core=1, mask=1)
    for core in (0, 2):
        iss.set_warp(core, 0, mask=0, active=False)
    outcome = iss.run()
    if between:
        assert outcome.stop is StopReason.DONE, outcome.fault
        return
    assert outcome.fault is not None and outcome.fault.cause is Cause.RACE
    assert outcome.fault.partner is not None
    assert "go different ways" in outcome.fault.partner.advice
    assert outcome.fault.partner.core == outcome.fault.core == 1


def test_loads_of_a_word_at_both_addresses_do_not_hide_each_other():
    text = "lw a2, 0(a1)\nlw a2, 0(a0)\nsw a1, 0(a0)\nvx_tmc zero"
    iss = loaded(text, checks_races=True)
    give(iss, {A0: cluster_window(1) + 8, A1: SHARED_BASE + 8}, core=1, mask=1)
    for core in (0, 2):
        iss.set_warp(core, 0, mask=0, active=False)
    fault = iss.run().fault
    assert fault is not None and fault.pc == ENTRY + 8
    assert fault.partner is not None and fault.partner.pc == ENTRY


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
def test_the_memory_check_includes_each_of_several_windows(order):
    iss = loaded("lw a2, 0(a0)\nadd a2, a2, a2\nvx_tmc zero", checks_memory=True)
    # The first and the last address are one page, and its bytes are written; those between are not.
    iss.write(cluster_window(1), bytes(range(64)))
    places = [SHARED_BASE, cluster_window(0) + 8, cluster_window(1) + 4, cluster_window(0) + 16]
    give(iss, {A0: [places[n] for n in order]}, core=1)
    for core in (0, 2):
        iss.set_warp(core, 0, mask=0, active=False)
    assert iss.run().stop is StopReason.DONE
    assert iss.memory_check is not None
    (finding,) = iss.memory_check.findings()
    assert (finding.kind, finding.count) == (Kind.LOAD_OF_UNWRITTEN, 2)
    assert finding.address == next(places[n] for n in order if n in (1, 3))


def test_what_the_host_writes_in_a_window_is_written():
    iss = loaded("lw a2, 0(a0)\nadd a2, a2, a2\nvx_tmc zero", checks_memory=True)
    iss.write(cluster_window(0) + 16, bytes(4))
    give(iss, {A0: SHARED_BASE + 16}, mask=1)
    give(iss, {A0: cluster_window(0) + 16}, core=2, mask=1)
    iss.set_warp(1, 0, mask=0, active=False)
    assert iss.run().stop is StopReason.DONE
    assert iss.memory_check is not None
    assert not iss.memory_check.findings()
