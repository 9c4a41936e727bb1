"""Layout and size limits of a decoded operation of the matrix unit."""

from dataclasses import dataclass

from amaranth import *
from amaranth.lib import data
from amaranth.utils import bits_for, exact_log2

from ..config import MatrixUnitConfig

__all__ = ["SCALE_BYTES", "OperationLimits", "operation", "output_groups"]

FIELD_MAXIMUM = 65535  # of rows and of bytes in a DMA descriptor
ACCUMULATOR_ELEMENT = 4  # bytes
#: Bytes of the scale of a row.
SCALE_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class OperationLimits:
    """Limits of operations: sizes of shared memory and the accumulator in units of a command.

    Parameters
    ----------
    config : MatrixUnitConfig

    """

    config: MatrixUnitConfig

    @property
    def a_lines(self) -> int:
        """Size of shared memory in reads of A."""
        return self.config.shared.size // self.config.matrix.a_bytes

    @property
    def b_lines(self) -> int:
        """Size of shared memory in reads of B."""
        return self.config.shared.size // self.config.matrix.b_bytes

    @property
    def scale_lines(self) -> int:
        """Most reads of A that the scales of a command's rows occupy."""
        matrix = self.config.matrix
        return -(-self.scaled_rows * SCALE_BYTES // matrix.a_bytes)

    @property
    def scaled_rows(self) -> int:
        """Most rows of C that a command can scale."""
        return self.config.matrix.tile[0]

    @property
    def i_blocks(self) -> int:
        """Most blocks of rows of C: limited by the accumulator and by a DMA row of A^T."""
        matrix = self.config.matrix
        return min(
            matrix.accumulator_rows // matrix.rows,
            FIELD_MAXIMUM // (matrix.rows * matrix.operand_bytes),
        )

    @property
    def j_blocks(self) -> int:
        """Most blocks of columns of C: limited by the accumulator and by a DMA row of C."""
        matrix = self.config.matrix
        return min(
            matrix.accumulator_rows // matrix.rows,
            FIELD_MAXIMUM // (matrix.columns * ACCUMULATOR_ELEMENT),
        )

    @property
    def k_blocks(self) -> int:
        """Most blocks along K: limited by shared memory and by a DMA row of A."""
        matrix = self.config.matrix
        return min(
            self.a_lines // matrix.rows,
            self.b_lines // matrix.rows,
            FIELD_MAXIMUM // (matrix.rows * matrix.operand_bytes),
        )


def operation(config: MatrixUnitConfig) -> data.StructLayout:
    """Layout of one checked command.

    Lines are units of ``a_bytes`` (A and C) or ``b_bytes`` (B) in shared memory. `height`, `width`
    and `depth` are M, N and K in elements; `last_height` and `last_depth` are the parts of M and K
    in the last block. C begins at accumulator row `base`. `scale_lines` lines of scales, one FP32
    value per row, begin at `scales_line`; 0: rows are not scaled. All rows of C are below `end`.
    `load_d` loads D there first, from `d_address` in DRAM, or in shared memory if `d_shared`.
    """
    matrix, limits = config.matrix, OperationLimits(config=config)
    return data.StructLayout({
        "load_a": 1,
        "load_b": 1,
        "compute": 1,
        "store": 1,
        "spill": 1,
        "accumulate": 1,
        "transpose_a": 1,
        "transpose_b": 1,
        "wide": 1,
        "relu": 1,
        "scale": 32,
        "i_blocks": bits_for(limits.i_blocks),
        "j_blocks": bits_for(limits.j_blocks),
        "k_blocks": bits_for(limits.k_blocks),
        "height": 16,
        "width": 16,
        "depth": 16,
        "last_height": bits_for(matrix.rows),
        "last_depth": bits_for(matrix.rows),
        "a_line": bits_for(limits.a_lines - 1),
        "b_line": bits_for(limits.b_lines - 1),
        "c_line": bits_for(limits.a_lines - 1),
        "base": matrix.accumulator_address_width,
        "end": matrix.accumulator_address_width + 1,
        **(
            {
                "scale_lines": bits_for(limits.scale_lines),
                "scales_line": bits_for(limits.a_lines - 1),
            }
            if matrix.scales_rows
            else {}
        ),
        **({"load_d": 1, "d_shared": 1, "d_address": 32, "d_pitch": 32} if matrix.load_d else {}),
        "a_address": 32,
        "b_address": 32,
        "c_address": 32,
        "a_pitch": 32,
        "b_pitch": 32,
        "c_pitch": 32,
    })


def output_groups(config: MatrixUnitConfig, j_blocks: Value):
    """Return the number of groups of interleaved column blocks, and the size of the last group.

    An output-stationary array interleaves as many column blocks as its multiply-add has cycles
    of latency.
    """
    size = config.matrix.element_latency
    rounded_up = j_blocks + size - 1
    odd = size >> (shift := trailing_zeros(size))
    # Multiplication by the inverse, rounded up, is exact below 2**16.
    factor, places = {1: (1, 0), 3: (0xAAAB, 17), 5: (0xCCCD, 18)}[odd]
    groups = rounded_up * factor >> places + shift
    return groups, j_blocks - (groups - 1) * size


def trailing_zeros(value: int) -> int:
    """Return how often `value` can be halved without remainder."""
    return exact_log2(value & -value)
