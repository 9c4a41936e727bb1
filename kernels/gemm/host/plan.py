"""Tile plan of a matrix product: tile order, shared-memory slots and load times.

Tiles of A and B occupy *slots* of shared memory, replaced least recently used. Two slots are a
double buffer; with one slot per k-tile, a whole panel stays while the other operand is swept. The
plan selects the order and the number of slots that move the fewest bytes.
"""

from dataclasses import dataclass
from itertools import product

from ....hw.config import MachineConfig
from ..problem import GemmProblem, ceil_div
from ..target import systolic_unit
from ..tile import default_tile

__all__ = ["Load", "Plan", "Step", "Tiling", "plan"]

#: Slots of the swept operand: more than these gain nothing.
MOST_SWEPT_SLOTS = 8


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """Tile sizes in elements, and the addresses of the slots.

    Parameters
    ----------
    m, n, k : int
        Largest tile: multiples of the array's rows, columns and rows.
    a_slots, b_slots : tuple of int
        Shared-memory byte address of each slot.
    keep : str
        Operand that stays while the other is swept: ``a`` (i outer) or ``b`` (j outer).

    """

    m: int
    n: int
    k: int
    a_slots: tuple[int, ...]
    b_slots: tuple[int, ...]
    keep: str


@dataclass(frozen=True, slots=True)
class Load:
    """One load of a tile into a slot.

    Its slot is free when `after` computes, counted from the start, are done.
    """

    matrix: str
    address: int
    row: int
    column: int
    rows: int
    columns: int
    step: int
    after: int


@dataclass(frozen=True, slots=True)
class Step:
    """One compute: adds the product of a tile of A and one of B to a tile of C.

    `i`, `j`, `k` are the first row, column and product index; `m`, `n`, `depth` the extents.
    """

    i: int
    j: int
    k: int
    m: int
    n: int
    depth: int
    a_address: int
    b_address: int
    last: bool


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The steps of a product in order, and its loads in the order of first use."""

    tiling: Tiling
    steps: list[Step]
    loads: list[Load]

    @property
    def loaded_elements(self) -> int:
        """Elements of A and B read from DRAM."""
        return sum(load.rows * load.columns for load in self.loads)


class Slots:
    """Slots of one operand, with LRU replacement."""

    def __init__(self, addresses):
        # Least recently used first: tile, address, and step of last use.
        self.entries = [(None, address, -1) for address in addresses]

    def use(self, tile, step: int) -> tuple[int, int | None]:
        """Return the address for `tile`, and the computes to wait for if it must be loaded."""
        for index, (held, address, _) in enumerate(self.entries):
            if held == tile:
                del self.entries[index]
                self.entries.append((tile, address, step))
                return address, None
        _, address, last_use = self.entries.pop(0)
        self.entries.append((tile, address, step))
        return address, last_use + 1


def plan(config: MachineConfig, problem: GemmProblem) -> Plan:
    """Return the steps and loads of `problem` that move the fewest bytes from DRAM."""
    choices = tilings(config, problem, default_tile(config))
    return unroll(problem, min(choices, key=lambda tiling: loaded_elements(problem, tiling)))


def loaded_elements(problem: GemmProblem, tiling: Tiling) -> int:
    """Return an estimate of the elements of A and B loaded under `tiling`."""
    rows, columns = ceil_div(problem.m, tiling.m), ceil_div(problem.n, tiling.n)
    resident_size, swept_size = problem.m, problem.n
    resident_tiles, swept_tiles = rows, columns
    resident_slots, swept_slots = len(tiling.a_slots), len(tiling.b_slots)
    if tiling.keep == "b":
        resident_size, swept_size = swept_size, resident_size
        resident_tiles, swept_tiles = columns, rows
        resident_slots, swept_slots = swept_slots, resident_slots
    depth = ceil_div(problem.k, tiling.k)
    resident = resident_size * (1 if depth <= resident_slots else swept_tiles)
    # The sweep turns back at each end, so the tiles seen last are still present.
    reused = min(1.0, swept_slots // depth / swept_tiles) * swept_size
    return round(
        problem.k * (resident + swept_size * resident_tiles - reused * (resident_tiles - 1))
    )


def unroll(problem: GemmProblem, tiling: Tiling) -> Plan:
    """Return all steps of `problem` under `tiling`."""
    a_slots, b_slots = Slots(tiling.a_slots), Slots(tiling.b_slots)
    steps, loads = [], []
    for i, j in sweep(problem, tiling):
        m, n = min(tiling.m, problem.m - i), min(tiling.n, problem.n - j)
        for k in range(0, problem.k, tiling.k):
            depth, step = min(tiling.k, problem.k - k), len(steps)
            a_address, a_after = a_slots.use((i, k), step)
            b_address, b_after = b_slots.use((k, j), step)
            if a_after is not None:
                loads.append(Load("a", a_address, i, k, m, depth, step, a_after))
            if b_after is not None:
                loads.append(Load("b", b_address, k, j, depth, n, step, b_after))
            last = k + depth == problem.k
            steps.append(Step(i, j, k, m, n, depth, a_address, b_address, last))
    return Plan(tiling=tiling, steps=steps, loads=loads)


def sweep(problem: GemmProblem, tiling: Tiling):
    """Yield (i, j) of each tile of C; the inner index reverses direction at the ends."""
    outer, inner = range(0, problem.m, tiling.m), range(0, problem.n, tiling.n)
    if tiling.keep == "b":
        outer, inner = inner, outer
    for count, x in enumerate(outer):
        for y in reversed(inner) if count % 2 else inner:
            yield (x, y) if tiling.keep == "a" else (y, x)


def tilings(config: MachineConfig, problem: GemmProblem, limits) -> list[Tiling]:
    """Return the tilings that fit shared memory; those with more slots first."""
    m, n, k, a_size, b_size = tile_sizes(config, problem, limits)
    depth = ceil_div(problem.k, k)
    resident_counts = sorted({depth, 4, 3, 2, 1}, reverse=True)
    for least, apart in ((2, True), (2, False), (1, False)):
        choices = []
        for resident, keep in product(resident_counts, "ab"):
            for swept in range(MOST_SWEPT_SLOTS, least - 1, -1):
                counts = (resident, swept) if keep == "a" else (swept, resident)
                slots = place(config, counts[0], a_size, counts[1], b_size, apart=apart)
                if slots and resident >= least:
                    choices.append(
                        Tiling(m=m, n=n, k=k, a_slots=slots[0], b_slots=slots[1], keep=keep)
                    )
                    break
        if choices:
            return choices
    raise AssertionError("`tile_sizes` ensures that one slot of each fits")


def tile_sizes(config: MachineConfig, problem: GemmProblem, limits) -> tuple[int, ...]:
    """Return M, N, K of a tile and the bytes of its A and B tiles; two of each fit if possible."""
    matrix = systolic_unit(config)
    m, n, k = (
        min(limit, ceil_div(size, unit) * unit)
        for limit, size, unit in zip(
            limits,
            (problem.m, problem.n, problem.k),
            (matrix.rows, matrix.columns, matrix.rows),
            strict=True,
        )
    )
    while True:
        a_size = m * (k // matrix.rows) * matrix.a_bytes
        b_size = k * (n // matrix.columns) * matrix.b_bytes
        if 2 * (a_size + b_size) <= config.shared.size:
            break
        if k > matrix.rows:
            k = ceil_div(k // 2, matrix.rows) * matrix.rows
        elif m > matrix.rows:
            m = ceil_div(m // 2, matrix.rows) * matrix.rows
        elif n > matrix.columns:
            n = ceil_div(n // 2, matrix.columns) * matrix.columns
        else:
            break
    if a_size + b_size > config.shared.size:
        raise ValueError(
            f"shared.size must hold a block of A and one of B, {a_size} + {b_size} = "
            f"{a_size + b_size} bytes, not {config.shared.size}"
        )
    return m, n, k, a_size, b_size


def place(config: MachineConfig, a_count, a_size, b_count, b_size, *, apart: bool):
    """Return addresses of A slots, from the bottom up, and of B slots, up to the top.

    Slots start at bank boundaries if they fit, so that reads of A, reads of B and DMA writes use
    different banks. Return None if the slots do not fit, or if `apart` is set and a bank would hold
    both A and B: reads of one would delay reads of the other.
    """
    bank = config.shared.size // config.shared.banks
    a_aligned, b_aligned = (ceil_div(size, bank) * bank for size in (a_size, b_size))
    for a_stride, b_stride in product((a_aligned, a_size), (b_aligned, b_size)):
        if a_count * a_stride + b_count * b_stride <= config.shared.size:
            top = config.shared.size - b_count * b_stride
            if apart and ceil_div(a_count * a_stride, bank) * bank > top:
                continue
            return (
                tuple(index * a_stride for index in range(a_count)),
                tuple(top + index * b_stride for index in range(b_count)),
            )
    return None
