"""Sizes of ``attention`` on tensor units fed by registers, as in ``attention_sizes.h``."""

from dataclasses import dataclass

from ....hw.config import ClusterConfig
from ....kernels.attention.tensor.plan import CHUNK, TILE, block_keys
from ....kernels.gemm.target import tensor_unit

__all__ = ["RegisterFedPlan", "register_fed_plan"]

#: Rows of shared memory, one word per lane, of a fragment and of the accumulators of a chunk.
FRAGMENT_ROWS, CHUNK_ROWS = 8, 16


@dataclass(frozen=True, kw_only=True)
class RegisterFedPlan:
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


def register_fed_plan(config: ClusterConfig, depth: int) -> RegisterFedPlan:
    """Return the sizes of the program of a machine for a head dimension."""
    tensor, core = tensor_unit(config), config.core
    assert core is not None
    per_word, keys = 32 // tensor.operand_width, block_keys(tensor, depth)
    row, lanes, banks = depth // per_word, 4 * core.threads, config.shared.banks
    panels = -(-keys // 8 // banks) * row + -(-depth // 8 // banks) * (keys // per_word)
    room = (config.shared.size // banks - 2 * panels * lanes) // -(-config.cores // banks)
    score_chunks, output_chunks = keys // CHUNK, depth // CHUNK
    scores, queries, output = (
        rows * lanes for rows in (score_chunks * CHUNK_ROWS, row, output_chunks * CHUNK_ROWS)
    )
    warps = min(room // scores, core.warps)
    return RegisterFedPlan(
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
