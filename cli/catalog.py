"""``spica list``: presets, kernels, engines, versions."""

import importlib

from .. import kernels
from ..hw.config import ARRAYS, MachineConfig
from ..hw.presets import PRESETS
from ..kernels.kernel import find_kernel
from ..sim.engine.versions import versions
from ..sim.run.drivers import TENSOR_KERNELS, usual_preset, usual_sizes
from ..sim.run.exact_kernels import EXACT_KERNELS, kernel_names
from ..sim.run.options import ENGINES
from .options import JsonOption, JsonOutput, new_table, standard_output

__all__ = ["ENGINES", "kernel_names", "list_all", "list_runs"]


def kernel_summary(name: str) -> dict[str, str]:
    """Return a kernel's description, its dimensions in the order of ``--size``, and its units."""
    module = importlib.import_module(f"{kernels.__name__}.{name}")
    on_matrix = name in EXACT_KERNELS
    kernel = None if on_matrix else find_kernel(name)
    dimensions, usual = (kernel.dimensions, kernel.usual) if kernel else usual_sizes(name)
    where = "matrix or tensor units" if name in TENSOR_KERNELS else "cores and matrix unit"
    return {
        "description": (module.__doc__ or "").strip().partition("\n")[0],
        "size": " x ".join(dimensions),
        "default": "x".join(map(str, usual)),
        "runs on": where if on_matrix else "cores",
        "default preset": usual_preset(name),
    }


def preset_summary(config: MachineConfig) -> dict[str, str]:
    """Return the main parameters of a preset."""
    shared, axi, core, tensor = config.shared, config.axi, config.core, config.tensor
    units = [unit.summary for unit in config.units]
    macs = sum(unit.macs for unit in config.units)
    if tensor is not None:
        units.append(f"{config.cores} tensor units, {tensor.operand}")
        macs += config.cores * tensor.macs
    return {
        "cores": "none"
        if core is None
        else f"{config.cores} x {core.warps} warps x {core.threads} threads",
        "matrix unit": " and ".join(units) or "none",
        "MAC/cycle": str(macs),
        "shared memory": f"{shared.size // 1024} KB, {shared.banks}x{shared.subbanks} banks",
        "DRAM ports": f"{axi.masters} x {axi.data_width} bits"
        + (", no DMA" if config.dma is None else ""),
    }


def list_all(*, json: JsonOption = None):
    """List presets, kernels, engines and versions."""
    presets = {name: preset_summary(config) for name, config in PRESETS.items()}
    arrays = {
        name: f"{matrix.rows}x{matrix.columns} {matrix.operand}; only for spica fpga"
        for name, matrix in ARRAYS.items()
    }
    summaries = {name: kernel_summary(name) for name in kernel_names()}
    result = {
        "presets": presets,
        "arrays": arrays,
        "kernels": summaries,
        "engines": ENGINES,
        "versions": versions(),
    }
    with JsonOutput(json) as output:
        if not output.write(result):
            return
    out = standard_output()
    show("Presets", "preset", presets)
    out.print()
    show("Kernels", "kernel", summaries)
    for title, rows in (("Arrays", arrays), ("Engines", ENGINES), ("Versions", versions())):
        table = new_table(title, "", "")
        for name, text in rows.items():
            table.add_row(name, text)
        out.print()
        out.print(table)


def list_runs():
    """List what can be run, and how."""
    show("Kernels", "kernel", {name: kernel_summary(name) for name in kernel_names()})
    out = standard_output()
    out.print()
    show("Presets", "preset", {name: preset_summary(config) for name, config in PRESETS.items()})
    for line in (
        "spica run vecadd                             a kernel, on its default preset and size",
        "spica run gemm --preset ampere --size 512    on another machine, of another size",
        "spica run program.c --preset tiny            your own program",
        "spica run --help                             all options",
    ):
        out.print()
        out.print(line, markup=False, end="")
    out.print()


def show(title: str, first: str, rows: dict[str, dict[str, str]]):
    """Print a table of summaries by name."""
    table = new_table(title, first, *next(iter(rows.values())))
    for name, summary in rows.items():
        table.add_row(name, *summary.values())
    standard_output().print(table)
