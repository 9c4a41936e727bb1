"""Block sizes of attention on a matrix unit, and the places of its data in shared memory."""

from dataclasses import dataclass
from enum import Enum, auto

from ....base.errors import UserError
from ....hw.config import CoreConfig, MachineConfig, SharedMemoryConfig, SystolicConfig
from ...gemm.target import systolic_unit

__all__ = ["KEYS", "AttentionPlan", "attention_plan"]

#: Keys of a block.
KEYS = 64
WORD = 4
#: Places are multiples of this: of a read of the unit, and of rows of lanes.
ALIGNMENT = 128


class Use(Enum):
    """Use of an array in shared memory, which decides about its bank."""

    SCORES = auto()
    WORDS = auto()
    KEYS = auto()
    VALUES = auto()
    POWERS = auto()
    QUERIES = auto()


#: Weights of conflicts of arrays in one bank. The unit streams K and P, a line in each cycle; lanes
#: that read beside it wait. It reads Q along with K, and V along with P, a line in every fourth
#: cycle if blocks have 64 rows.
CONFLICTS = {
    frozenset({Use.KEYS, Use.QUERIES}): 8,
    frozenset({Use.POWERS, Use.VALUES}): 8,
    frozenset({Use.SCORES, Use.KEYS}): 4,
    frozenset({Use.SCORES, Use.POWERS}): 4,
    frozenset({Use.WORDS, Use.KEYS}): 2,
    frozenset({Use.WORDS, Use.POWERS}): 2,
    frozenset({Use.SCORES, Use.QUERIES}): 1,
    frozenset({Use.SCORES, Use.VALUES}): 1,
}

SEQUENCE = (Use.SCORES, Use.WORDS, Use.VALUES, Use.QUERIES, Use.POWERS, Use.KEYS)


@dataclass(frozen=True, kw_only=True)
class AttentionPlan:
    """Block sizes, and the place of each array in shared memory.

    Parameters
    ----------
    rows : int
        Queries of a block.
    per_lane : int
        Queries of a lane: as many as elements of P in a word.
    parts : int
        Parts of the keys of a block, each of one warp.
    places, sizes : dict of str to int
        Byte address of each array, a multiple of a read of the unit, and its bytes.

    """

    rows: int
    per_lane: int
    parts: int
    places: dict[str, int]
    sizes: dict[str, int]

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program."""
        macros = {"ROWS": self.rows, "PER_LANE": self.per_lane, "KEYS": KEYS}
        macros |= {f"{name.upper()}_PLACE": place for name, place in self.places.items()}
        macros |= {f"{name.upper()}_BYTES": size for name, size in self.sizes.items()}
        return tuple(f"ATTENTION_{name}={value}" for name, value in macros.items())


def attention_plan(config: MachineConfig, depth: int) -> AttentionPlan:
    """Return the plan for a head dimension; raise `UserError` if the machine is too small."""
    matrix = systolic_unit(config, "attention")
    core = suitable_core(config, matrix)
    rows = block_rows(config.cores, core, matrix, depth)
    arrays = arrays_of(core, matrix, depth, rows)
    places = place_all(config.shared, arrays)
    if places is None:
        raise UserError(
            f"attention with depth {depth} needs more shared memory than "
            f"shared.size={config.shared.size}"
        )
    return AttentionPlan(
        rows=rows,
        per_lane=WORD // matrix.operand_bytes,
        parts=core.warps,
        places=places,
        sizes={name: size for name, _, size in arrays},
    )


def suitable_core(config: MachineConfig, matrix: SystolicConfig) -> CoreConfig:
    """Return the config of the cores; raise `UserError` if they or the unit lack what is needed."""
    if not matrix.scales_rows:
        raise UserError(
            "attention needs matrix.row_scale=true and a weight-stationary array with floats; this "
            "machine does not have it"
        )
    if matrix.rows != matrix.columns:
        raise UserError(
            f"attention needs a square array, which transposes, not {matrix.rows}x{matrix.columns}"
        )
    if config.core is None or config.dma is None:
        raise UserError("attention needs cores and a DMA")
    if KEYS % config.core.warps or KEYS % matrix.rows:
        raise UserError(
            f"attention needs core.warps and matrix.rows that divide its blocks of {KEYS} keys"
        )
    return config.core


def block_rows(cores: int, core: CoreConfig, matrix: SystolicConfig, depth: int) -> int:
    """Return the queries of a block: those whose scores and O fit the accumulator together."""
    per_core = core.threads * WORD // matrix.operand_bytes
    least = max(matrix.rows, per_core)
    most = min(
        matrix.accumulator_bytes // (WORD * (KEYS + depth)),
        cores * per_core,
        matrix.tile[0],
    )
    rows = least
    while 2 * rows <= most:
        rows *= 2
    if rows > most:
        raise UserError(
            f"attention with depth {depth} needs an accumulator of "
            f"{least * WORD * (KEYS + depth)} bytes and "
            f"{least * matrix.operand_bytes // WORD} lanes, not {matrix.accumulator_bytes} bytes "
            f"and {cores * core.threads} lanes"
        )
    return rows


def arrays_of(
    core: CoreConfig, matrix: SystolicConfig, depth: int, rows: int
) -> list[tuple[str, Use, int]]:
    """Return name, use and bytes of each array, in the order in which they are placed.

    Q, K and scores have two blocks, even and odd. P and V have three: those of a step are written
    while the unit uses those of the two steps before.
    """
    row, words = depth * matrix.operand_bytes, rows * WORD
    exchanged = core.warps * words
    small = {
        "maxima": exchanged,
        "changes": exchanged,
        "sums": exchanged,
        "flags": 2 * WORD,
        **{f"scales{n}": words for n in range(3)},
        **{f"inverses{n}": words for n in range(2)},
        "zeros": max(rows, depth) * matrix.operand_bytes,
    }
    return [
        ("s", Use.SCORES, 2 * KEYS * words),
        *((name, Use.WORDS, size) for name, size in small.items()),
        *((f"k{n}", Use.KEYS, KEYS * row) for n in range(2)),
        *((f"v{n}", Use.VALUES, KEYS * row) for n in range(3)),
        ("p", Use.POWERS, 3 * KEYS * rows * matrix.operand_bytes),
        *((f"q{n}", Use.QUERIES, rows * row) for n in range(2)),
    ]


def place_all(
    memory: SharedMemoryConfig, arrays: list[tuple[str, Use, int]]
) -> dict[str, int] | None:
    """Return a place for each array; None if they do not fit.

    Each array is placed in the bank with the least conflicts, of those the fullest. If an array
    fits in no bank, all follow each other.
    """
    bank_bytes = memory.size // memory.banks
    used = [0] * memory.banks
    held: list[list[Use]] = [[] for _ in used]
    places: dict[str, int] = {}
    for name, use, size in arrays:
        rounded = -(-size // ALIGNMENT) * ALIGNMENT
        free = [bank for bank, filled in enumerate(used) if filled + rounded <= bank_bytes]
        if not free:
            return in_sequence(memory, arrays)
        bank = min(free, key=lambda b: (sum(conflict(use, other) for other in held[b]), -used[b]))
        places[name] = bank * bank_bytes + used[bank]
        used[bank] += rounded
        held[bank].append(use)
    return places


def conflict(one: Use, other: Use) -> int:
    """Return the weight of a conflict between arrays in one bank, 0 if there is none."""
    return CONFLICTS.get(frozenset({one, other}), 0)


def in_sequence(
    memory: SharedMemoryConfig, arrays: list[tuple[str, Use, int]]
) -> dict[str, int] | None:
    """Return places that follow each other; None if they do not fit.

    Arrays that conflict are far apart.
    """
    places, start = {}, 0
    for name, _, size in sorted(arrays, key=lambda array: SEQUENCE.index(array[1])):
        places[name] = start
        start += -(-size // ALIGNMENT) * ALIGNMENT
    return places if start <= memory.size else None
