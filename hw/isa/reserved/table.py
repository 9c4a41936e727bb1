"""All reserved encodings, by group and by name, and the allocation of the custom opcodes."""

from dataclasses import dataclass

from . import copies, products, synchronization, tcgen05
from .row import Reserved, Words

__all__ = ["GROUPS", "RESERVED", "SPACES", "Space", "find_reserved"]

#: Reserved encodings by the title of their group.
GROUPS: dict[str, tuple[Reserved, ...]] = {
    "Paths": synchronization.PATHS,
    "Groups of copies": copies.GROUPS_OF_COPIES,
    "Fences and clusters of blocks": synchronization.FENCES,
    "Atomic float operations": synchronization.ATOMICS,
    "Copies of threads": copies.THREAD_COPIES,
    "Matrix loads and stores": copies.MATRIX_ACCESSES,
    "Bulk copies": copies.BULK_COPIES,
    "Tensor copies": copies.TENSOR_COPIES,
    "Products of a warp": products.REGISTER_PRODUCTS,
    "Products of a warpgroup": products.WARPGROUP_PRODUCTS,
    "Products in accumulators": products.ACCUMULATOR_PRODUCTS,
    "Products of depth 8": products.DPAS,
    "Tensor memory": tcgen05.MANAGEMENT,
    "Tensor memory: copies": tcgen05.COPIES,
    "Tensor memory: loads and stores": tcgen05.ACCESSES,
    "Tensor memory: products": tcgen05.PRODUCTS,
}

#: Reserved encodings by mnemonic.
RESERVED: dict[str, Reserved] = {row.name: row for rows in GROUPS.values() for row in rows}


def find_reserved(word: int) -> Reserved | None:
    """Return the reserved encoding of `word`, None if there is none."""
    return next((row for row in RESERVED.values() if row.matches(word)), None)


@dataclass(frozen=True)
class Space:
    """A part of the custom opcodes, and its use.

    Parameters
    ----------
    opcode : int
    funct3, funct7 : range
        Values that belong to it. Words of the format of four registers have all of funct7.
    use : str
        What its words are.
    groups : tuple of str
        Titles of the groups of reserved encodings in it.
    growth : str
        Use of the words that are still free, empty if they stay free for any.
    is_ours : bool
        False if the words are left to Vortex or to commands of matrix units.

    """

    opcode: int
    funct3: range
    funct7: range
    use: str
    groups: tuple[str, ...] = ()
    growth: str = ""
    is_ours: bool = True

    def contains(self, row: Words) -> bool:
        """Return whether all words of `row` are in this space."""
        return row.match & 0x7F == self.opcode and (
            _values(row, 12, 0x7) <= {*self.funct3} and _values(row, 25, 0x7F) <= {*self.funct7}
        )

    def overlaps(self, other: "Space") -> bool:
        """Return whether a word is in both spaces."""
        pairs = ((self.funct3, other.funct3), (self.funct7, other.funct7))
        return self.opcode == other.opcode and all({*one} & {*another} for one, another in pairs)


def _values(row: Words, low: int, ones: int) -> set[int]:
    """Return the values of a field in the words of `row`."""
    mask, match = row.mask >> low & ones, row.match >> low & ones
    return {value for value in range(ones + 1) if value & mask == match}


_ALL3, _ALL7 = range(8), range(128)


def _exactly(value: int) -> range:
    return range(value, value + 1)


#: Allocation of custom-0 to custom-3; no word is in two spaces, and every word is in one.
SPACES: tuple[Space, ...] = (
    Space(0x0B, range(6), _exactly(0), "warp instructions of Vortex v2"),
    Space(0x0B, _exactly(6), _exactly(0), "asynchronous barriers of Vortex v3", is_ours=False),
    Space(0x0B, _exactly(7), _exactly(0), "`vx_wsync` of Vortex v3", ("Paths",)),
    Space(0x0B, _ALL3, _exactly(1), "votes and shuffles of Vortex v3"),
    Space(0x0B, _ALL3, range(2, 0x40), "Vortex v3, which uses 2 to 4", is_ours=False),
    Space(0x0B, _ALL3, _exactly(0x40), "special functions", growth="two more functions"),
    Space(0x0B, _ALL3, range(0x41, 0x44), "packed conversions"),
    Space(
        *(0x0B, _ALL3, range(0x44, 0x48), "shuffles of float registers: 0x44, funct3 4 to 7"),
        growth="conversions of 8, 6 and 4 bits",
    ),
    Space(0x0B, _ALL3, range(0x48, 0x50), "", ("Paths",), "priorities and masks of paths"),
    Space(0x0B, _ALL3, range(0x50, 0x80), ""),
    Space(0x2B, range(4), _ALL7, "Vortex v2 and v3, four registers", is_ours=False),
    Space(
        *(0x2B, _exactly(4), _ALL7, ""),
        ("Bulk copies", "Tensor copies"),
        "values of field rd from 19 on",
    ),
    Space(
        *(0x2B, _exactly(5), _ALL7, ""),
        ("Matrix loads and stores", "Copies of threads"),
        "elements of 8, 6 and 4 bits, other shapes",
    ),
    Space(0x2B, _exactly(6), _ALL7, "", ("Products of depth 8",)),
    Space(0x2B, _exactly(7), _ALL7, "", ("Products of depth 8",), "values of rs3 from 1 on"),
    Space(0x5B, range(3), _ALL7, "branches of Vortex", is_ours=False),
    Space(0x5B, _exactly(3), _ALL7, ""),
    Space(
        *(0x5B, _exactly(4), range(0x10), "transaction barriers: funct7 0 to 10"),
        growth="pending counts, arrivals in other scopes",
    ),
    Space(0x5B, _exactly(4), range(0x10, 0x18), "waits for units: `vx_wait`, funct7 0x10"),
    Space(0x5B, _exactly(4), range(0x18, 0x28), "", ("Groups of copies",)),
    Space(0x5B, _exactly(4), range(0x28, 0x38), "", ("Fences and clusters of blocks",)),
    Space(0x5B, _exactly(4), range(0x38, 0x80), ""),
    Space(
        *(0x5B, range(5, 8), _ALL7, "funct3 5 packed halves, 6 words"),
        ("Atomic float operations",),
        "funct3 7 64 bits",
    ),
    Space(
        *(0x7B, _exactly(0), _ALL7, "`hmma` and `hgmma` of Virgo's machine, funct7 0"),
        ("Products of a warp",),
    ),
    Space(0x7B, _exactly(1), range(8), "`hgmma_wait` of Virgo's machine"),
    Space(0x7B, _exactly(1), range(8, 0x10), "", ("Products of a warpgroup",)),
    Space(0x7B, _exactly(1), range(0x10, 0x20), "", ("Products in accumulators",)),
    Space(0x7B, _exactly(1), range(0x20, 0x30), "", ("Tensor memory",)),
    Space(0x7B, _exactly(1), range(0x30, 0x50), "", ("Tensor memory: copies",)),
    Space(0x7B, _exactly(1), range(0x50, 0x70), "", ("Tensor memory: loads and stores",)),
    Space(0x7B, _exactly(1), range(0x70, 0x80), ""),
    Space(0x7B, _exactly(2), _ALL7, "dense", ("Products of a warpgroup",)),
    Space(0x7B, _exactly(3), _ALL7, "command words of matrix units (RoCC)", is_ours=False),
    Space(0x7B, _exactly(4), _ALL7, "sparse", ("Products of a warpgroup",), "funct2 is full"),
    Space(
        *(0x7B, range(5, 7), _ALL7, ""),
        ("Products in accumulators",),
        "funct3 6: funct2 3, and rs3 from 4 on with funct2 0",
    ),
    Space(
        *(0x7B, _exactly(7), _ALL7, ""),
        ("Tensor memory: products",),
        "values of field rd from 6 on, funct2 2 and 3",
    ),
)
