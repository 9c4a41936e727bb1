"""Tables of area: groups, blocks, memories, paths, comparison of machines."""

from collections.abc import Sequence

from ...synth.area import memory_rows
from ...synth.fpga.area import Resources
from ...synth.fpga.technology import RESOURCES, Technology
from ...synth.grouped import GroupMeasurement, Pricing, group_measurements, total_measurement
from ...synth.measure import Measurement
from ...synth.timing.paths import DeepPath
from ..sheet import Sheet

__all__ = [
    "block_sheet",
    "comparison_sheet",
    "group_sheet",
    "memory_sheet",
    "path_sheet",
    "resource_blocks_sheet",
    "resource_sheet",
]

SUMS_NOTE = (
    "Each block is synthesised separately, without optimization across blocks: sums are upper "
    "bounds."
)


def group_sheet(measured: Measurement, pricing: Pricing) -> Sheet:
    """Return the table of groups of a machine."""
    groups = group_measurements(measured, pricing)
    whole = total_measurement(measured, pricing)
    kinds = sorted(whole.sram_bits)
    has_area = pricing.library is not None
    numbers = ["blocks", "cells", "logic", "flip-flops", *(f"bits {kind}" for kind in kinds)]
    numbers += ["SRAM", "total", "share", *(["um2"] if has_area else []), "depth"]

    def row(group: GroupMeasurement) -> list[str]:
        bits = [f"{group.sram_bits[kind]:,}" for kind in kinds]
        counts = [f"{group.instances:,}", f"{group.cells:,}"]
        parts = (group.logic_nand2, group.flip_flop_nand2)
        area = [f"{group.area:,.0f}"] if group.area is not None else []
        return [
            *(group.name, *counts, *(f"{part:,.0f}" for part in parts), *bits),
            *(f"{group.sram_nand2:,.0f}", f"{group.nand2:,.0f}"),
            *(f"{group.nand2 / whole.nand2:.1%}" if whole.nand2 else "", *area, f"{group.depth}"),
        ]

    notes = [
        "Logic, flip-flops, SRAM and total are in NAND2 equivalents. SRAM is "
        + (
            "tiled from the macros of --sram-table."
            if pricing.macros
            else "estimated by size and ports, from macros of an open 130 nm process."
        )
    ]
    if pricing.library is not None:
        notes.append(
            f"Areas in um2: {pricing.library.path}, with a NAND2 of {pricing.library.nand2} um2."
        )
    return Sheet(
        title=f"Area of {measured.name}",
        column="group",
        numbers=numbers,
        rows=[row(group) for group in groups],
        sums=row(whole),
        notes=notes,
    )


def path_sheet(name: str, paths: Sequence[DeepPath]) -> Sheet:
    """Return the table of the deepest paths of a machine, with the signals along each as notes."""
    return Sheet(
        title=f"Deepest register-to-register paths of {name}",
        column="block",
        numbers=["gates"],
        rows=[[path.block, f"{path.depth}"] for path in paths],
        notes=[
            f"{path.block}, {path.depth} gates: "
            + " > ".join(f"{signal} ({gates})" for signal, gates in path.signals)
            for path in paths
        ],
    )


def block_sheet(measured: Measurement) -> Sheet:
    """Return the table of blocks of a machine, the largest first."""
    has_area = measured.area is not None
    numbers = ["instances", "cells", "NAND2", "flip-flops", "SRAM bits", "depth"]
    rows = [
        [
            *(f"{block.name} ({', '.join(block.groups)})", f"{block.instances:,}"),
            *(f"{block.cells:,}", f"{block.nand2:,.0f}", f"{block.flip_flops:,}"),
            *(f"{block.sram_bits:,}", f"{block.depth}"),
            *([f"{block.area:,.0f}"] if block.area is not None else []),
            f"{block.nand2 * block.instances / measured.nand2:.1%}" if measured.nand2 else "",
        ]
        for block in sorted(measured.blocks, key=lambda block: -block.nand2 * block.instances)
    ]
    return Sheet(
        title=f"Blocks of {measured.name}",
        column="block",
        numbers=[*numbers, *(["um2"] if has_area else []), "share"],
        rows=rows,
        notes=[
            "Figures of a block are for one instance, without the blocks it instantiates and "
            "without SRAM. Depth includes the blocks it instantiates, share all its instances."
        ],
    )


def memory_sheet(measured: Measurement, pricing: Pricing) -> Sheet:
    """Return the table of memories of a machine, with their macros."""
    rows = [
        [
            f"{row['depth']} x {row['width']} {row['ports']}",
            *(f"{row['count']:,}", f"{row['depth'] * row['width'] * row['count']:,}"),
            *(f"{row['nand2']:,.0f}", row["tiling"] or "estimate"),
        ]
        for row in memory_rows(measured, pricing)
    ]
    return Sheet(
        title=f"Memories of {measured.name}",
        column="words x bits, ports",
        numbers=["count", "bits", "NAND2", "macros of each"],
        rows=rows,
    )


def comparison_sheet(machines: Sequence[Measurement], pricing: Pricing) -> Sheet:
    """Return the comparison of machines, each with its ratio to the first."""
    sums = [
        {group.name: group.nand2 for group in group_measurements(measured, pricing)}
        for measured in machines
    ]
    names = list(dict.fromkeys(name for areas in sums for name in areas))
    wholes = [total_measurement(measured, pricing).nand2 for measured in machines]
    depths = [str(measured.depth) for measured in machines]
    numbers = [machines[0].name]
    for measured in machines[1:]:
        numbers += [measured.name, "ratio"]
    rows = [compared(name, [areas.get(name) for areas in sums]) for name in names]
    depth = ["depth", depths[0]]
    for figure in depths[1:]:
        depth += [figure, ""]
    return Sheet(
        title="NAND2 equivalents, including SRAM",
        column="group",
        numbers=numbers,
        rows=[*rows, depth],
        sums=compared("total", list(wholes)),
    )


def compared(name: str, figures: Sequence[float | None]) -> list[str]:
    """Return a row of figures, with the ratio of each to the first."""
    first = figures[0]
    cells = [name, "" if first is None else f"{first:,.0f}"]
    for figure in figures[1:]:
        cells.append("" if figure is None else f"{figure:,.0f}")
        cells.append(f"{figure / first:.2f}" if figure is not None and first else "")
    return cells


def resource_sheet(name: str, resources: Resources, technology: Technology) -> Sheet:
    """Return the table of FPGA resources by group."""
    return Sheet(
        title=f"{name} on {technology.name}",
        column="group",
        numbers=[*(resource.upper() for resource in RESOURCES), "share of LUT"],
        rows=[resource_row(group, sums, resources) for group, sums in resources.groups.items()],
        sums=resource_row("total", resources.whole, resources),
        notes=[f"BRAM: {technology.bram}. {SUMS_NOTE}"],
    )


def resource_row(name: str, sums, resources: Resources) -> list[str]:
    """Return a row of resources."""
    whole = resources.whole["lut"]
    share = f"{sums['lut'] / whole:.1%}" if whole else ""
    return [name, *(f"{sums[resource]:,.12g}" for resource in RESOURCES), share]


def resource_blocks_sheet(name: str, resources: Resources) -> Sheet:
    """Return the table of resources of one instance of each block, the largest first."""
    blocks = sorted(resources.blocks.items(), key=lambda item: -item[1][0] * item[1][1]["lut"])
    return Sheet(
        title=f"Blocks of {name}",
        column="block",
        numbers=["instances", *(resource.upper() for resource in RESOURCES)],
        rows=[
            [block, f"{instances:,}", *(f"{one[resource]:,.12g}" for resource in RESOURCES)]
            for block, (instances, one) in blocks
        ],
    )
