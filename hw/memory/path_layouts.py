"""What flows between a core and the memories of its cluster."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2, exact_log2

from ..address_map import WINDOW_BYTES
from ..config import WORD_BYTES, ClusterConfig, CoreConfig
from ..core.front_layouts import pairs
from ..core.layouts import data_request_layout
from ..core.operations import Port
from .data_cache_layouts import DataCacheConfig, data_cache_events
from .line_miss import MissConfig

__all__ = [
    "PAIR_BYTES",
    "WINDOW_WIDTH",
    "Target",
    "answer_layout",
    "core_id_width",
    "core_of",
    "data_misses",
    "device_layout",
    "group_layout",
    "instruction_cache_events",
    "instruction_misses",
    "lanes_of",
    "line_layout",
    "path_events",
    "place_width",
    "read_layout",
]


#: Bits of a byte address in the window of registers.
WINDOW_WIDTH = exact_log2(WINDOW_BYTES)

#: Bytes of a request for instructions: two words.
PAIR_BYTES = 8


class Target(enum.Enum, shape=3):
    """Who serves an access."""

    NONE = 0  #: nobody: there is nothing at the address, or nothing of this kind
    DRAM = 1
    SHARED = 2
    CONSOLE = 3
    FORGOTTEN = 4  #: stores are taken and not kept
    DEVICE = 5  #: a register of the DMA or of a matrix unit


def core_of(config: ClusterConfig) -> CoreConfig:
    """Return the config of the cores of a cluster that has some."""
    if config.core is None:
        raise ValueError("cores must be at least 1 to have memory, not 0")
    return config.core


def lanes_of(config: ClusterConfig) -> int:
    """Return the threads of one data request."""
    return core_of(config).lanes(Port.MEMORY.name)


def place_width(config: ClusterConfig) -> int:
    """Bits of a word's number, in its beat, in shared memory and in the window of registers."""
    in_beat = exact_log2(config.axi.beat_bytes // WORD_BYTES)
    in_window = max(config.shared.address_width, WINDOW_WIDTH) - exact_log2(WORD_BYTES)
    return max(in_beat, in_window)


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


def device_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of one lane's access to a register: ``lanes`` is one-hot, ``place`` of the window."""
    group = group_layout(config).members
    return data.StructLayout({
        **{name: group[name] for name in ("tag", "is_store", "lanes")},
        "place": WINDOW_WIDTH - exact_log2(WORD_BYTES),
        "data": 8 * WORD_BYTES,
    })


def instruction_misses(config: ClusterConfig) -> MissConfig:
    """Return what misses of a core's instructions are like: each pair of each warp may wait."""
    core = core_of(config)
    return MissConfig(
        cache=core.l1i,
        beat_bytes=config.axi.beat_bytes,
        word_bytes=PAIR_BYTES,
        waiters=core.warps << ceil_log2(pairs(core)),
    )


def data_misses(config: ClusterConfig) -> DataCacheConfig:
    """Return what the cache of a core's data is like: each transaction may wait."""
    core = core_of(config)
    return DataCacheConfig(
        cache=core.l1d,
        beat_bytes=config.axi.beat_bytes,
        word_bytes=config.axi.beat_bytes,
        waiters=core.transactions,
    )


def id_width(config: ClusterConfig) -> int:
    """Bits that name a line that one cache of a core reads."""
    core = core_of(config)
    return ceil_log2(max(core.l1i.misses, core.l1d.misses))


def core_id_width(config: ClusterConfig) -> int:
    """Bits of the ids of a core's bursts: those of its two caches, and which of them it is."""
    return 1 + id_width(config)


def read_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of a read of a line, given its first beat; its id comes back with each beat."""
    return data.StructLayout({
        "id": id_width(config),
        "beat": 32 - exact_log2(config.axi.beat_bytes),
    })


def line_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of the next beat of a line, or of the reason why there is none."""
    return data.StructLayout({
        "id": id_width(config),
        "data": config.axi.data_width,
        "error": 1,
    })


def answer_layout(config: ClusterConfig) -> data.StructLayout:
    """Layout of what came of a transaction of a core's data: with a beat if it was a read."""
    return data.StructLayout({
        "entry": ceil_log2(core_of(config).transactions),
        "data": config.axi.data_width,
        "error": 1,
    })


def instruction_cache_events() -> data.StructLayout:
    """Layout of the events of a cycle in the cache of instructions.

    ``fetches``: one is accepted. ``fetch_misses``: one that was accepted in the last cycle is not
    answered. ``lines_fetched``: a line is asked for, wanted or read ahead. ``entry_waits``: one
    that is looked up waits for a free entry of the misses, or for a way. ``bank_waits``: one is not
    accepted as the memories are in use: a beat comes, a waiter is answered, a line to be read ahead
    is looked up, or the cache is emptied.
    """
    names = ("fetches", "fetch_misses", "lines_fetched", "entry_waits", "bank_waits")
    return data.StructLayout(dict.fromkeys(names, 1))


def path_events(config: ClusterConfig) -> data.StructLayout:
    """Layout of the events of a cycle in both caches of a core."""
    return data.StructLayout({
        "instructions": instruction_cache_events(),
        "data": data_cache_events(data_misses(config)),
    })
