"""Parts of a design with the clock domains of their instances, from RTLIL without synthesis."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from ..hw.base.build_cache import digest
from ..hw.config import ClusterConfig
from ..hw.emit.shared_block import describe
from .blocks import TOP, Block, modules_of
from .cache import cached, source_key
from .design import Design, cluster_design
from .groups import group_of
from .measure import OTHER

__all__ = ["ClockedPart", "Place", "block_digest", "clocked_parts", "cluster_parts"]

CELL = re.compile(r"^  cell \\(\S+) \\\S+\n((?:    .*\n)*?)  end$", re.MULTILINE)
CLOCK = re.compile(r"^    connect \\(\S*clk) \\(\S+)(?: \[0\])?$", re.MULTILINE)
#: Port of the clock of a block, the same in every block.
OWN = "clk"


@dataclass(frozen=True, order=True)
class Place:
    """Clock domain of an instance.

    Parameters
    ----------
    domain : str
        Domain of its clock, or of the nearest block above that has one.
    is_clocked : bool
        Whether it has a clock of its own.

    """

    domain: str
    is_clocked: bool


@dataclass(frozen=True, kw_only=True)
class ClockedPart:
    """Instances of a block that belong to one group, by clock domain.

    Parameters
    ----------
    block, group : str
        As in `energy.sampling.Part`.
    kind : str or None
        Class of the block, if known.
    digest : str
        Hash of the block's RTLIL without the names of its children.
    size : int
        Characters of this RTLIL.
    places : Counter of Place
        Number of instances by clock domain.

    """

    block: str
    group: str
    kind: str | None
    digest: str
    size: int
    places: Counter[Place] = field(default_factory=Counter)

    @property
    def instances(self) -> int:
        """Number of all instances."""
        return self.places.total()


@dataclass(frozen=True)
class Cell:
    """Instance of a module in a module.

    Parameters
    ----------
    module : str
        Module, without RTLIL's backslash.
    clocks : mapping of str to str
        Net at each clock port.

    """

    module: str
    clocks: Mapping[str, str]


def block_digest(block: Block) -> str:
    """Return the hash of a block's RTLIL, the same on every machine."""
    return digest([block.text])


def clocked_parts(design: Design) -> list[ClockedPart]:
    """Return all instances of a design by block and group, parents first."""
    modules = {name: cells_of(block) for name, block in design.blocks.items()}
    found: dict[tuple[str, str], ClockedPart] = {}

    def place(name: str, above: str, domain: str, nets: Mapping[str, str]):
        block = design.blocks[name]
        group = group_of(block.kind) or above
        if (name, group) not in found:
            found[name, group] = ClockedPart(
                block=name,
                group=group,
                kind=block.kind,
                digest=block_digest(block),
                size=len(block.text),
            )
        own = nets.get(OWN)
        domain = domain if own is None else own
        found[name, group].places[Place(domain, own is not None)] += 1
        for child, below in children_of(modules[name], TOP, nets):
            place(block.names[child], group, domain, below)

    top = {port: domain_of(port) for port in clock_inputs(design.blocks[design.top])}
    place(design.top, OTHER, domain_of(OWN), top)
    return list(found.values())


def cells_of(block: Block) -> dict[str, list[Cell]]:
    """Return the instances in each module of a block."""
    return {
        name: [Cell(found[1], dict(CLOCK.findall(found[2]))) for found in CELL.finditer(text)]
        for name, text in modules_of(block.text).items()
    }


def children_of(
    modules: Mapping[str, list[Cell]], module: str, nets: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield each other block in a module and below, with the domains of its clock ports."""
    for cell in modules[module]:
        below = {port: nets[net] for port, net in cell.clocks.items() if net in nets}
        if cell.module == TOP or cell.module.startswith(f"{TOP}."):
            yield from children_of(modules, cell.module, below)
        else:
            yield cell.module, below


def clock_inputs(block: Block) -> list[str]:
    """Return the clock ports of a block."""
    return re.findall(r"^  wire .*\binput \d+ +\\(\S*clk)$", modules_of(block.text)[TOP], re.M)


def domain_of(port: str) -> str:
    """Return the domain of a clock port of the top, by `hw.emit.emitter.domain_ports`."""
    return "sync" if port == OWN else port.removesuffix(f"_{OWN}")


def cluster_parts(config: ClusterConfig, name: str) -> list[ClockedPart]:
    """Return the parts of a cluster, from the cache if it was elaborated before."""
    rooms = Path(__file__).parents[1]
    sources = [source_key(rooms / room) for room in ("hw", "synth")]
    key = digest([version("amaranth"), *sources, describe(config), name])
    return cached("parts", key, lambda: clocked_parts(cluster_design(config, name)))
