"""Driver of a matrix unit in a run: a program on the cores, or a host."""

from ...base.errors import UserError
from ...hw.config import MachineConfig
from ...hw.presets import PRESETS
from ...kernels.attention import cores as attention
from ...kernels.gemm.target import is_on_tensor_units
from .exact_kernels import EXACT_KERNELS

__all__ = [
    "ATTENTION",
    "DIMENSIONS",
    "DRIVERS",
    "HOST_KERNEL",
    "TENSOR_KERNELS",
    "USUAL",
    "is_on_cores",
    "require_matrix_cores",
    "usual_preset",
    "usual_sizes",
]

DRIVERS = ("cores", "host")
#: Kernel that a host may command, and the dimensions of a product.
HOST_KERNEL = "gemm"
DIMENSIONS = ("m", "n", "k")
#: Sizes of a product that is not given any.
USUAL = (256, 256, 256)
#: Kernel of attention, and kernels that run on tensor units too.
ATTENTION = "attention"
TENSOR_KERNELS = (HOST_KERNEL, ATTENTION)


#: Presets of kernels and programs that are not given any; those of matrix units need one.
USUAL_PRESET, USUAL_PRESETS = "core", {"gemm_pair": "virgo_hetero"}
MATRIX_PRESET = "virgo"


def usual_preset(kernel: str) -> str:
    """Return the preset of a kernel or a program that is not given any."""
    if kernel in EXACT_KERNELS:
        return USUAL_PRESETS.get(kernel, MATRIX_PRESET)
    return USUAL_PRESET


def usual_sizes(kernel: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the dimensions of a kernel of `EXACT_KERNELS`, and the sizes if none is given."""
    return (attention.DIMENSIONS, attention.USUAL) if kernel == ATTENTION else (DIMENSIONS, USUAL)


def is_on_cores(driver: str | None, preset: str, config: MachineConfig) -> bool:
    """Return whether a product is a program on the cores.

    Parameters
    ----------
    driver : str or None
        ``cores`` or ``host``; None for the cores, if they have tensor units or a matrix unit.
    preset : str
        Name of the machine, for messages.
    config : MachineConfig
        The machine.

    Raises
    ------
    UserError
        If the driver is ``cores`` and the machine lacks cores or a matrix unit.

    """
    if is_on_tensor_units(config):
        return driver != "host"
    if driver == "cores":
        require_matrix_cores("--driver cores", preset, config)
    return bool(config.cores and config.units) and driver != "host"


def require_matrix_cores(what: str, preset: str, config: MachineConfig):
    """Raise unless a machine has cores and a matrix unit."""
    missing = [
        name for name, part in (("cores", config.cores), ("matrix unit", config.units)) if not part
    ]
    if missing:
        able = [name for name, known in PRESETS.items() if known.cores and known.units]
        raise UserError(
            f"{what} needs cores and a matrix unit, and {preset} has no "
            f"{' and no '.join(missing)}; choose one of {', '.join(able)}"
        )
