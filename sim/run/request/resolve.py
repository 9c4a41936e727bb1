"""Decision about a run: driver, kernel or program, sizes, data and options of a request."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.config.rtl_support import require_rtl
from ....kernels.attention.data import KINDS as ATTENTION_KINDS
from ....kernels.gemm.data import KINDS
from ....kernels.gemm.styles import style_of
from ....kernels.gemm.target import is_on_tensor_units, systolic_unit
from ....kernels.kernel import Kernel
from ..drivers import (
    ATTENTION,
    DIMENSIONS,
    HOST_KERNEL,
    TENSOR_KERNELS,
    USUAL,
    is_on_cores,
    require_matrix_cores,
    usual_preset,
)
from ..exact_kernels import EXACT_KERNELS, kernel_of
from ..inputs.arguments import inputs_with, kernel_with
from ..inputs.kernel_inputs import inputs_of
from ..inputs.own_programs import own_kernel
from ..loading import is_file_name, require_cores
from ..options import MODEL
from .choices import flag_of, given, require_at_least
from .energy import energy_of
from .machine import changed, configured
from .request import Only, Request
from .run import Run
from .run_options import (
    host_options,
    require_known_values,
    require_product_choices,
    simt_options,
)
from .sizes import chosen_sizes, named_sizes

__all__ = ["resolve", "resolve_machine"]

#: Sizes of attention besides its dimensions.
ATTENTION_SIZES = ("keys", "heads", "kv_heads", "batch")


def resolve(request: Request) -> Run:
    """Return the run that a request stands for; raise `UserError` if there is none.

    Nothing is built. The machine may still refuse the sizes when the problem is posed.
    """
    run = work_of(request)
    return replace(run, energy=energy_of(request, run.config, run.options))


def resolve_machine(request: Request) -> tuple[MachineConfig, bool]:
    """Return the config of a machine for runs to come, and whether its cores drive products.

    Raise `UserError` if nothing could run on the machine with the engine and the driver.
    """
    require_known_values(request)
    config, driver = machine_of(request), request.driver
    if driver == "cores" and not config.cores:
        raise UserError(f"driver cores needs a machine with cores; {request.preset} has none")
    if request.engine == MODEL and (driver == "host" or not config.cores):
        raise UserError(f"engine {MODEL} needs a machine with cores, and driver cores or None")
    return config, bool(config.cores) and driver != "host"


def work_of(request: Request) -> Run:
    """Return the run of a request, without its energy."""
    require_known_values(request)
    kernel = request.kernel
    request = replace(request, preset=request.preset or usual_preset(str(kernel)))
    config = machine_of(request)
    require_driver(request, config)
    on_matrix = kernel in EXACT_KERNELS
    on_cores = on_matrix and is_on_cores(request.driver, request.preset, config)
    if kernel == HOST_KERNEL and not on_cores:
        return host_run(request, config)
    if on_matrix and not on_cores:
        require_matrix_cores(str(kernel), request.preset, config)
        raise UserError(f"{kernel} needs --driver cores: the host cannot finish C")
    return cores_run(request, config)


def machine_of(request: Request) -> MachineConfig:
    """Return the config of the machine of a request."""
    if request.config is None:
        return configured(request.preset, request.settings)
    return changed(request.config, request.settings)


def require_driver(request: Request, config: MachineConfig):
    """Raise unless the machine runs one program and its driver and units can compute a kernel."""
    if config.clusters > 1:
        raise UserError(
            f"clusters must be 1 for a run, which starts one program, not {config.clusters}: "
            "ProgramMachine.run starts a program on each cluster"
        )
    kernel = str(request.kernel)
    is_arranged = request.arrange is not None
    if kernel in EXACT_KERNELS and kernel not in TENSOR_KERNELS and is_on_tensor_units(config):
        require_matrix_cores(kernel, request.preset, config)
    elif kernel in EXACT_KERNELS and is_arranged and not style_of(config, kernel).arrangements:
        raise UserError(
            f"--arrange does not apply to {kernel} without tensor units fed by registers; "
            "leave it out"
        )
    if kernel == ATTENTION and request.driver == "host":
        raise UserError(f"{kernel} needs --driver cores: the host cannot compute a softmax")


def host_run(request: Request, config: MachineConfig) -> Run:
    """Return the run of a product that a host commands."""
    subject = f"{HOST_KERNEL} driven by a host"
    systolic_unit(config, HOST_KERNEL)
    if request.engine == MODEL:
        raise UserError(
            f"{subject} does not run on engine {MODEL}; choose --engine verilator or amaranth"
        )
    request.refuse(subject, Only.SIMPLE_MEMORY, Only.CORES, Only.MODEL, Only.PROGRAMS)
    request.refuse(subject, Only.ATTENTION, Only.OWN)
    refuse_files(request)
    options = host_options(request)
    if request.sizes is None:
        sizes = chosen_sizes(DIMENSIONS, request.size, request.single_sizes, USUAL)
    else:
        sizes = named_sizes(HOST_KERNEL, DIMENSIONS, request.sizes)
    require_rtl(config, config.clusters)
    return Run(
        kernel=HOST_KERNEL,
        driver="host",
        preset=request.preset,
        config=config,
        sizes=sizes,
        product=product_of(request),
        options=options,
    )


def cores_run(request: Request, config: MachineConfig) -> Run:
    """Return the run of a kernel or a program on the cores."""
    require_applicable(request)
    options = simt_options(request)
    require_cores(Path(request.kernel).name, request.preset, config)
    run = Run(
        kernel=str(request.kernel),
        driver="cores",
        preset=request.preset,
        config=config,
        options=options,
    )
    if not is_file_name(request.kernel):
        refuse_files(request)
        return replace(run, **data_of_kernel(request, config))
    files = (request.kernel, *request.files)
    if request.args is None and not request.arg:
        return replace(run, files=tuple(map(Path, files)))
    if request.args is None:
        own = kernel_with(files, request.arg)
    else:
        own = own_kernel(files, request.args, request.expect, rtol=request.rtol, atol=request.atol)
    # Its code is the user's, who may spill.
    return replace(run, own=own, options=replace(options, allow_spills=True))


def require_applicable(request: Request):
    """Raise if an option is given that does not apply to the kernel or program on its engine."""
    kernel, is_own = request.kernel, is_file_name(request.kernel)
    on_matrix = kernel in EXACT_KERNELS
    if on_matrix:
        require_product_choices(request, ATTENTION_KINDS if kernel == ATTENTION else KINDS)
        request.refuse(f"{kernel}, which runs on the whole cluster with DRAM", Only.SIMPLE_MEMORY)
    on_model = (Only.RTL, Only.SIMPLE_MEMORY, Only.CORES, Only.DRAM)
    subject = f"{kernel} on engine {request.engine}"
    if request.engine != MODEL:
        request.refuse(subject, Only.MODEL, instead=f"--engine {MODEL}")
    request.refuse(
        subject,
        *(on_model if request.engine == MODEL else ()),
        *(() if on_matrix else (Only.MATRIX,)),
        *(() if on_matrix and kernel != ATTENTION else (Only.PRODUCT,)),
        *(() if kernel == ATTENTION else (Only.ATTENTION,)),
        *((Only.KERNELS,) if is_own else (Only.OWN,) if on_matrix else ()),
    )


def data_of_kernel(request: Request, config: MachineConfig) -> dict[str, Any]:
    """Return sizes, options of the product, and arrays in place of generated inputs, of a run."""
    on_matrix = request.kernel in EXACT_KERNELS
    product = product_of(request) if on_matrix else {}
    kernel = kernel_of(str(request.kernel), config, product)
    if request.sizes is not None:
        if not kernel.inputs:
            further = ATTENTION_SIZES if request.kernel == ATTENTION else ()
            sizes = named_sizes(kernel.name, kernel.dimensions, request.sizes, further)
            return {"sizes": sizes, "product": product}
        sizes, arrays = inputs_of(kernel, request.sizes)
    elif request.arg and request.size is None and not any(request.single_sizes.values()):
        sizes, arrays = inputs_with(kernel, request.arg, {})
    else:
        sizes = sizes_of(request, kernel)
        arrays = inputs_with(kernel, request.arg, sizes)[1] if request.arg else {}
    return {"sizes": sizes, "product": product, "arrays": arrays}


def sizes_of(request: Request, kernel: Kernel) -> dict[str, int]:
    """Return the sizes of a kernel from options, those of attention with further ones."""
    usual = kernel.usual or USUAL
    sizes = chosen_sizes(kernel.dimensions, request.size, request.single_sizes, usual)
    further = given(**{name: getattr(request, name) for name in ATTENTION_SIZES})
    require_at_least(1, {flag_of(name): size for name, size in further.items()})
    return sizes | further


def product_of(request: Request) -> dict[str, Any]:
    """Return the given options of the data of a product or of attention."""
    options = given(
        data=request.data,
        c_format=request.c,
        arrangement=request.arrange,
        causal=request.causal,
        scale=request.scale,
    )
    return {**options, **request.problem}


def refuse_files(request: Request):
    """Raise if a file is given beside a kernel."""
    if request.files:
        raise UserError(f"a kernel runs without further files; leave out {request.files[0]}")
