"""Transfers of the steps of ``gemm``: loads of the tiles of A and B, and the store of C."""

from ....hw.config import MachineConfig
from ....kernels.gemm.problem import GemmProblem, ceil_div
from ....kernels.gemm.target import systolic_unit
from ..transfers import Load, Store, load_of, phase_of, store_of
from .program_steps import ProgramStep

__all__ = ["blocks_of", "step_loads", "step_stores"]


def blocks_of(config: MachineConfig, step: ProgramStep) -> tuple[int, int]:
    """Return the column blocks and the slabs along K of a step."""
    unit = systolic_unit(config)
    return ceil_div(step.n, unit.columns), ceil_div(step.depth, unit.rows)


def step_loads(
    config: MachineConfig, product: GemmProblem, step: ProgramStep
) -> list[tuple[Load, int]]:
    """Return the loads of a step in order, each with the bank of shared memory that it writes."""
    unit, axi = systolic_unit(config), config.axi
    bank_bytes = config.shared.size // config.shared.banks
    blocks, slabs = blocks_of(config, step)
    size, loads = unit.operand_bytes, []
    if step.loads_a:
        load = load_of(
            axi,
            dram=phase_of(axi, product.a_base + (step.row * product.a_pitch + step.k) * size),
            pitch=product.a_pitch * size,
            local_pitch=slabs * unit.a_bytes,
            rows=step.m,
            row_bytes=step.depth * size,
            fill_rows=step.m,
        )
        loads.append((load, step.a // bank_bytes))
    if step.loads_b:
        load = load_of(
            axi,
            dram=phase_of(axi, product.b_base + (step.k * product.b_pitch + step.column) * size),
            pitch=product.b_pitch * size,
            local_pitch=blocks * unit.b_bytes,
            rows=step.depth,
            row_bytes=step.n * size,
            fill_rows=slabs * unit.rows,
        )
        loads.append((load, step.b // bank_bytes))
    return loads


def step_stores(
    config: MachineConfig, product: GemmProblem, step: ProgramStep
) -> tuple[Store, ...]:
    """Return the store of the tile of C that a step completes, by column block."""
    unit, axi, size = systolic_unit(config), config.axi, product.element_bytes("c")
    width = unit.columns * size
    place = product.c_base + (step.row * product.c_pitch + step.column) * size
    return tuple(
        store_of(
            axi,
            dram=phase_of(axi, place + block * width),
            pitch=product.c_pitch * size,
            rows=step.m,
            row_bytes=min(width, step.n * size - block * width),
            drain_bytes=unit.drain_bytes,
            beats=ceil_div(width, unit.drain_bytes),
        )
        for block in range(blocks_of(config, step)[0])
    )
