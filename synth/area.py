"""Area report of a cluster by groups and blocks, as tables and JSON."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

from ..hw.config import MachineConfig
from .design import cluster_design
from .gates import NAND2_EQUIVALENTS
from .grouped import GroupMeasurement, Pricing, group_measurements, total_measurement
from .liberty import Library, read_library
from .measure import Measurement, measure_design
from .memories import MACRO_NAND2, MemoryShape
from .yosys import yosys_version

__all__ = ["area_report", "measure_cluster", "memory_rows"]


def measure_cluster(
    config: MachineConfig,
    name: str,
    *,
    liberty: Path | Library | None = None,
    workers: int | None = None,
    progress: Callable[[str, int], None] | None = None,
) -> Measurement:
    """Return the cost of the cluster of `config`; see `measure`."""
    library = read_library(liberty) if isinstance(liberty, Path) else liberty
    design = cluster_design(config, name)
    return measure_design(design, name, library=library, workers=workers, progress=progress)


def memory_rows(measured: Measurement, pricing: Pricing) -> list[dict]:
    """Return every shape of memory with its number of instances and their total cost."""
    counts: dict[MemoryShape, int] = {}
    for block in measured.blocks:
        for shape, memories in block.memories.items():
            counts[shape] = counts.get(shape, 0) + memories * block.instances
    rows = []
    for shape, count in sorted(counts.items(), key=lambda item: -item[0].bits * item[1]):
        tiling = pricing.tiling(shape)
        rows.append({
            **dataclasses.asdict(shape),
            "count": count,
            "nand2": pricing.nand2(shape) * count,
            "tiling": None if tiling is None else str(tiling),
        })
    return rows


def area_report(measured: Measurement, pricing: Pricing | None = None) -> dict:
    """Return a measurement for JSON, with the rules behind its figures."""
    pricing = pricing or Pricing()
    whole = total_measurement(measured, pricing)
    library = pricing.library
    return {
        "name": measured.name,
        "cells": measured.cells,
        "nand2": measured.nand2,
        "flip_flop_nand2": whole.flip_flop_nand2,
        "flip_flops": measured.flip_flops,
        "sram_bits": measured.sram_bits,
        "sram_nand2_estimate": whole.sram_nand2,
        "depth": measured.depth,
        "area": measured.area,
        "groups": group_rows(group_measurements(measured, pricing), whole),
        "memories": memory_rows(measured, pricing),
        "blocks": [
            {
                field.name: getattr(block, field.name)
                for field in dataclasses.fields(block)
                if field.name != "memories"
            }
            for block in measured.blocks
        ],
        "rules": {
            "cells": "word-level cells after proc; opt",
            "nand2_weights": NAND2_EQUIVALENTS,
            "sram_nand2_by_ports_and_bits": {ports: list(MACRO_NAND2[ports]) for ports in (1, 2)},
            "depth": "gates between registers, memories and ports",
            "liberty": None if library is None else {"file": library.path, "nand2": library.nand2},
            "yosys": yosys_version(),
        },
    }


def group_rows(groups: Iterable[GroupMeasurement], whole: GroupMeasurement) -> list[dict]:
    """Return groups for JSON, each with its share of the whole."""
    return [
        {field.name: getattr(group, field.name) for field in dataclasses.fields(group)}
        | {"nand2": group.nand2, "area": group.area, "share": group.nand2 / whole.nand2}
        for group in groups
    ]
