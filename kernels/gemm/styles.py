"""Table of the programs of each style for products, by the class of its config."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...hw.config import MachineConfig, SystolicConfig, TensorUnitConfig, UnitConfig
from ...hw.styles.register_fed.config import RegisterFedConfig
from ...hw.styles.shared_fed.config import SharedFedConfig
from ..kernel import Kernel, Problem
from .cluster_array import cores as cluster_array_cores
from .cluster_array.tiles import program_tiles, unit_constants
from .problem import GemmProblem
from .register_fed import cores as register_fed_cores
from .register_fed import unit as register_fed
from .register_fed.plan import register_fed_plan
from .shared_fed import cores as shared_fed_cores
from .shared_fed import unit as shared_fed
from .shared_fed.plan import shared_fed_plan
from .target import style_in
from .tile import default_tile

__all__ = [
    "ARRANGEMENTS",
    "STYLES",
    "GemmStyle",
    "header_constants",
    "header_sizes",
    "style_of",
    "tile_constants",
]

#: Name, value and meaning of each definition of a header.
Definitions = Iterator[tuple[str, str, str]]


@dataclass(frozen=True, kw_only=True)
class GemmStyle:
    """Programs for the units of a style.

    Parameters
    ----------
    name : str
        Name of the style, that of its folders.
    kernel : callable
        ``kernel(config, posed)``: the kernel ``gemm`` of a machine, or `UserError`.
    pose : callable
        ``pose(config, rng, **options)``: problem and product.
    tile : callable
        ``tile(config)``: rows and columns of the tile of C that the program computes at a time.
    arrangements : tuple of str
        Where operands get the order of fragments, as `pose` calls it; none if they need none.
    depth : callable
        ``depth(config, is_finished)``: elements along K of a command to a matrix unit, in programs
        whose cores finish C and in others.
    tiles : callable
        ``tiles(config, number)``: definitions of the header for a matrix unit of a machine.
    sizes : callable
        ``sizes(unit)``: definitions of the header of machines with a tensor unit of this style.
    constants : mapping of str to int
        Definitions of the headers of all machines.

    """

    name: str
    kernel: Callable[[MachineConfig, Callable[..., Problem]], Kernel]
    pose: Callable[..., tuple[Problem, GemmProblem]]
    tile: Callable[[MachineConfig], tuple[int, int]]
    arrangements: tuple[str, ...] = ()
    depth: Callable[[MachineConfig, bool], int] | None = None
    tiles: Callable[[MachineConfig, int], Definitions] = lambda config, number: iter(())
    sizes: Callable[[Any], Definitions] = lambda unit: iter(())
    constants: Mapping[str, int] = field(default_factory=dict)


STYLES: dict[type[UnitConfig | TensorUnitConfig], GemmStyle] = {
    SystolicConfig: GemmStyle(
        name="cluster_array",
        depth=lambda config, is_finished: program_tiles(config, is_finished=is_finished).k,
        tiles=unit_constants,
        kernel=cluster_array_cores.cluster_array_kernel,
        pose=cluster_array_cores.pose,
        tile=lambda config: default_tile(config)[:2],
    ),
    RegisterFedConfig: GemmStyle(
        name="register_fed",
        kernel=register_fed_cores.register_fed_kernel,
        pose=register_fed_cores.pose,
        tile=lambda config: register_fed_plan(config).shape,
        arrangements=register_fed_cores.ARRANGEMENTS,
        sizes=register_fed.sizes,
    ),
    SharedFedConfig: GemmStyle(
        name="shared_fed",
        kernel=shared_fed_cores.shared_fed_kernel,
        pose=shared_fed_cores.pose,
        tile=lambda config: shared_fed_plan(config).shape,
        sizes=shared_fed.sizes,
        constants=shared_fed.CONSTANTS,
    ),
}


#: Places where operands get the order of fragments, of all styles.
ARRANGEMENTS = tuple(
    dict.fromkeys(place for style in STYLES.values() for place in style.arrangements)
)


def style_of(config: MachineConfig, user: str = "a product") -> GemmStyle:
    """Return the style of the unit on which a machine multiplies matrices, or raise `UserError`."""
    return style_in(STYLES, config, user)


def header_sizes(config: MachineConfig) -> Definitions:
    """Yield the sizes of a machine's tensor units."""
    if config.tensor is not None:
        yield from STYLES[type(config.tensor)].sizes(config.tensor)


def tile_constants(config: MachineConfig) -> Definitions:
    """Yield the definitions of each matrix unit of a machine; none of unknown ones."""
    for number, unit in enumerate(config.units):
        if type(unit) in STYLES:
            yield from STYLES[type(unit)].tiles(config, number)


def header_constants() -> Definitions:
    """Yield the constants of all styles."""
    for style in STYLES.values():
        for name, value in style.constants.items():
            yield name, str(value), ""
