"""Stress tests of cores, DMA and matrix units on the same words, against the model."""

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from spica.hw.config import (
    AxiConfig,
    CacheConfig,
    CoreConfig,
    MachineConfig,
    SharedMemoryConfig,
    SystolicConfig,
)
from spica.hw.presets import PRESETS
from spica.sim.harness.dram import DramConfig
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.machine import Iss
from spica.sim.machine.program_machine import ProgramMachine
from support.cluster.two_cores import TWO
from support.programs.cluster_stress import ClusterStress
from support.programs.placed_program import LIMIT, PlacedProgram, complete, modelled, place

#: Thread accesses in all slow tests together, without those to address tables.
SLOW = 1_000_000

HETERO = replace(
    PRESETS["tiny_hetero"],
    cores=2,
    core=CoreConfig(warps=4, threads=4, shared_ports=2),
    barrier_scope="core",
)
THREE = replace(
    PRESETS["tiny"],
    cores=3,
    core=CoreConfig(
        warps=2, threads=8, shared_ports=4, l1i=CacheConfig(size=1024, mshrs=6, prefetch=4)
    ),
    shared=SharedMemoryConfig(size=16 * 1024, banks=4, subbanks=8),
    units=(
        SystolicConfig(
            rows=8,
            columns=8,
            operand="bf16",
            dataflow="output_stationary",
            accumulator_bytes=2048,
            tile=(16, 16, 16),
        ),
    ),
    axi=AxiConfig(data_width=256, masters=1),
)
CONFIGS = {"two_observed": TWO, "hetero_observed": HETERO, "third_observed": THREE}


@dataclass(frozen=True)
class Case:
    """A machine with its memory and clocks, and the number of accesses to run."""

    name: str
    accesses: int
    dram: DramConfig
    gating: str


NEAR = DramConfig(latency=5, bytes_per_cycle=16.0)
STALLING = DramConfig(latency=40, stall=0.3, seed=3)
CASES = (
    Case("two_observed", 60_000, DramConfig(), "gated"),
    Case("two_observed", 60_000, STALLING, "random"),
    Case("two_observed", 60_000, NEAR, "ungated"),
    Case("hetero_observed", 180_000, DramConfig(), "random"),
    Case("hetero_observed", 180_000, STALLING, "gated"),
    Case("hetero_observed", 180_000, NEAR, "gated"),
    Case("third_observed", 140_000, STALLING, "random"),
    Case("third_observed", 140_000, NEAR, "gated"),
)


def left(machine, program: PlacedProgram) -> list[bytes]:
    """Return the final contents of a program's memory."""
    return [machine.read(*region).tobytes() for region in program.regions]


def left_on_model(config: MachineConfig, program: PlacedProgram, *order) -> list[bytes]:
    """Return the final memory of the model with its engines."""
    return left(modelled(config, program, *order), program)


def test_all_is_determined():
    for config in (TWO, HETERO, THREE):
        stress = ClusterStress(config, 1, epochs=3)
        expected = left_on_model(config, stress.program)
        for seed in range(3):
            assert left_on_model(config, stress.program, "random", seed) == expected
        assert stress.effort.accesses > 2000 and stress.effort.descriptors > 20
        other = ClusterStress(config, 2, epochs=3)
        assert other.program.text != stress.program.text


def test_a_barrier_that_is_left_out_is_found():
    stress = ClusterStress(TWO, 1, epochs=3)
    expected = left_on_model(TWO, stress.program)
    ends = [at for at, line in enumerate(stress.lines) if line.startswith("vx_bar")]
    outcomes = Counter()
    for at in ends:
        lines = [*stress.lines[:at], "nop", *stress.lines[at + 1 :]]
        program = replace(stress.program, text="\n".join(lines))
        for seed in range(4):
            iss = Iss(TWO, schedule="random", seed=seed)
            place(iss, program)
            stop = iss.run(LIMIT).stop
            outcomes[stop is StopReason.DONE and left(iss, program) == expected] += 1
    # At least a third: the other barriers separate accesses that happen not to conflict.
    assert 2 * outcomes[False] > outcomes[True]


def stressed(machine: ProgramMachine, stress: ClusterStress) -> Counter[str]:
    """Run a program in lockstep, compare its memory with the model and engines; return counts."""
    outcome = complete(machine, stress.program)
    assert outcome.mismatch == ""
    assert left(machine.harness, stress.program) == left_on_model(machine.config, stress.program)
    return Counter(
        accesses=stress.effort.accesses,
        descriptors=stress.effort.descriptors,
        barriers=stress.effort.barriers,
        cycles=outcome.cycles,
        instructions=outcome.instructions,
    ) + Counter(machine.cluster.events())


def test_the_cases_are_a_million():
    assert sum(case.accesses for case in CASES) >= SLOW


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.gating}")
def test_everything_at_once(case):
    config = CONFIGS[case.name]
    counts: Counter[str] = Counter()
    seed = 1000 * CASES.index(case)
    with ProgramMachine(
        config,
        name=case.name,
        optimize=1,
        lockstep=True,
        memory=case.dram,
        gating=case.gating,
        watchdog=5000,
    ) as machine:
        while counts["accesses"] < case.accesses:
            counts += stressed(machine, ClusterStress(config, seed, epochs=6))
            seed += 1
        words = [name for name in machine.cluster.events() if name.startswith("shared_")]
    print(dict(counts))
    # Every engine had much work and met others at shared memory.
    for name in (name for name in words if "_words_" in name):
        assert counts[name] > 50, name
    assert sum(counts[name] for name in words if "_wait_" in name) > 100
    assert min(counts[f"shared_{kind}_waits"] for kind in ("narrow", "row")) > 100
    assert min(counts[f"shared_row_{path}_words"] for path in ("read", "write")) > 1000
    assert counts["descriptors"] > 80 and counts["barriers"] > 15
    assert min(counts["dma_read_beats_0"], counts["dma_write_beats_0"]) > 100
