"""Golden model of the matrix unit by command: accumulator contents and stored results."""

import numpy as np

from .....hw.config import MatrixUnitConfig, SystolicConfig
from .....hw.config.arithmetic import ARITHMETIC
from .....hw.config.formats import FloatFormat
from .....hw.isa.commands import FLOAT_ONE
from .....hw.lib.interfaces.shared_memory import Direction
from .....kernels.elements import dtype_of
from ...memory.dma.dma import DmaDescriptor
from .sequencer import expected_d, expected_descriptors
from .systolic import read_out, systolic_os, systolic_ws

__all__ = [
    "AccumulatorBytes",
    "SystolicModel",
    "d_transfers",
    "operand_a",
    "operand_b",
    "scales_of",
    "transfers",
]


def operand_a(matrix: SystolicConfig, operation: dict, shared: np.ndarray) -> np.ndarray:
    """Return A of a compute, ``[height, depth]``, from the bytes of shared memory."""
    lines = accesses(matrix, shared, matrix.a_bytes, matrix.rows)[operation["a_line"] :]
    i, k = (operation[name] * matrix.rows for name in ("i_blocks", "k_blocks"))
    tile = whole(lines, k, i).T if operation["transpose_a"] else whole(lines, i, k)
    return tile[: operation["height"], : operation["depth"]]


def operand_b(matrix: SystolicConfig, operation: dict, shared: np.ndarray) -> np.ndarray:
    """Return B of a compute, ``[depth, columns of whole blocks]``, including columns beyond N."""
    lines = accesses(matrix, shared, matrix.b_bytes, matrix.columns)[operation["b_line"] :]
    k, j = operation["k_blocks"] * matrix.rows, operation["j_blocks"] * matrix.columns
    tile = whole(lines, j, k).T if operation["transpose_b"] else whole(lines, k, j)
    return tile[: operation["depth"]]


def scales_of(matrix: SystolicConfig, operation: dict, shared: np.ndarray) -> np.ndarray | None:
    """Return the scales of the rows of a compute in FP32; None if it scales none."""
    if not operation.get("scale_lines"):
        return None
    start = operation["scales_line"] * matrix.a_bytes
    return shared[start : start + 4 * operation["height"]].view(np.float32)


def accesses(matrix: SystolicConfig, shared: np.ndarray, size: int, count: int) -> np.ndarray:
    """Return shared memory as accesses of `size` bytes, each with `count` elements."""
    lines = shared.reshape(-1, size)[:, : count * matrix.operand_bytes]
    return np.ascontiguousarray(lines).view(dtype_of(matrix.operand))


def whole(lines: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Return the matrix of whole blocks at the start of `lines`."""
    return lines[: rows * columns // lines.shape[1]].reshape(rows, columns)


def transfers(config: MatrixUnitConfig, operation: dict) -> list[DmaDescriptor]:
    """Return the DMA descriptors of an operation: loads of A and B, then the store."""
    return described(expected_descriptors(config, operation))


def d_transfers(config: MatrixUnitConfig, operation: dict) -> list[DmaDescriptor]:
    """Return the DMA descriptors that load D of an operation."""
    return described(expected_d(config, operation))


def described(descriptors: list[dict]) -> list[DmaDescriptor]:
    """Return descriptors from their fields."""
    return [
        DmaDescriptor(direction=Direction[descriptor.pop("direction")], **descriptor)
        for descriptor in descriptors
    ]


class AccumulatorBytes:
    """Accumulator as memory that the DMA writes by byte address, row after row."""

    def __init__(self, accumulator: np.ndarray):
        self.bytes = accumulator.reshape(-1).view(np.uint8)

    def write(self, address: int, values: bytes):
        """Write bytes."""
        self.bytes[address : address + len(values)] = np.frombuffer(values, np.uint8)


class SystolicModel:
    """Accumulator and the effect of `CommandModel` operations on it, bit-exact.

    The caller must give operations in an order that the machine allows.

    Parameters
    ----------
    config : MatrixUnitConfig

    Attributes
    ----------
    accumulator : ndarray
        One row per row of the SRAM, initially zero; undefined in hardware.

    """

    def __init__(self, config: MatrixUnitConfig):
        self.matrix = config.matrix
        shape = (self.matrix.accumulator_rows, self.matrix.columns)
        self.accumulator = np.zeros(shape, dtype_of(self.matrix.accumulator_format.name))

    def tile(self, operation: dict) -> np.ndarray:
        """Return a view of the accumulator, ``[j_blocks, rows of whole blocks, columns]``."""
        rows, base = operation["i_blocks"] * self.matrix.rows, operation["base"]
        used = self.accumulator[base : base + operation["j_blocks"] * rows]
        return used.reshape(operation["j_blocks"], rows, self.matrix.columns)

    def compute(self, operation: dict, shared: np.ndarray):
        """Multiply A and B held in `shared`, the bytes of shared memory.

        Rows with scales are multiplied by them and rounded to FP32 before the first slab is added.
        """
        matrix, tile = self.matrix, self.tile(operation)
        a, b = (operand(matrix, operation, shared) for operand in (operand_a, operand_b))
        stays = matrix.dataflow == "output_stationary"
        if stays:  # all array rows reach the accumulator; those beyond M are sums of zeros
            beyond = np.zeros((tile.shape[1] - len(a), a.shape[1]), a.dtype)
            a = np.concatenate([a, beyond])
        before = None
        if operation["accumulate"]:
            before = tile[:, : len(a)].transpose(1, 0, 2).reshape(len(a), -1)
            scales = scales_of(matrix, operation, shared)
            if scales is not None:
                with np.errstate(all="ignore"):
                    before = before * scales[:, None]
        multiply, length = (
            (systolic_os, operation["depth"]) if stays else (systolic_ws, matrix.rows)
        )
        total = multiply(a, b, length, before, operand=matrix.operand)
        tile[:, : len(a)] = total.reshape(len(a), len(tile), matrix.columns).transpose(1, 0, 2)

    def results(self, operation: dict) -> list[bytes]:
        """Return the beats of `drain_bytes` that leave the accumulator for a store."""
        matrix, arithmetic = self.matrix, ARITHMETIC[self.matrix.operand]
        c_format = arithmetic.accumulator if operation["wide"] else arithmetic.narrow
        scale = None
        is_float = isinstance(matrix.accumulator_format, FloatFormat)
        if is_float and operation["scale"] != FLOAT_ONE:
            scale = np.uint32(operation["scale"]).view(np.float32)
        rows = self.tile(operation)[:, : operation["height"]].reshape(-1, matrix.columns)
        values = read_out(rows, c_format, relu=bool(operation["relu"]), scale=scale).tobytes()
        size = matrix.drain_bytes
        return [values[start : start + size] for start in range(0, len(values), size)]
