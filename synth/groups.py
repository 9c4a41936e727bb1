"""Groups of blocks for reports: names of a cluster's parts, and the classes in each."""

from collections.abc import Mapping

__all__ = ["CONTAINERS", "GROUPS", "HELPERS", "class_name", "group_of"]

#: Classes by group, in the order of tables. A class has its package in front, since `core.Issue`
#: and `matrix.Issue` are different. A class that is not listed, such as a common helper, belongs to
#: the group of its parent.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "front end": ("core.FrontEnd",),
    "scheduler and scoreboard": (
        "core.Core",
        "core.Issue",
        "core.WarpControl",
        "core.DynamicRounding",
    ),
    "registers and collectors": ("core.RegisterFile", "core.Collectors", "core.Writeback"),
    "INT": ("core.IntegerUnit",),
    "FP32": ("core.Fp32Unit",),
    "divide": ("core.DivideUnit",),
    "SFU": ("core.SpecialUnit",),
    "LSU": (
        "core.LoadStoreUnit",
        "memory.DataMemoryUnit",
        "memory.Coalescer",
        "memory.Transactions",
        "memory.BeatOfLanes",
        "memory.SharedLanes",
        "memory.UnitRegisterPort",
    ),
    "tensor": ("arith.DotProduct",),
    "mesh": ("matrix.WeightStationaryMesh", "matrix.OutputStationaryMesh"),
    "accumulator": ("matrix.Accumulator", "matrix.Drain"),
    "sequencer": (
        "matrix.MatrixUnit",
        "matrix.MatrixArray",
        "matrix.Command",
        "matrix.Sequencer",
    ),
    "shared memory": ("memory.SharedMemory",),
    "DMA": ("memory.Dma",),
    "L1I": ("memory.InstructionCache",),
    "L1D": ("memory.DataCache",),
    "L2": ("memory.L2Slice",),
    "interconnect": (
        "memory.MemoryUnit",
        "memory.LineMasters",
        "lib.AxiMux",
        "cluster.UnitRegisterBus",
    ),
    "control": (
        "cluster.Cluster",
        "cluster.Control",
        "cluster.RunControl",
        "cluster.ClusterBarrier",
        "core.CoreCounters",
    ),
}

#: Classes that contain parts of several groups: every direct child has a group of its own or is a
#: helper.
CONTAINERS = (
    "cluster.Cluster",
    "core.Core",
    "matrix.MatrixUnit",
    "matrix.MatrixArray",
    "memory.MemoryUnit",
    "memory.DataMemoryUnit",
)
HELPERS = ("lib.Queue", "lib.SkidBuffer", "lib.Merge")

_GROUPS = {name: group for group, names in GROUPS.items() for name in names}


def class_name(kind: type) -> str:
    """Return the name of a class in the form of `GROUPS`."""
    room, _, path = kind.__module__.partition(".hw.")
    package = path.partition(".")[0] + "." if room and "." in path else ""
    return package + kind.__name__


def group_of(name: str | None) -> str | None:
    """Return the group of a class by its name in `GROUPS`; None if it has none of its own."""
    return None if name is None else _GROUPS.get(name)
