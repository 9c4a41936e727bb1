"""Block sizes of attention on a matrix unit, and the places of its data in shared memory."""

from dataclasses import dataclass

from ....hw.base.errors import UserError
from ....hw.config import ClusterConfig, CoreConfig, SystolicConfig
from ...gemm.target import systolic_unit

__all__ = ["KEYS", "AttentionPlan", "attention_plan"]

#: Keys of a block.
KEYS = 64
WORD = 4
#: Places are multiples of this: of a read of the unit, and of rows of lanes.
ALIGNMENT = 128
#: Bytes of the state of the commanding thread.
STATE_BYTES = 256
#: Most blocks of K in shared memory: two in use and one that is loaded.
MOST_SLOTS = 3


@dataclass(frozen=True, kw_only=True)
class AttentionPlan:
    """Block sizes, and the place of each array in shared memory.

    Parameters
    ----------
    rows : int
        Queries of a block.
    per_lane : int
        Queries of a lane: as many as elements of P in a word.
    slots : int
        Blocks of K in shared memory; there are two of V.
    parts : int
        Parts of the keys of a block, each of one warp.
    places : dict of str to int
        Byte address of each array, a multiple of a read of the unit.

    """

    rows: int
    per_lane: int
    slots: int
    parts: int
    places: dict[str, int]

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program."""
        sizes = {
            "STATE_BYTES": STATE_BYTES,
            "ROWS": self.rows,
            "PER_LANE": self.per_lane,
            "KEYS": KEYS,
            "SLOTS": self.slots,
        }
        places = {f"{name.upper()}_PLACE": place for name, place in self.places.items()}
        return tuple(f"ATTENTION_{name}={value}" for name, value in (sizes | places).items())


def attention_plan(config: ClusterConfig, depth: int) -> AttentionPlan:
    """Return the plan for a head dimension; raise `UserError` if the machine is too small."""
    matrix = systolic_unit(config, "attention")
    core = suitable_core(config, matrix)
    per_lane = WORD // matrix.operand_bytes
    rows = block_rows(config.cores, core, matrix, depth)
    for slots in range(MOST_SLOTS, 1, -1):
        places = place_all(config, groups_of(config.cores, core, matrix, depth, rows, slots))
        if places is not None:
            return AttentionPlan(
                rows=rows,
                per_lane=per_lane,
                slots=slots,
                parts=core.warps,
                places=places,
            )
    raise UserError(
        f"attention with depth {depth} needs more shared memory than "
        f"shared.size={config.shared.size}"
    )


def suitable_core(config: ClusterConfig, matrix: SystolicConfig) -> CoreConfig:
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


def groups_of(
    cores: int, core: CoreConfig, matrix: SystolicConfig, depth: int, rows: int, slots: int
) -> list[dict[str, int]]:
    """Return the bytes of each array, in groups that must not share a bank of shared memory.

    The unit streams K, or P of a block, a line in each cycle; lanes that access its bank wait
    meanwhile. So all that cores access in a step is beside P of that step: the unit streams P of
    the step before. V, read along with P, is beside the other P, and Q not beside K. The unit
    writes scores while cores read those of the step before.
    """
    row, scores = depth * matrix.operand_bytes, KEYS * rows
    exchanged = core.warps * rows * WORD

    def beside(step: int) -> dict[str, int]:
        return {
            f"p{step}": scores * matrix.operand_bytes,
            f"v{1 - step}": KEYS * row,
            f"q{step}": rows * row,
            f"maxima{step}": exchanged,
            f"sums{step}": exchanged,
            f"scales{step}": rows * WORD,
            f"inverses{step}": rows * WORD,
            f"risen{step}": cores * -(-core.warps // WORD) * WORD,
        }

    return [
        {f"k{slot}": KEYS * row for slot in range(slots)},
        beside(0) | {"zeros": max(rows, depth) * matrix.operand_bytes},
        beside(1) | {"state": STATE_BYTES},
        {"s0": scores * WORD},
        {"s1": scores * WORD},
    ]


def place_all(config: ClusterConfig, groups: list[dict[str, int]]) -> dict[str, int] | None:
    """Return a place for each array; None if they do not fit.

    Scores share banks if there are too few.
    """
    bank = config.shared.size // config.shared.banks
    *others, even, odd = groups
    for chosen in (groups, [*others, even | odd]):
        places, start = {}, 0
        for group in chosen:
            place = start
            for name, size in group.items():
                places[name] = place
                place += -(-size // ALIGNMENT) * ALIGNMENT
            start += -(-(place - start) // bank) * bank
        if start <= config.shared.size:
            return places
    return None
