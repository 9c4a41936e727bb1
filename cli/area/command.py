"""``spica area``: area of presets by group of blocks."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ...api.progress import ProgressDisplay
from ...base.errors import UserError
from ...explore.charts.area import area_chart
from ...explore.charts.files import PICTURES, picture
from ...hw.config import MachineConfig
from ...hw.config.rtl_support import require_rtl
from ...sim.run.request.choices import choose, require_at_least
from ...sim.run.request.machine import changed, configured
from ...synth.area import area_report, measure_cluster
from ...synth.design import cluster_design
from ...synth.fpga.area import Resources, measure_technology
from ...synth.fpga.technology import TECHNOLOGIES
from ...synth.grouped import Pricing, group_measurements
from ...synth.liberty import read_library
from ...synth.macros import read_macros
from ...synth.measure import Measurement
from ...synth.timing.paths import DeepPath, deepest_paths
from ..files import Draft, require_suffix
from ..options import WHOLE, Flag, JsonOption, JsonOutput, SetOption, standard_output
from ..progress import counting_blocks
from ..sheet import Sheet
from .sheets import (
    block_sheet,
    comparison_sheet,
    group_sheet,
    memory_sheet,
    path_sheet,
    resource_blocks_sheet,
    resource_sheet,
)

__all__ = ["area"]

#: Configs of machines by name.
Machines = dict[str, MachineConfig]
SweepOption = Annotated[
    str | None,
    Parameter(help="Measure one machine per value of a field, as in `--sweep matrix.rows=4,8,16`."),
]


def area(
    *presets: str,
    tech: str = "gates",
    liberty: Path | None = None,
    sram_table: Path | None = None,
    sweep: SweepOption = None,
    blocks: Flag = False,
    paths: Annotated[int, WHOLE] = 0,
    markdown: Path | None = None,
    plot: Path | None = None,
    settings: SetOption = (),
    json: JsonOption = None,
):
    """Measure the area of presets: cells, NAND2 equivalents, SRAM, share and depth of each group.

    Every distinct block is synthesised once; results are cached.

    Parameters
    ----------
    presets
        Presets of `spica list`; several are compared.
    tech
        gates, or an FPGA: ecp5, ice40 or xilinx.
    liberty
        Cell library (Liberty file), for areas in square micrometres.
    sram_table
        SRAM macros, a CSV file with columns macro, ports, words, width and area_um2; needs
        --liberty.
    blocks
        Print the blocks of each group and the memories.
    paths
        Number of deepest paths to print, with the signals along them.
    markdown
        Write the tables to this Markdown file.
    plot
        Write a chart to this SVG or PNG file.

    """
    pricing = priced(tech, liberty, sram_table)
    require_at_least(0, {"--paths": paths})
    if paths and tech != "gates":
        raise UserError(f"--paths needs --tech gates, not {tech}")
    machines = machines_of(presets, settings, sweep)
    require_suffix("--plot", plot, PICTURES)
    with JsonOutput(json) as output, optional(markdown) as page, optional(plot) as chart:
        with ProgressDisplay() as progress:
            if tech == "gates":
                costs = measured(machines, pricing, progress)
                result = Gates(costs, pricing, blocks, paths_of(machines, paths, progress))
            else:
                result = Tables(resources(machines, tech, progress), tech, blocks)
        sheets = result.sheets()
        title = " ".join(["spica area", *presets])
        if page is not None:
            page.write("\n".join([f"# `{title}`\n", *(sheet.markdown() for sheet in sheets)]))
        if chart is not None:
            drawn = area_chart(title, result.unit, result.bars())
            chart.write(picture(drawn, chart.path.suffix))
        for draft in filter(None, (page, chart)):
            draft.commit()
        if output.write(result.report()):
            show(sheets)


class Gates:
    """Areas in gates: tables, JSON, bars of the chart."""

    unit = "NAND2 equivalents, including SRAM"

    def __init__(
        self,
        machines: Sequence[Measurement],
        pricing: Pricing,
        blocks: bool,
        paths: Mapping[str, Sequence[DeepPath]],
    ):
        self.machines, self.pricing, self.blocks, self.paths = machines, pricing, blocks, paths

    def sheets(self) -> list[Sheet]:
        sheets = []
        for machine in self.machines:
            sheets.append(group_sheet(machine, self.pricing))
            if self.blocks:
                sheets.append(block_sheet(machine))
            if self.blocks or self.pricing.macros:
                sheets.append(memory_sheet(machine, self.pricing))
            if paths := self.paths[machine.name]:
                sheets.append(path_sheet(machine.name, paths))
        if len(self.machines) > 1:
            sheets.append(comparison_sheet(self.machines, self.pricing))
        return sheets

    def report(self) -> dict:
        return {
            "machines": [
                area_report(machine, self.pricing)
                | {"paths": [asdict(path) for path in self.paths[machine.name]]}
                for machine in self.machines
            ]
        }

    def bars(self) -> list[tuple[str, dict[str, float]]]:
        return [
            (
                machine.name,
                {g.name: g.nand2 for g in group_measurements(machine, self.pricing)},
            )
            for machine in self.machines
        ]


class Tables:
    """Resources on an FPGA: tables, JSON, bars of the chart."""

    unit = "look-up tables"

    def __init__(self, machines: Sequence[tuple[str, Resources]], tech: str, blocks: bool):
        self.machines, self.tech, self.blocks = machines, tech, blocks

    def sheets(self) -> list[Sheet]:
        sheets = []
        for name, used in self.machines:
            sheets.append(resource_sheet(name, used, TECHNOLOGIES[self.tech]))
            if self.blocks:
                sheets.append(resource_blocks_sheet(name, used))
        return sheets

    def report(self) -> dict:
        return {
            "technology": self.tech,
            "machines": [
                {
                    "name": name,
                    "whole": used.whole,
                    "groups": used.groups,
                }
                for name, used in self.machines
            ],
        }

    def bars(self) -> list[tuple[str, dict[str, float]]]:
        return [
            (name, {group: sums["lut"] for group, sums in used.groups.items()})
            for name, used in self.machines
        ]


def priced(tech: str, liberty: Path | None, sram_table: Path | None) -> Pricing:
    """Return the prices of cells and memories, from the files of the options."""
    choose("--tech", tech, ["gates", *TECHNOLOGIES])
    if liberty is None and sram_table is not None:
        raise UserError("--sram-table needs --liberty, whose NAND2 is the unit of its areas in um2")
    if tech != "gates" and liberty is not None:
        raise UserError(f"--liberty needs --tech gates, not {tech}")
    return Pricing(
        library=None if liberty is None else read_library(liberty),
        macros=() if sram_table is None else read_macros(sram_table),
    )


def machines_of(presets: Sequence[str], settings: Sequence[str], sweep: str | None) -> Machines:
    """Return the configs to measure; each has RTL."""
    if not presets:
        raise UserError("spica area needs a preset, as in spica area virgo; spica list shows all")
    machines = {preset: configured(preset, settings) for preset in presets}
    if sweep is not None:
        field, _, values = sweep.partition("=")
        if not values or len(presets) > 1:
            raise UserError(
                f"--sweep must be a field of one preset with its values, as in matrix.rows=4,8, "
                f"not {sweep} of {len(presets)} presets"
            )
        (config,) = machines.values()
        machines = swept(config, field.strip(), [value.strip() for value in values.split(",")])
    for config in machines.values():
        require_rtl(config, config.clusters)
    return machines


def swept(config: MachineConfig, field: str, values: Sequence[str]) -> Machines:
    """Return a config for each value of a field, or of several fields joined by ``+``."""
    return {
        f"{field}={value}": changed(config, [f"{name}={value}" for name in field.split("+")])
        for value in values
    }


def measured(machines: Machines, pricing: Pricing, progress: ProgressDisplay) -> list[Measurement]:
    """Return the areas of machines."""
    return [
        measure_cluster(
            config, name, liberty=pricing.library, progress=counting_blocks(progress, name)
        )
        for name, config in machines.items()
    ]


def paths_of(
    machines: Machines, count: int, progress: ProgressDisplay
) -> dict[str, list[DeepPath]]:
    """Return the deepest paths of machines, from their synthesis."""
    paths: dict[str, list[DeepPath]] = {name: [] for name in machines}
    for name, config in machines.items() if count else ():
        progress(f"tracing the deepest paths of {name}", 0, 0)
        paths[name] = deepest_paths(cluster_design(config, name), count)
    return paths


def resources(
    machines: Machines, tech: str, progress: ProgressDisplay
) -> list[tuple[str, Resources]]:
    """Return the resources of machines on an FPGA."""
    return [
        (
            name,
            measure_technology(
                cluster_design(config, name),
                TECHNOLOGIES[tech],
                progress=counting_blocks(progress, name),
            ),
        )
        for name, config in machines.items()
    ]


def optional(path: Path | None) -> AbstractContextManager[Draft | None]:
    """Return the draft of an output file, or a context without one."""
    return nullcontext() if path is None else Draft(path)


def show(sheets: Sequence[Sheet]):
    """Print tables, then their notes once each."""
    out = standard_output()
    notes: dict[str, Any] = {}
    for sheet in sheets:
        out.print(sheet.printed())
        notes |= dict.fromkeys(sheet.notes)
    for note in notes:
        out.print(note)
