"""One attention problem: sizes, mask, scale and format, and the shapes of its arrays."""

import math
from dataclasses import dataclass

import numpy as np

from ...hw.config.checks import require_choice, require_integer

__all__ = ["DEPTHS", "OPERANDS", "AttentionProblem"]

#: Head dimensions of the programs.
DEPTHS = (64, 128)
#: Formats of Q, K, V and O.
OPERANDS = ("fp16", "bf16", "fp32")
#: Largest number of elements of an array: 256 MiB of FP32.
MOST_ELEMENTS = 1 << 26


@dataclass(frozen=True, kw_only=True)
class AttentionProblem:
    """O = softmax(scale · Q Kᵀ + mask) V per head, and the logarithm of each softmax's sum.

    Heads are numbered over the whole batch, as `problems`. Arrays are dense and row-major in DRAM.

    Parameters
    ----------
    batch, heads : int
        Sequences, and heads of Q and O of each.
    kv_heads : int
        Heads of K and V of each sequence, a divisor of `heads`. `group` consecutive heads of Q
        share one.
    queries, keys : int
        Rows of Q and O, and of K and V, of a head.
    depth : int
        Columns of the arrays in DRAM, one of `DEPTHS`.
    columns : int or None
        Head dimension d, at most `depth`: further columns are 0 in Q, K and V. None for `depth`.
    causal : bool
        Whether query i attends only to keys j <= i + keys - queries: the last query attends to all.
    scale : float or None
        Positive factor of the scores; None for 1 / sqrt(d).
    operand : str
        Format of Q, K, V and O, one of `OPERANDS`.
    overwrites : bool
        Whether the product of P and V of each block of keys replaces O instead of adding to it, as
        the released program of the published machine does. O is wrong then, if there are several
        blocks; it shows the cycles that adding costs. Only on a matrix unit.

    """

    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    queries: int
    keys: int
    depth: int
    columns: int | None = None
    causal: bool = False
    scale: float | None = None
    operand: str = "fp16"
    overwrites: bool = False

    def __post_init__(self):
        for name in ("batch", "heads", "kv_heads", "queries", "keys"):
            require_integer(name, getattr(self, name), 1, MOST_ELEMENTS)
        require_choice("depth", self.depth, DEPTHS)
        require_integer("columns", self.head_depth, 1, self.depth)
        require_choice("operand", self.operand, OPERANDS)
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads must divide heads, {self.heads}, not {self.kv_heads}")
        for name in ("q", "k"):
            if math.prod(self.shapes[name]) > MOST_ELEMENTS:
                sizes = " x ".join(map(str, self.shapes[name]))
                raise ValueError(
                    f"{name} must have at most {MOST_ELEMENTS} elements, not {sizes} = "
                    f"{math.prod(self.shapes[name])}"
                )
        if self.scale is not None and not self.scale > 0:
            raise ValueError(f"scale must be above 0, not {self.scale!r}")
        with np.errstate(over="ignore", under="ignore"):
            is_normal = np.finfo(np.float32).smallest_normal <= self.scale_log2 < np.inf
        if not is_normal:
            raise ValueError(
                f"scale must be a normal number in FP32 when multiplied by log2(e), not "
                f"{self.scale!r}"
            )

    @property
    def group(self) -> int:
        """Consecutive heads of Q that share a head of K and V."""
        return self.heads // self.kv_heads

    @property
    def problems(self) -> int:
        """Heads of the whole batch."""
        return self.batch * self.heads

    @property
    def head_depth(self) -> int:
        """Head dimension d, without padding."""
        return self.depth if self.columns is None else self.columns

    @property
    def exact_scale(self) -> float:
        """Factor of the scores in float64."""
        return 1 / math.sqrt(self.head_depth) if self.scale is None else float(self.scale)

    @property
    def scale_log2(self) -> np.float32:
        """Factor of the scores as exponents of 2, as programs get it."""
        return np.float32(self.exact_scale * math.log2(math.e))

    @property
    def macs(self) -> int:
        """Multiply-adds of both products without regard to the mask."""
        return 2 * self.queries * self.keys * self.head_depth * self.problems

    @property
    def visible_pairs(self) -> int:
        """Pairs of a query and a key that it attends to, in one head."""
        if not self.causal:
            return self.queries * self.keys
        # Query i attends to i + keys - queries + 1 keys, if that is positive.
        first = max(0, self.keys - self.queries + 1)
        rows = self.keys - first + 1
        return rows * (first + self.keys) // 2

    @property
    def needed_macs(self) -> int:
        """Multiply-adds of both products of visible pairs: equal to `macs` without a mask."""
        return 2 * self.visible_pairs * self.head_depth * self.problems

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shape of each array in DRAM, heads of the whole batch first."""
        rows, columns = (self.problems, self.queries), (self.problems // self.group, self.keys)
        return {
            "q": (*rows, self.depth),
            "k": (*columns, self.depth),
            "v": (*columns, self.depth),
            "o": (*rows, self.depth),
            "lse": rows,
        }

    def visible(self, first: int = 0, end: int | None = None) -> np.ndarray:
        """Return the mask of queries `first` to `end`, without the end, True for visible keys."""
        rows = np.arange(first, self.queries if end is None else min(end, self.queries))[:, None]
        last = rows + self.keys - self.queries if self.causal else np.full_like(rows, self.keys)
        return np.arange(self.keys) <= last
