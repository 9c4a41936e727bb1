"""AXI4 and AXI4-Lite signatures with the standard port names, grouped by channel."""

from types import SimpleNamespace
from typing import Any

from amaranth import *
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ..config import AxiConfig
from ..isa.operations import AtomicOperation

__all__ = [
    "BURST_INCR",
    "RESPONSE_OKAY",
    "WORD",
    "Axi4LiteSignature",
    "Axi4Signature",
    "atomic_user_fields",
    "atomic_user_layout",
    "channel",
    "master_of",
    "whole_beats",
]

BURST_INCR = 0b01
CACHE_BUFFERABLE = 0b0011
RESPONSE_OKAY = 0b00
RESPONSE_SLAVE_ERROR = 0b10
#: Bits of the result of an atomic.
WORD = 32


def atomic_user_layout(owner_width: int) -> data.StructLayout:
    """Return the layout of AWUSER: whether a write burst is an atomic, and its operation and owner.

    An atomic is a burst of one beat. Its operand is at its word, with the strobes of its bytes;
    the value that a compare-and-swap expects is in the neighbouring word (address xor 4), without
    strobes. BUSER returns the old word, or of a store-conditional 0 if it writes, else 1. The
    owner of a reservation is one of those with the same id.
    """
    return data.StructLayout({"atomic": 1, "operation": AtomicOperation, "owner": owner_width})


def atomic_user_fields(owner_width: int | None) -> dict[str, data.StructLayout]:
    """Return the field of a write that carries AWUSER; none without atomics."""
    return {} if owner_width is None else {"user": atomic_user_layout(owner_width)}


def channel(axi: Any, prefix: str) -> SimpleNamespace:
    """Return the signals of channel ``ar``, ``r``, ``aw``, ``w`` or ``b``, without its prefix."""
    names = [name for name in axi.signature.members if name.startswith(prefix)]
    return SimpleNamespace(**{name.removeprefix(prefix): getattr(axi, name) for name in names})


def whole_beats(axi: Any, letter: str) -> list:
    """Return the assignments that set ``ar`` or ``aw`` to incrementing bursts of full beats.

    `axi` is an interface of `Axi4Signature`, seen from its master.
    """
    burst = channel(axi, letter)
    return [
        burst.size.eq(exact_log2(len(axi.wdata) // 8)),
        burst.burst.eq(BURST_INCR),
        burst.cache.eq(CACHE_BUFFERABLE),
    ]


def master_of(axi: AxiConfig, address: Value) -> Value:
    """Return the number of the master that serves a byte address in DRAM."""
    low = exact_log2(axi.interleave_bytes)
    return address[low : low + exact_log2(axi.masters)]


class Axi4Signature(wiring.Signature):
    """An AXI4 interface seen from its master.

    Members are flat and have the standard names (`awaddr`, `awvalid`, …): a top-level member
    ``m_axi0`` becomes the ports ``m_axi0_awaddr`` and so on.

    Parameters
    ----------
    address_width, data_width, id_width : int
        Bits of an address, a beat and an ID.
    owner_width : int or None
        With atomics, the bits of an owner: adds `awuser` (`atomic_user_layout`) and `buser`.

    """

    def __init__(
        self,
        *,
        address_width: int,
        data_width: int,
        id_width: int,
        owner_width: int | None = None,
    ):
        self.address_width = address_width
        self.data_width = data_width
        self.id_width = id_width
        self.owner_width = owner_width
        address = {
            "id": Out(id_width),
            "addr": Out(address_width),
            "len": Out(8),
            "size": Out(3),
            "burst": Out(2),
            "lock": Out(1),
            "cache": Out(4),
            "prot": Out(3),
            "valid": Out(1),
            "ready": In(1),
        }
        members = {f"aw{name}": member for name, member in address.items()}
        members |= {
            "wdata": Out(data_width),
            "wstrb": Out(data_width // 8),
            "wlast": Out(1),
            "wvalid": Out(1),
            "wready": In(1),
            "bid": In(id_width),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
        }
        members |= {f"ar{name}": member for name, member in address.items()}
        members |= {
            "rid": In(id_width),
            "rdata": In(data_width),
            "rresp": In(2),
            "rlast": In(1),
            "rvalid": In(1),
            "rready": Out(1),
        }
        if owner_width is not None:
            members |= {"awuser": Out(atomic_user_layout(owner_width)), "buser": In(WORD)}
        super().__init__(members)


class Axi4LiteSignature(wiring.Signature):
    """An AXI4-Lite interface with 32 data bits, seen from its master.

    Parameters
    ----------
    address_width : int
        Bits of a byte address.

    """

    def __init__(self, *, address_width: int):
        self.address_width = address_width
        members = {}
        for channel in ("aw", "ar"):
            members |= {
                f"{channel}addr": Out(address_width),
                f"{channel}prot": Out(3),
                f"{channel}valid": Out(1),
                f"{channel}ready": In(1),
            }
        members |= {
            "wdata": Out(32),
            "wstrb": Out(4),
            "wvalid": Out(1),
            "wready": In(1),
            "bresp": In(2),
            "bvalid": In(1),
            "bready": Out(1),
            "rdata": In(32),
            "rresp": In(2),
            "rvalid": In(1),
            "rready": Out(1),
        }
        super().__init__(members)
