"""Sizes of attention on tensor units fed by registers, and what is in shared memory."""

from dataclasses import dataclass

from ....base.errors import UserError
from ....hw.config import MachineConfig
from ....hw.styles.register_fed.config import RegisterFedConfig
from ...gemm.register_fed.unit import register_fed_unit

__all__ = [
    "CHUNK",
    "CHUNK_ROWS",
    "FRAGMENT_ROWS",
    "TILE",
    "RegisterFedAttentionPlan",
    "attention_plan",
    "block_keys",
]

#: Queries of a warp.
TILE = 8
#: Keys whose scores, and columns of O, are in the accumulators of a warp at a time.
CHUNK = 16
#: Rows of shared memory, one word per lane, of a fragment and of the accumulators of a chunk.
FRAGMENT_ROWS, CHUNK_ROWS = 8, 16
#: Largest width of a row of K, in bits, with blocks of 64 keys.
WIDE_ROW = 2048


@dataclass(frozen=True, kw_only=True)
class RegisterFedAttentionPlan:
    """Sizes of the program of a machine.

    Parameters
    ----------
    cores : int
    warps : int
        Warps of a core with queries.
    keys : int
        Keys of a block.
    score_chunks, score_steps, output_chunks, output_steps : int
        Chunks of the scores of a block and of O, and steps along k of each.
    pieces : int
        Pieces of K, and of V, of a block, which warps copy.
    has_queries, has_output : bool
        Whether Q and O of a warp are in shared memory, not in DRAM.
    per_word : int
        Elements of a word.

    """

    cores: int
    warps: int
    keys: int
    score_chunks: int
    score_steps: int
    output_chunks: int
    output_steps: int
    pieces: int
    has_queries: bool
    has_output: bool
    per_word: int

    @property
    def rows(self) -> int:
        """Queries of all warps, a tile."""
        return TILE * self.cores * self.warps

    @property
    def score_products(self) -> int:
        """Products of the scores of a warp and a block."""
        return 2 * self.score_chunks * self.score_steps

    @property
    def output_products(self) -> int:
        """Products of powers and V of a warp and a block."""
        return 2 * self.output_chunks * self.output_steps

    @property
    def defines(self) -> tuple[str, ...]:
        """Macros of the program."""
        sizes = {
            "KEYS": self.keys,
            "WARPS": self.warps,
            "HAS_QUERIES": int(self.has_queries),
            "HAS_OUTPUT": int(self.has_output),
        }
        return tuple(f"ATTENTION_{name}={value}" for name, value in sizes.items())


def block_keys(tensor: RegisterFedConfig, depth: int) -> int:
    """Return the keys of a block, after which maxima are updated."""
    return 32 if depth * tensor.operand_width > WIDE_ROW else 64


def attention_plan(config: MachineConfig, depth: int) -> RegisterFedAttentionPlan:
    """Return the sizes for a head dimension; raise `UserError` if shared memory is too small.

    Each bank has panels of two blocks of K and V, and the warps of its cores have the rest: their
    scores, and then their queries and O, if there is room for those of all.
    """
    tensor, core, shared = register_fed_unit(config, "attention"), config.core, config.shared
    assert core is not None
    per_word, keys = 32 // tensor.operand_width, block_keys(tensor, depth)
    row, lanes, banks = depth // per_word, 4 * core.threads, shared.banks
    panels = -(-keys // 8 // banks) * row + -(-depth // 8 // banks) * (keys // per_word)
    sharers = -(-config.cores // banks)
    room = max(0, shared.size // banks - 2 * panels * lanes) // sharers
    score_chunks, output_chunks = keys // CHUNK, depth // CHUNK
    scores, queries, output = (
        rows * lanes for rows in (score_chunks * CHUNK_ROWS, row, output_chunks * CHUNK_ROWS)
    )
    warps = min(room // scores, core.warps)
    if not warps:
        need = banks * (2 * panels * lanes + sharers * scores)
        raise UserError(
            f"attention needs {need} bytes of shared memory for depth {depth} with {banks} banks, "
            "for two blocks of K and V and the scores of a warp; "
            f"shared.size must not be {shared.size}"
        )
    return RegisterFedAttentionPlan(
        cores=config.cores,
        warps=warps,
        keys=keys,
        score_chunks=score_chunks,
        score_steps=row // FRAGMENT_ROWS,
        output_chunks=output_chunks,
        output_steps=keys // per_word // FRAGMENT_ROWS,
        pieces=keys // 8 * (row // 8),
        has_queries=warps * (scores + queries) <= room,
        has_output=warps * (scores + queries + output) <= room,
        per_word=per_word,
    )
