"""Helpers that run small programs on the instruction-set model, with registers of every lane."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...hw.config import CoreConfig, MachineConfig
from ...hw.isa.memory_map import ENTRY
from ...hw.isa.program import assemble_program
from ...hw.presets import PRESETS
from .machine import Iss
from .outcome import Retired

__all__ = [
    "END",
    "OLD",
    "START",
    "give",
    "lanes_of",
    "machine",
    "merged",
    "run_warp",
    "small_config",
]

#: Code: every thread of every warp continues at `body`; and ends.
START = """
        csrr t0, num_warps
        la t1, body
        vx_wspawn t0, t1
body:   li t0, -1
        vx_tmc t0
"""
END = "\n        vx_tmc zero\n"
#: Initial value of registers not set by `give`: this plus their number.
OLD = 0xDEAD_0000
FLOAT = 32


def small_config(
    *, cores: int = 1, warps: int = 4, threads: int = 4, barrier_scope: str = "cluster", **core
) -> MachineConfig:
    """Return a cluster of small cores without a matrix unit."""
    return replace(
        PRESETS["tiny"],
        cores=cores,
        core=CoreConfig(warps=warps, threads=threads, **core),
        barrier_scope=barrier_scope,
        units=(),
    )


def machine(text: str, *, schedule: str = "round_robin", seed: int = 1, **config) -> Iss:
    """Return the model of a `small_config` with a loaded program."""
    iss = Iss(small_config(**config), schedule=schedule, seed=seed)
    iss.write(ENTRY, assemble_program(text).data)
    return iss


def give(
    iss: Iss,
    values: Mapping[int, int | Sequence[int] | np.ndarray],
    *,
    core: int = 0,
    warp: int = 0,
    mask: int = -1,
    pc: int = ENTRY,
) -> None:
    """Start a warp at `pc` with the lanes of `mask`; set registers, floats at their number + 32."""
    threads = iss.core.threads
    rows = np.array([[OLD + row] * threads for row in range(64)], np.uint32)
    rows[0] = 0
    for row, lanes in values.items():
        rows[row] = np.broadcast_to(np.asarray(lanes, np.int64) & 0xFFFF_FFFF, threads)
    mask &= (1 << threads) - 1
    iss.set_warp(core, warp, mask=mask, pc=pc, integers=rows[:FLOAT], floats=rows[FLOAT:])


def lanes_of(iss: Iss, row: int, *, core: int = 0, warp: int = 0) -> list[int]:
    """Return the value of a register by lane; a float register at its number + 32."""
    state = iss.warp(core, warp)
    return (state.floats[row - FLOAT] if row >= FLOAT else state.integers[row]).tolist()


def merged(mask: int, new: int, row: int, threads: int = 4) -> list[int]:
    """Return the values of a register by lane if the lanes of a mask were written since `give`."""
    return [new if mask >> lane & 1 else OLD + row for lane in range(threads)]


def run_warp(iss: Iss, *, core: int = 0, warp: int = 0, limit: int = 100_000) -> list[Retired]:
    """Execute a single warp as long as it can run; return its instructions."""
    instructions: list[Retired] = []
    while retired := iss.step(core, warp):
        assert retired.fault is None, retired.fault.sentence
        instructions.append(retired)
        assert len(instructions) < limit
    return instructions
