"""Interfaces of shared memory and of the DMA."""

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from ...config import SharedPortConfig
from ...config.memory import WORD_BYTES
from ...isa.operations import AtomicOperation
from ..streams import ResponseSignature

__all__ = [
    "Direction",
    "NarrowSignature",
    "RowSignature",
    "WideReadSignature",
    "WideWriteSignature",
    "atomic_fields",
    "dma_descriptor",
    "dma_done",
    "fill_row",
    "narrow_request",
    "row_request",
    "wide_write",
]


def wide_write(config: SharedPortConfig, size: int) -> data.StructLayout:
    """Return the layout of a wide write: byte address (a multiple of `size`), data, byte mask."""
    return data.StructLayout({"address": config.address_width, "data": 8 * size, "mask": size})


def atomic_fields(owner_width: int | None) -> dict:
    """Return the fields that a lane's access has besides with atomics; none without them.

    If `atomic` is set, `write` is 0, `data` is the operand and `mask` selects the bytes of the
    access. `expected` is compared by a compare-and-swap. Both have their value at these bytes.
    `owner` is the number of the thread among those behind the port.
    """
    if owner_width is None:
        return {}
    return {"atomic": 1, "operation": AtomicOperation, "expected": 32, "owner": owner_width}


def narrow_request(config: SharedPortConfig) -> data.StructLayout:
    """Return the layout of a lane's access: word-aligned byte address, read or masked write.

    With atomics it has `atomic_fields` too.
    """
    return data.StructLayout({
        **{"address": config.address_width, "write": 1, "data": 32, "mask": 4},
        **atomic_fields(config.owner_width),
    })


def row_request(config: SharedPortConfig, size: int) -> data.StructLayout:
    """Return the layout of a row's access: address (a multiple of `size`), read or masked write."""
    return data.StructLayout({
        "address": config.address_width,
        "write": 1,
        "data": 8 * size,
        "mask": size,
    })


class WideReadSignature(wiring.Signature):
    """Wide read port of `size` bytes, a power of two up to a line, seen from the requester.

    `request` carries a byte address that is a multiple of `size`. Its data is valid exactly
    `config.read_latency` cycles after the request was accepted, in order, and cannot be
    stalled: the requester must have room for it.
    """

    def __init__(self, config: SharedPortConfig, size: int):
        self.config = config
        self.size = size
        super().__init__({
            "request": Out(stream.Signature(config.address_width)),
            "response": In(ResponseSignature(8 * size)),
        })


class WideWriteSignature(wiring.Signature):
    """Wide write port of `size` bytes, a power of two up to a line, seen from the requester.

    Writes are masked by byte. A write is visible to every read accepted in a later cycle.
    """

    def __init__(self, config: SharedPortConfig, size: int):
        self.config = config
        self.size = size
        super().__init__({"request": Out(stream.Signature(wide_write(config, size)))})


class NarrowSignature(wiring.Signature):
    """Narrow port for the word accesses of one lane, seen from the lane.

    Every accepted request, reads and writes, is answered `config.read_latency` cycles later. An
    atomic is answered with the old word, a store-conditional with 0 if it wrote, else 1.
    """

    def __init__(self, config: SharedPortConfig):
        self.config = config
        super().__init__({
            "request": Out(stream.Signature(narrow_request(config))),
            "response": In(ResponseSignature(32)),
        })


class RowSignature(wiring.Signature):
    """Row port of `size` bytes for lanes that access one aligned row, seen from the core.

    Every accepted request, reads and writes, is answered `config.read_latency` cycles later.
    """

    def __init__(self, config: SharedPortConfig, size: int):
        self.config = config
        self.size = size
        super().__init__({
            "request": Out(stream.Signature(row_request(config, size))),
            "response": In(ResponseSignature(8 * size)),
        })


class Direction(enum.Enum, shape=3):
    """Source and destination of a DMA descriptor."""

    LOAD = 0  #: DRAM to shared memory
    STORE = 1  #: shared memory to DRAM
    DRAIN = 2  #: accumulator to DRAM
    SPILL = 3  #: accumulator to shared memory
    FILL = 4  #: DRAM to accumulator
    REFILL = 5  #: shared memory to accumulator


def dma_descriptor(config: SharedPortConfig) -> data.StructLayout:
    """Return the layout of a DMA descriptor: `rows` rows of `bytes` bytes, both 1 or more.

    `dram` and `local` are byte addresses of the first row on either side, any alignment in DRAM.
    `dram_pitch` and `local_pitch` are the distances between row starts. A LOAD writes zeros up to
    `fill_bytes` in each row and up to `fill_rows` rows (0 = no fill). A DRAIN or SPILL takes its
    rows from the matrix unit's drain stream in column blocks of `block` bytes: all rows of the
    first block, then of the next. The destination of a FILL or REFILL is a byte address in the
    accumulator, row by row, and takes the place of `local` or of `dram`; no row of the descriptor
    exceeds a row there. `tag` identifies the requester and returns with the completion.
    """
    return data.StructLayout({
        "direction": Direction,
        "dram": 32,
        "dram_pitch": 32,
        "local": config.address_width,
        "local_pitch": config.address_width + 1,
        "rows": 16,
        "bytes": 16,
        "fill_rows": 16,
        "fill_bytes": 16,
        "block": 8,
        "tag": 4,
    })


def fill_row(config: SharedPortConfig, size: int) -> data.StructLayout:
    """Return the layout of a masked write of words into one accumulator row of `size` bytes."""
    return data.StructLayout({
        "row": config.address_width - exact_log2(size),
        "data": 8 * size,
        "mask": size // WORD_BYTES,
    })


#: Layout of a completion: tag and direction of the descriptor, and whether AXI reported an error.
dma_done = data.StructLayout({"tag": 4, "direction": Direction, "error": 1})
