"""What the caches of a cluster count is what is seen around them."""

from dataclasses import replace

from spica.hw.address_map import ENTRY
from spica.hw.config import PRESETS, CoreConfig
from spica.sim.cluster_machine import ClusterMachine
from spica.sim.core_bench import image
from spica.sim.core_outcome import CoreStop

ROOM = 8192
#: Lines that are loaded, and of them stored to.
LINES, STORED = 24, 7
#: One thread loads two words of each line, then one, then stores to some: all fits in the caches.
COUNTED = f"""
        csrr t0, core_id
        bnez t0, end
        li a0, {ENTRY + 1024}
        mv a2, a0
        li a1, {LINES}
both:   lw t1, 0(a0)
        lw t2, 4(a0)
        add t3, t1, t2      # waits for both
        addi a0, a0, 64
        addi a1, a1, -1
        bnez a1, both
        mv a0, a2
        li a1, {LINES}
again:  lw t1, 32(a0)
        addi a0, a0, 64
        addi a1, a1, -1
        bnez a1, again
        li a1, {STORED}
stores: sw a1, 0(a2)
        addi a2, a2, 64
        addi a1, a1, -1
        bnez a1, stores
end:    vx_tmc zero
"""


def test_counters_of_caches_are_what_is_seen_around_them():
    config = replace(PRESETS["tiny"], cores=2, core=CoreConfig(warps=2, threads=2))
    with ClusterMachine(config, name="two_observed", optimize=1) as machine:
        machine.allow(ENTRY, ROOM)
        machine.write(ENTRY, image(COUNTED, ROOM))
        outcome = machine.run(100_000)
        counts, latency = machine.unit_counters(), machine.load_latency()
    assert outcome.stop is CoreStop.DONE
    reads = sum(channel.read_bursts for channel in outcome.channels)
    # The second word of a line is asked for while the first is on its way.
    assert (counts["l1d_reads"], counts["l1d_writes"]) == (3 * LINES, STORED)
    assert (counts["l1d_misses"], counts["l1d_joins"]) == (LINES, LINES)
    assert counts["l1d_entry_waits"] == 0
    assert [one.loads for one in latency["dram"]] == [3 * LINES, 0]
    # A fetch that misses begins a line, or waits for one that was begun ahead.
    assert counts["l1i_fetches"] > counts["l1i_misses"] > 0 < counts["l1i_lines"]
    assert counts["l2_reads"] == counts["l1d_misses"] + counts["l1i_lines"]
    assert counts["l2_prefetches"] > LINES // 2
    assert counts["l2_read_misses"] + counts["l2_prefetches"] >= reads >= LINES
    assert (counts["l2_writes"], counts["l2_write_misses"]) == (STORED, 0)
    assert counts["l2_write_backs"] == sum(c.write_bursts for c in outcome.channels) == STORED
