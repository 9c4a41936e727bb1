"""Groups of blocks for reports: names of a cluster's parts, and the classes in each."""

from collections.abc import Mapping

from ..hw.core.units.execution_units import UNITS
from ..hw.isa.operations import PORTS, Port
from ..hw.styles.registry import MATRIX_STYLES, TENSOR_STYLES

__all__ = ["CONTAINERS", "GROUPS", "HELPERS", "group_of"]

#: Other classes that belong to the unit of a port.
OUTSIDE: Mapping[Port, tuple[str, ...]] = {
    Port.MEMORY: (
        "DataMemoryUnit",
        "Coalescer",
        "Transactions",
        "SharedLanes",
        "UnitRegisterPort",
        "RemotePort",
    ),
}
#: Classes of all tensor units, of any style.
TENSOR = ("DotProduct", *(name for style in TENSOR_STYLES.values() for name in style.classes))

#: Classes by group, in the order of tables. A class that is not listed, such as a common helper,
#: belongs to the group of its parent.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "front end": ("FrontEnd",),
    "scheduler and scoreboard": (
        "Core",
        "Issue",
        "WarpControl",
    ),
    "registers and collectors": ("RegisterFile", "Collectors", "Writeback"),
    **{
        PORTS[port].label or port.name: (unit.__name__, *OUTSIDE.get(port, ()))
        for port, unit in UNITS.items()
    },
    PORTS[Port.TENSOR].label or "": TENSOR,
    **{group: classes for kind in MATRIX_STYLES.values() for group, classes in kind.groups.items()},
    "shared memory": ("SharedMemory",),
    "DMA": ("Dma",),
    "L1I": ("InstructionCache",),
    "L1D": ("DataCache",),
    "L2": ("L2Slice",),
    "interconnect": (
        "MemoryUnit",
        "LineMasters",
        "AxiMux",
        "UnitRegisterBus",
        "ClusterNetwork",
    ),
    "control": (
        "Machine",
        "Cluster",
        "Control",
        "RunControl",
        "ClusterBarrier",
        "SleepCounter",
        "ClockControl",
        "CoreCounters",
    ),
}

#: Classes that contain parts of several groups: every direct child has a group of its own or is a
#: helper.
CONTAINERS = (
    "Machine",
    "Cluster",
    "Core",
    "SystolicUnit",
    "MatrixArray",
    "MemoryUnit",
    "DataMemoryUnit",
)
HELPERS = ("Queue", "SkidBuffer", "Merge")

_GROUPS = {name: group for group, names in GROUPS.items() for name in names}


def group_of(name: str | None) -> str | None:
    """Return the group of a class by its name in `GROUPS`; None if it has none of its own."""
    return None if name is None else _GROUPS.get(name)
