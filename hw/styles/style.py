"""Description of a style, from which core, cluster, headers, reports and traces derive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.lib import data

from ..config import TensorBlockConfig
from ..emit.shared_block import SharedBlock
from ..isa.memory_map import UNIT_REGISTERS, Register

__all__ = ["MatrixStyle", "TensorStyle", "UnitCounter"]


@dataclass(frozen=True, kw_only=True)
class UnitCounter:
    """A counter of a style's unit; those of tensor units count the events of all cores.

    Parameters
    ----------
    name : str
        Name of the counter; ``matrix_`` at its start stands for a matrix unit.
    event : str
        Event in the unit's `events`, dotted if nested; one bit per cycle.
    meaning : str
        The quantity counted since reset.
    track : str
        Track of the unit in timelines.
    label : str
        Short name in timelines and reports.
    colour : str
        Name of its colour in timelines.
    loss : str or None
        Meaning of its cycles in reports, if they are a loss that reports account for.

    """

    name: str
    event: str
    meaning: str
    track: str
    label: str
    colour: str
    loss: str | None = None

    @property
    def key(self) -> str:
        """Name without the unit, as in results."""
        return self.name.removeprefix("matrix_")

    def name_in(self, unit: str) -> str:
        """Return the name of the counter of a unit, ``matrix`` or ``matrix1`` and so on."""
        return self.name if unit == "matrix" else f"{unit}_{self.key}"


@dataclass(frozen=True, kw_only=True)
class MatrixStyle:
    """A kind of matrix unit.

    Parameters
    ----------
    name : str
        Name in descriptions of a machine.
    component : callable
        ``component(config)``: the unit of a `MatrixUnitConfig`, with `unit_members`.
    registers : dict of str to Register
        Its registers, with at least `UNIT_REGISTERS`.
    operations : callable
        ``operations(matrix)``: names of the operations of a command word, by code, for a config of
        the kind.
    counters : tuple of UnitCounter
        The first counts the cycles in which the unit multiplies.
    groups : dict of str to tuple of str
        Classes of its blocks, by group in tables of area.

    """

    name: str
    component: Callable[[Any], SharedBlock]
    registers: dict[str, Register]
    operations: Callable[[Any], dict[int, str]]
    counters: tuple[UnitCounter, ...]
    groups: dict[str, tuple[str, ...]]

    def __post_init__(self):
        if not UNIT_REGISTERS.items() <= self.registers.items():
            raise ValueError("registers must hold UNIT_REGISTERS at their offsets")

    @property
    def losses(self) -> list[UnitCounter]:
        """The counters of cycles that are a loss."""
        return [counter for counter in self.counters if counter.loss is not None]

    @property
    def active(self) -> UnitCounter:
        """The counter of cycles in which the unit multiplies."""
        return self.counters[0]


@dataclass(frozen=True, kw_only=True)
class TensorStyle:
    """A style of tensor units.

    Parameters
    ----------
    name : str
        Name of the style, that of its folders.
    component : callable
        ``component(config)``: the unit of a `TensorBlockConfig`. It has the ports ``i``, ``o`` and
        ``released`` of an execution unit, ``events``, one port for each of `reads` of its config,
        and with any of those a stream ``fault`` of memory faults.
    events : StructLayout
        Events of a cycle, a bit each; ``active`` counts the cycles in which the unit multiplies.
    counters : tuple of UnitCounter
        Events that have a counter in the cluster; the first is that of ``active``. Without any,
        monitors show the unit by its event ``active``.
    classes : tuple of str
        Classes of its blocks in the group of tensor units in tables of area.
    manual : str
        Place of its data path in the manual.

    """

    name: str
    component: Callable[[TensorBlockConfig], Any]
    events: data.StructLayout
    counters: tuple[UnitCounter, ...] = ()
    classes: tuple[str, ...] = ()
    manual: str
