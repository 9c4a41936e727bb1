"""Made-up results of runs, and rows of tables with them."""

from spica.explore.sweep.row import Row
from spica.explore.work.record import PASS, Record
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import ChannelStatistics, DramConfig, traffic
from spica.sim.report.result import (
    ISSUE_SLOTS,
    check_section,
    complete,
    core_section,
    instruction_section,
    memory_section,
    new_result,
    traffic_section,
)

__all__ = ["DRAM", "SIZES", "made_up", "row_of"]

SIZES = {"m": 8, "n": 8, "k": 8}
DRAM = DramConfig()


def made_up(preset, *, cycles, polling, units, verdict=PASS):
    """Return the result of a run with made-up events."""
    result = new_result(
        preset=preset,
        config=PRESETS["tiny"],
        engine="verilator",
        driver="cores",
        seed=1,
        options={},
        memory=memory_section(DRAM),
        kernel="gemm",
        sizes=SIZES,
    )
    channels = [ChannelStatistics(640, 64, 10, 1, 9, 2, 22.0, 5)]
    slots = dict.fromkeys(ISSUE_SLOTS, 0) | {"issued": 25, "memory": 50, "barrier": 25}
    counts = {"warp": 100, "thread": 400, "polling": polling, "loads": 9, "stores": 3}
    return complete(
        result,
        check=check_section(verdict),
        cycles=cycles,
        run_cycles=cycles + 10,
        operations=1024,
        mac_utilization=0.5,
        matrix_units=units,
        memory=memory_section(DRAM, traffic_section(traffic(channels, cycles, 64), None)),
        counters={
            "shared_read_words_a": 10,
            "shared_narrow_reads": 5,
            "l1i_lines": 3,
            "dma_read_beats_0": 4,
            "dma_read_beats_1": 6,
        },
        cores=[core_section(100, slots, {})],
        **instruction_section(counts | {"divergent_splits": 0}, 4),
    )


def row_of(name, result, areas=None):
    """Return a row of a comparison."""
    verdict = result["check"]["verdict"]
    reason = "" if verdict == PASS else "c: 3 of 64 elements are wrong"
    return Row(name, {}, Record(status=verdict, reason=reason, result=result), {}, areas)
