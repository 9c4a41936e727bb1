"""Tests of the cost of single blocks: cells, memories, and depth between registers."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from amaranth.lib import wiring

from spica.hw.arith.float.fma import Fma, FmaConfig
from spica.hw.arith.special.special_function import SpecialFunction, SpecialFunctionConfig
from spica.hw.cluster.cluster_barrier import ClusterBarrier, ClusterBarrierConfig
from spica.hw.config import ClusterNetworkConfig, CoreBlockConfig, CoreConfig
from spica.hw.core.control.barrier import Barrier
from spica.hw.core.control.divergence_stack import DivergenceStack
from spica.hw.core.control.redirects import Redirects
from spica.hw.core.control.wait_table import WaitTable
from spica.hw.core.control.warp_control import WarpControl
from spica.hw.core.control.warp_table import WarpTable
from spica.hw.core.counters import CoreCounters
from spica.hw.core.csr_file import CsrFile
from spica.hw.core.front_end.decode import Decode
from spica.hw.core.front_end.fetch import Fetch
from spica.hw.core.front_end.front_end import FrontEnd
from spica.hw.core.front_end.instruction_buffer import InstructionBuffer
from spica.hw.core.front_end.warp_buffer import WarpBuffer
from spica.hw.core.front_end.warp_fetch import WarpFetch
from spica.hw.core.issue.issue import Issue
from spica.hw.core.issue.scheduler import Scheduler
from spica.hw.core.issue.scoreboard import Scoreboard
from spica.hw.core.operands.collector_pool import Collectors
from spica.hw.core.operands.dispatch import Dispatch
from spica.hw.core.operands.register_file import RegisterFile
from spica.hw.core.units.divide.divide_lane import DivideLane, DivideLaneConfig
from spica.hw.core.units.divide.divide_unit import DivideUnit
from spica.hw.core.units.fp32.float_lanes import FloatLanes, FloatLanesConfig
from spica.hw.core.units.fp32.fp32_unit import Fp32Unit
from spica.hw.core.units.integer.exchange import Exchange
from spica.hw.core.units.integer.integer_lanes import IntegerLanes
from spica.hw.core.units.integer.integer_unit import IntegerUnit
from spica.hw.core.units.sfu.special_unit import SpecialUnit
from spica.hw.machine.cluster_network import ClusterNetwork
from spica.hw.presets import PRESETS
from spica.synth.budgets import DEPTH, too_deep
from spica.synth.measure import measure
from support.core.small_core import small_core
from support.memory.remote_path import RemotePath


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Largest cost of a block, by default of any depth that a cluster allows.

    `cells` and `nand2` count the block with the blocks below it; None is no limit.
    """

    make: Callable[[], wiring.Component]
    cells: int | None = None
    nand2: int | None = None
    sram_bits: int | None = None
    depth: int = DEPTH


def of_core(
    block, cells: int | None, depth: int = DEPTH, *, nand2=None, sram_bits=None, **fields
) -> Limits:
    """Return the limits of a block whose config is a core, by default that of the presets."""
    make = lambda: block(CoreConfig(**fields))  # noqa: E731  # shorter than a function
    return Limits(make=make, cells=cells, nand2=nand2, depth=depth, sram_bits=sram_bits)


def network_of(preset: str, clusters: int) -> ClusterNetwork:
    """Return the network of a machine of several clusters of a preset."""
    machine = replace(PRESETS[preset], clusters=clusters, units=())
    return ClusterNetwork(ClusterNetworkConfig.of(machine))


TEXTBOOK = {"threads": 32, "banks": 16, "bank_mapping": "thread"}
BITS = 64 * 32 * 8 * 8  # of the registers of the default core
LIMITS = {
    "fma": Limits(make=lambda: Fma(FmaConfig()), cells=230),
    "special_function": Limits(make=lambda: SpecialFunction(SpecialFunctionConfig())),
    "cluster_barrier": Limits(
        make=lambda: ClusterBarrier(ClusterBarrierConfig(cores=8, barriers=16)), cells=280, depth=35
    ),
    "cluster_network": Limits(make=lambda: network_of("tiny", 2), cells=75, nand2=2700, depth=10),
    "barrier": Limits(make=lambda: Barrier(small_core(cores=1, warps=8)), cells=110, depth=35),
    "wait_table": Limits(
        make=lambda: WaitTable(CoreBlockConfig.of(PRESETS["virgo"])), nand2=3700, depth=25
    ),
    "barrier 4": Limits(make=lambda: Barrier(small_core(cores=4, warps=8)), cells=110, depth=35),
    "divergence_stack": of_core(DivergenceStack, 60, 20, sram_bits=8 * 8 * (8 + 8 + 30)),
    "redirects": of_core(Redirects, 70, 45),
    "warp_control": Limits(
        make=lambda: WarpControl(CoreBlockConfig.of(PRESETS["core"])), cells=670, depth=45
    ),
    "warp_control without waits": Limits(
        make=lambda: WarpControl(CoreBlockConfig.of(PRESETS["volta"])), cells=600, depth=45
    ),
    "warp_table": of_core(WarpTable, 60, 10),
    "decode": of_core(Decode, 141, 25),
    "decode bare": of_core(Decode, 137, 25, warp_operations=False),
    "fetch": of_core(Fetch, 350, 35),
    "warp_fetch": of_core(WarpFetch, 34),  # with the comparison of its warp
    "front_end": of_core(FrontEnd, 844, 40),
    "front_end bare": of_core(FrontEnd, 840, 40, warp_operations=False),
    "front_end two": of_core(FrontEnd, 930, 40, issue_width=2),
    "instruction_buffer": of_core(InstructionBuffer, 250, 35),
    "warp_buffer": of_core(WarpBuffer, 30),  # likewise
    "issue": of_core(Issue, 700, 45),
    "issue two": of_core(Issue, 1050, 50, issue_width=2),
    "scoreboard": of_core(Scoreboard, 620, 25),
    **{
        f"scheduler {name}": of_core(Scheduler, 90, 20, scheduler=name)
        for name in ("round_robin", "greedy_then_oldest", "oldest", "two_level")
    },
    "collectors": of_core(Collectors, 650, 30, threads=1),
    "dispatch": of_core(Dispatch, 150, 20, threads=1),
    "register_file": of_core(RegisterFile, 420, 25, sram_bits=BITS),
    "register_file thread": of_core(RegisterFile, 530, 30, bank_mapping="thread", sram_bits=BITS),
    "counters": of_core(CoreCounters, 200, 56),
    "csr_file": Limits(make=lambda: CsrFile(small_core(warps=8, threads=8)), cells=200, depth=43),
    "divide": of_core(DivideUnit, 360),
    "divide 32": of_core(DivideUnit, None, threads=32),
    **{
        f"divide_lane {digits}": Limits(
            make=lambda digits=digits: DivideLane(DivideLaneConfig(digits=digits)),
            cells=cells,
            nand2=nand2,
        )
        for digits, cells, nand2 in ((4, 270, 7900), (2, 220, 6700), (1, 210, 6200))
    },
    "float_lanes": Limits(make=lambda: FloatLanes(FloatLanesConfig()), cells=600),
    "special_unit": of_core(SpecialUnit, 2030),
    "exchange": of_core(Exchange, 280, 20, nand2=7300),
    "exchange of 8 lanes": of_core(Exchange, 750, 25, nand2=29_000, threads=32, integer_lanes=8),
}
#: Blocks whose synthesis takes long.
LARGE = {
    "collectors 8": of_core(Collectors, 650, 30),
    "collectors no snoop": of_core(Collectors, 450, 30, snoop=False),
    "collectors two": of_core(
        Collectors, 1000, 40, collectors=8, issue_width=2, bank_mapping="thread"
    ),
    "register_file age": of_core(RegisterFile, 600, 25, bank_arbiter="age", sram_bits=BITS),
    "register_file textbook": of_core(RegisterFile, 1000, 35, **TEXTBOOK, sram_bits=4 * BITS),
    "fp32": of_core(Fp32Unit, 3600),
    "integer_unit": of_core(IntegerUnit, 820, nand2=160_000),
    "integer_unit bare": of_core(IntegerUnit, 540, warp_operations=False),
    "integer_unit 2": of_core(IntegerUnit, 590, multiply_latency=2, warp_operations=False),
    "integer_unit 4": of_core(IntegerUnit, 560, multiply_latency=4, warp_operations=False),
    "integer_unit two lanes": of_core(IntegerUnit, 270, integer_lanes=2, warp_operations=False),
    "integer_unit of a thread": of_core(
        IntegerUnit, 140, warps=1, threads=1, warp_operations=False
    ),
    "exchange 32": of_core(Exchange, 2650, 20, nand2=112_000, threads=32),
    "cluster_network 8": Limits(
        make=lambda: network_of("virgo", 8), cells=2100, nand2=85_000, depth=40
    ),
    "remote_path 8": Limits(
        make=lambda: RemotePath(replace(PRESETS["virgo"], clusters=8, units=())), depth=55
    ),
    # All but products leave room for dispatch.
    "integer_lanes": of_core(IntegerLanes, None, DEPTH // 2),
}


def check(limits: Limits):
    measured = measure(limits.make(), "block")
    if limits.cells is not None:
        assert measured.cells <= limits.cells
    if limits.nand2 is not None:
        assert measured.nand2 <= limits.nand2
    if limits.sram_bits is not None:
        assert measured.sram_bits == limits.sram_bits
    assert measured.depth <= limits.depth
    assert too_deep(measured) == {}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.quick("barrier")
def test_cost_of_a_block(name):
    check(LIMITS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_cost_of_a_large_block(name):
    check(LARGE[name])
