"""``spica run``: run of one kernel or program on one machine, with check and report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ..hw.base.errors import UserError
from ..hw.config import MachineConfig
from ..hw.config.rtl_support import require_rtl
from ..kernels.attention.data import KINDS as ATTENTION_KINDS
from ..kernels.gemm.data import KINDS
from ..kernels.gemm.styles import style_of
from ..kernels.gemm.target import is_on_tensor_units
from ..sim.run.drivers import (
    ATTENTION,
    DIMENSIONS,
    HOST_KERNEL,
    TENSOR_KERNELS,
    USUAL,
    is_on_cores,
    require_matrix_cores,
    usual_preset,
)
from ..sim.run.exact_kernels import EXACT_KERNELS, kernel_of
from ..sim.run.loading import is_file_name
from ..sim.run.options import MODEL, RunOptions, SimtOptions
from ..sim.run.product_workload import ProductWorkload
from ..sim.run.program_workload import KernelWorkload, ProgramWorkload
from ..sim.run.workload import Workload
from .arguments import inputs_with, kernel_with
from .catalog import ENGINES, kernel_names, list_runs
from .execution import carry_out, energy_run
from .files import parsed_dumps
from .options import choose, configured
from .run_options import (
    DRIVERS,
    Only,
    Options,
    host_options,
    require_product_choices,
    simt_options,
)
from .saving import command_of, saved_to
from .sizes import chosen_sizes, require_at_least

__all__ = ["run"]


#: Options of a command line that has none.
DEFAULTS = Options()


def run(
    kernel: str | None = None,
    /,
    *files: str,
    options: Annotated[Options, Parameter(name="*")] = DEFAULTS,
) -> int:
    """Run a kernel or a program, check it, and report cycles, utilisation and losses.

    Without a kernel, list what can be run. A kernel alone runs on a preset and a size that suit it.
    Exit code 0 if the check passes, or if the program's own exit code is 0; otherwise 1, also if
    the machine faults or hangs.

    Parameters
    ----------
    kernel
        Kernel of `spica list`, or a file: C, C++, assembly or ELF.
    files
        Further files of the same program.

    """
    if kernel is None:
        list_runs()
        return 0
    if not is_file_name(kernel):
        choose("kernel", kernel, kernel_names())
    choose("--engine", options.engine, ENGINES)
    if not options.preset:
        options = replace(options, preset=usual_preset(kernel))
    config = configured(options.preset, options.settings)
    require_at_least(0, {"--seed": options.seed})
    if options.driver is not None:
        choose("--driver", options.driver, DRIVERS)
    work, settings = chosen(kernel, files, config, options)
    execute = energy_run(options, config, settings)
    with saved_to(options, command_of(kernel, files, options)) as saving:
        return carry_out(
            work,
            options.preset,
            config,
            replace(settings, saving=saving),
            options.json,
            parsed_dumps(options.dump),
            execute,
        )


def chosen(
    kernel: str, files: Sequence[str], config: MachineConfig, options: Options
) -> tuple[Workload, RunOptions]:
    """Return the workload that the options select, and the options of its run."""
    on_matrix = kernel in EXACT_KERNELS
    is_finished = on_matrix and kernel not in TENSOR_KERNELS
    if is_finished and is_on_tensor_units(config):
        require_matrix_cores(kernel, options.preset, config)
    elif on_matrix and options.arrange is not None and not style_of(config, kernel).arrangements:
        raise UserError(
            f"--arrange does not apply to {kernel} without tensor units fed by registers; "
            "leave it out"
        )
    if kernel == ATTENTION and options.driver == "host":
        raise UserError(f"{kernel} needs --driver cores: the host cannot compute a softmax")
    on_cores = on_matrix and is_on_cores(options.driver, options.preset, config)
    if kernel == HOST_KERNEL and not on_cores:
        return host_product(files, config, options)
    if on_matrix and not on_cores:
        require_matrix_cores(kernel, options.preset, config)
        raise UserError(f"{kernel} needs --driver cores: the host cannot finish C")
    return cores_work(kernel, files, config, options)


def host_product(
    files: Sequence[str], config: MachineConfig, options: Options
) -> tuple[Workload, RunOptions]:
    """Return the product that a host commands."""
    what = f"{HOST_KERNEL} driven by a host"
    if options.engine == MODEL:
        raise UserError(
            f"{what} does not run on engine {options.engine}; choose --engine verilator or amaranth"
        )
    options.refuse(what, Only.SIMPLE_MEMORY, Only.CORES, Only.MODEL, Only.PROGRAMS)
    options.refuse(what, Only.ATTENTION, Only.OWN)
    refuse_files(files)
    settings = host_options(options)
    sizes = chosen_sizes(DIMENSIONS, options.size, options.single_sizes, USUAL)
    require_rtl(config)
    return ProductWorkload(**sizes, **options.product), settings


def cores_work(
    kernel: str, files: Sequence[str], config: MachineConfig, options: Options
) -> tuple[Workload, SimtOptions]:
    """Return the kernel or the program that the cores run."""
    on_matrix, is_own = kernel in EXACT_KERNELS, is_file_name(kernel)
    if on_matrix:
        require_product_choices(options, ATTENTION_KINDS if kernel == ATTENTION else KINDS)
        options.refuse(f"{kernel}, which runs on the whole cluster with DRAM", Only.SIMPLE_MEMORY)
    on_model = (Only.RTL, Only.SIMPLE_MEMORY, Only.CORES, Only.DRAM)
    what = f"{kernel} on engine {options.engine}"
    if options.engine != MODEL:
        options.refuse(what, Only.MODEL, instead=f"--engine {MODEL}")
    options.refuse(
        what,
        *(on_model if options.engine == MODEL else ()),
        *(() if on_matrix else (Only.MATRIX,)),
        *(() if on_matrix and kernel != ATTENTION else (Only.PRODUCT,)),
        *(() if kernel == ATTENTION else (Only.ATTENTION,)),
        *((Only.KERNELS,) if is_own else (Only.OWN,) if on_matrix else ()),
    )
    if is_own:
        return own_work((kernel, *files), options)
    refuse_files(files)
    settings = simt_options(options)
    found = kernel_of(kernel, config, options.product if on_matrix else {})
    usual = found.usual or USUAL
    if options.arg and options.size is None and not any(options.single_sizes.values()):
        return KernelWorkload(found, *inputs_with(found, options.arg, {})), settings
    sizes = chosen_sizes(found.dimensions, options.size, options.single_sizes, usual)
    sizes |= options.attention_sizes
    arrays = inputs_with(found, options.arg, sizes)[1] if options.arg else None
    return KernelWorkload(found, sizes, arrays), settings


def own_work(files: Sequence[str], options: Options) -> tuple[Workload, SimtOptions]:
    """Return an own program, with its arguments if any are given."""
    settings = simt_options(options)
    if not options.arg:
        return ProgramWorkload([Path(name) for name in files]), settings
    settings = replace(settings, allow_spills=True)  # its code is the user's
    return KernelWorkload(kernel_with(files, options.arg), {}), settings


def refuse_files(files: Sequence[str]):
    """Raise if a file is given beside a kernel."""
    if files:
        raise UserError(f"a kernel runs without further files; leave out {files[0]}")
