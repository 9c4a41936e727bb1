"""Blocks of registers of a cluster, with their addresses."""

from collections.abc import Iterator

from ..config import MachineConfig
from ..isa.memory_map import (
    CONTROL,
    CONTROL_BASE,
    CORES_BASE,
    DMA,
    Register,
    core_registers,
    unit_bases,
)
from ..styles.registry import matrix_style_of

__all__ = ["register_blocks", "unit_blocks"]


def unit_blocks(config: MachineConfig) -> Iterator[tuple[str, int, dict[str, Register]]]:
    """Yield name, base address and registers of each DMA port and matrix unit."""
    units = config.named_units
    for name, base in unit_bases(len(units), has_dma=config.dma is not None).items():
        yield name, base, matrix_style_of(units[name]).registers if name in units else DMA


def register_blocks(config: MachineConfig) -> Iterator[tuple[str, int, dict[str, Register]]]:
    """Yield name, base address and registers of every block on the AXI4-Lite slave."""
    blocks = [("control", CONTROL_BASE, CONTROL), *unit_blocks(config)]
    if config.cores:
        blocks.append(("cores", CORES_BASE, core_registers(config.cores)))
    yield from sorted(blocks, key=lambda block: block[1])
