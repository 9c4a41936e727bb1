"""Block sizes of attention on a matrix unit, and the places of its data in shared memory."""

from dataclasses import dataclass

from ....hw.base.errors import UserError
from ....hw.config import ClusterConfig, CoreConfig, SystolicConfig
from ...gemm.target import systolic_unit

__all__ = ["KEYS", "AttentionPlan", "attention_plan"]

#: Keys of a block.
KEYS = 64
WORD = 4
#: Bytes of the state of the commanding thread.
STATE_BYTES = 256
#: Most blocks of K, and of V, in shared memory: two in use and one that is loaded.
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
        Blocks of K, and of V, in shared memory.
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
        places = place_all(config, sizes_of(config.cores, core, matrix, depth, rows, slots))
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


def sizes_of(
    cores: int, core: CoreConfig, matrix: SystolicConfig, depth: int, rows: int, slots: int
) -> dict[str, tuple[str, int]]:
    """Return the class and the bytes of each array.

    No bank of shared memory has arrays of two of the classes k, p0, p1 and s: while the unit
    streams K or a block of P, a line in each cycle, the cores access scores and the other P.
    """
    row = depth * matrix.operand_bytes
    scores = KEYS * rows
    exchanged = core.warps * rows * WORD
    return {
        **{f"k{slot}": ("k", KEYS * row) for slot in range(slots)},
        "p0": ("p0", scores * matrix.operand_bytes),
        "p1": ("p1", scores * matrix.operand_bytes),
        "s0": ("s", scores * WORD),
        "s1": ("s", scores * WORD),
        **{f"v{slot}": ("", KEYS * row) for slot in range(slots)},
        "q0": ("", rows * row),
        "q1": ("", rows * row),
        "maxima": ("", exchanged),
        "sums": ("", exchanged),
        "risen": ("", cores * -(-core.warps // WORD) * WORD),
        "scales0": ("", rows * WORD),
        "scales1": ("", rows * WORD),
        "inverses0": ("", rows * WORD),
        "inverses1": ("", rows * WORD),
        "zeros": ("", max(rows, depth) * matrix.operand_bytes),
        "state": ("", STATE_BYTES),
    }


def place_all(config: ClusterConfig, sizes: dict[str, tuple[str, int]]) -> dict[str, int] | None:
    """Return a place for each array; None if they do not fit.

    Arrays without a class fill the banks from the last to the first.
    """
    bank = config.shared.size // config.shared.banks
    owners: list[str] = [""] * config.shared.banks
    ends = [0] * config.shared.banks
    places = {}
    for name, (owner, size) in sizes.items():
        order = range(len(ends)) if owner else reversed(range(len(ends)))
        fitting = [
            number
            for number in order
            if ends[number] + size <= bank and (not owner or owners[number] in ("", owner))
        ]
        fitting.sort(key=lambda number, owner=owner: owners[number] != owner)
        if not fitting:
            return None
        number = fitting[0]
        places[name] = number * bank + ends[number]
        ends[number] += size
        owners[number] = owners[number] or owner
    return places
