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
    in_cluster,
    unit_bases,
)
from ..styles.registry import matrix_style_of

__all__ = ["register_blocks", "unit_blocks"]


def unit_blocks(config: MachineConfig) -> Iterator[tuple[str, int, dict[str, Register]]]:
    """Yield name, base address and registers of each DMA port and matrix unit."""
    registers = {
        in_cluster(cluster, name): matrix_style_of(unit).registers
        for cluster in range(config.clusters)
        for name, unit in config.named_units.items()
    }
    bases = unit_bases(len(config.units), has_dma=config.dma is not None, clusters=config.clusters)
    for name, base in bases.items():
        yield name, base, registers.get(name, DMA)


def register_blocks(config: MachineConfig) -> Iterator[tuple[str, int, dict[str, Register]]]:
    """Yield name, base address and registers of every block on the AXI4-Lite slave."""
    blocks = [("control", CONTROL_BASE, CONTROL), *unit_blocks(config)]
    if config.cores:
        registers = core_registers(config.cores, config.clusters)
        blocks.append(("cores", CORES_BASE, registers))
    yield from sorted(blocks, key=lambda block: block[1])
