"""Record layouts between a core and the memories of its cluster."""

from amaranth.lib import data, enum
from amaranth.utils import ceil_log2, exact_log2

from ...config import WORD_BYTES, MemoryUnitConfig
from ...isa.memory_map import WINDOW_BYTES
from ...lib.interfaces.core_memory import atomic_fields, data_request_layout
from ..l1.cluster_layouts import data_mshr_config, instruction_cache_events
from ..l1.data_cache_layouts import data_cache_events

__all__ = [
    "WINDOW_WIDTH",
    "Target",
    "device_layout",
    "group_layout",
    "memory_unit_events",
    "place_width",
    "remote_layout",
    "reply_layout",
]


#: Bits of a byte address in the window of registers.
WINDOW_WIDTH = exact_log2(WINDOW_BYTES)


class Target(enum.Enum, shape=3):
    """Target of an access."""

    NONE = 0  #: no target at the address, or not for this kind of access
    DRAM = 1
    SHARED = 2
    CONSOLE = 3
    FORGOTTEN = 4  #: stores are accepted and discarded
    DEVICE = 5  #: a register of the DMA or of a matrix unit
    REMOTE = 6  #: shared memory of any cluster, through its window


def place_width(config: MemoryUnitConfig) -> int:
    """Return the bits of a word's index in its beat, shared memory or the register window."""
    in_beat = exact_log2(config.axi.beat_bytes // WORD_BYTES)
    in_window = max(config.shared.address_width, WINDOW_WIDTH) - exact_log2(WORD_BYTES)
    return max(in_beat, in_window)


def group_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a group: lanes of a request that are served together by ``target``.

    ``beat`` is their common address in beats, for DRAM. ``places`` are the low bits of each
    lane's address, in words. ``is_row`` marks lanes in one row of shared memory; it exists only
    with a row port. An atomic group, if there are any, is one lane for DRAM.
    """
    lanes = config.core.request_lanes
    request = data_request_layout(config.core).members
    return data.StructLayout({
        **{name: request[name] for name in ("tag", "is_store", "data", "strobes")},
        "target": Target,
        **({"is_row": 1} if config.row_bytes else {}),
        "lanes": lanes,
        "beat": 32 - exact_log2(config.axi.beat_bytes),
        "places": data.ArrayLayout(place_width(config), lanes),
        **atomic_fields(config.core),
    })


def device_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of one lane's register access: ``lanes`` one-hot, ``place`` in words."""
    group = group_layout(config).members
    return data.StructLayout({
        **{name: group[name] for name in ("tag", "is_store", "lanes")},
        "place": WINDOW_WIDTH - exact_log2(WORD_BYTES),
        "data": 8 * WORD_BYTES,
    })


def remote_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of one lane's access to a cluster's shared memory, ``place`` in words."""
    group = group_layout(config).members
    return data.StructLayout({
        **{name: group[name] for name in ("tag", "is_store", "lanes")},
        "cluster": ceil_log2(config.clusters),
        "place": config.shared.address_width - exact_log2(WORD_BYTES),
        "data": 8 * WORD_BYTES,
        "mask": WORD_BYTES,
    })


def reply_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a reply to lanes of a request, all with the same word."""
    group = group_layout(config).members
    return data.StructLayout({
        **{name: group[name] for name in ("tag", "lanes")},
        "word": 8 * WORD_BYTES,
        "error": 1,
    })


def memory_unit_events(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a cycle's events in both L1 caches of a core."""
    return data.StructLayout({
        "instructions": instruction_cache_events(),
        "data": data_cache_events(data_mshr_config(config)),
    })
