"""Interfaces between the stages of the L1 instruction cache."""

from amaranth.lib import data, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import exact_log2

from ....config import MemoryUnitConfig
from ....lib.interfaces.core_memory import fetch_request_layout, fetch_tag_layout
from ..cluster_layouts import PAIR_BYTES

__all__ = ["FetchStateSignature", "hit_layout", "lookup_layout"]


def lookup_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a look-up: a request ``tag`` if ``is_demand``, else a prefetch.

    ``pair`` is the address, in pairs of instructions.
    """
    request = fetch_request_layout(config.core).members
    return data.StructLayout({
        "is_demand": 1,
        "tag": request["tag"],
        "pair": 32 - exact_log2(PAIR_BYTES),
    })


def hit_layout(config: MemoryUnitConfig) -> data.StructLayout:
    """Return the layout of a request that is answered: its tag, and the way of its pair.

    ``error``: there is no memory at its address.
    """
    return data.StructLayout({
        "tag": fetch_tag_layout(config.core),
        "way": config.core.l1i.ways,
        "error": 1,
    })


class FetchStateSignature(wiring.Signature):
    """State of the lookup stage, seen from it.

    Members
    -------
    is_free : Out(1)
        The stage is empty, or its look-up leaves in this cycle.
    is_probe : Out(1)
        It holds a look-up for a prefetch.
    """

    def __init__(self):
        super().__init__({"is_free": Out(1), "is_probe": Out(1)})
