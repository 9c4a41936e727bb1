"""What flows between a core and the memories of its cluster."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2, exact_log2

from ..config import WORD_BYTES, ClusterConfig, CoreConfig
from ..core.layouts import data_request_layout, warp_shape
from ..core.operations import Port

__all__ = [
    "Target",
    "answer_layout",
    "core_id_width",
    "core_of",
    "group_layout",
    "lanes_of",
    "line_layout",
    "place_width",
    "read_layout",
    "write_layout",
]


class Target(enum.Enum, shape=3):
    """Who serves an access."""

    NONE = 0  #: nobody: there is nothing at the address, or nothing of this kind
    DRAM = 1
    SHARED = 2
    CONSOLE = 3
    FORGOTTEN = 4  #: stores are taken and not kept


def core_of(config: ClusterConfig) -> CoreConfig:
    """Return the config of the cores of a cluster that has some."""
    if config.core is None:
        raise ValueError("cores must be at least 1 to have memory, not 0")
    return config.core


def lanes_of(config: ClusterConfig) -> int:
    """Return the threads of one data request."""
    return core_of(config).lanes(Port.MEMORY.name)


def place_width(config: ClusterConfig) -> int:
    """Bits of a word's number, in its beat and in shared memory."""
    in_beat = exact_log2(config.axi.beat_bytes // WORD_BYTES)
    return max(in_beat, config.shared.address_width - exact_log2(WORD_BYTES))


def group_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of the lanes of a request that are served together, all by ``target``.

    ``beat`` is the address of all of them in beats where they go to DRAM; ``places`` are the low
    bits of their addresses, in words.
    """
    lanes = lanes_of(config)
    request = data_request_layout(core_of(config)).members
    return data.StructLayout({
        **{name: request[name] for name in ("tag", "is_store", "data", "strobes")},
        "target": Target,
        "lanes": lanes,
        "beat": 32 - exact_log2(config.axi.beat_bytes),
        "places": data.ArrayLayout(place_width(config), lanes),
    })


def id_width(config: ClusterConfig) -> int:
    """Bits that name a read of instructions, or one of data, of one core."""
    core = core_of(config)
    return max(1 + warp_shape(core), exact_log2(core.transactions))


def core_id_width(config: ClusterConfig) -> int:
    """Bits of the ids of a core's transactions: those of its two sides, and which side it is."""
    return 1 + id_width(config)


def read_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of a read of one beat; its id comes back with it."""
    return data.StructLayout({
        "id": id_width(config),
        "beat": 32 - exact_log2(config.axi.beat_bytes),
    })


def line_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of a beat that was read, or of the reason why there is none."""
    return data.StructLayout({
        "id": id_width(config),
        "data": config.axi.data_width,
        "error": 1,
    })


def write_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of a write of one beat's bytes that have a bit in ``strobes``."""
    return data.StructLayout({
        "beat": 32 - exact_log2(config.axi.beat_bytes),
        "data": config.axi.data_width,
        "strobes": config.axi.beat_bytes,
    })


def answer_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of what came of a transaction of a core's data: with a beat if it was a read."""
    return data.StructLayout({
        "entry": ceil_log2(core_of(config).transactions),
        "data": config.axi.data_width,
        "error": 1,
    })
