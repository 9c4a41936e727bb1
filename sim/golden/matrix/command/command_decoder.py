"""Golden model of the matrix unit's commands: register writes in, operations out.

Written from the definition of the words, independently of the RTL: words are decoded by shifts,
bounds are multiplied, and CISC words are expanded into RoCC words that are then executed.
"""

from .....hw.config import MatrixUnitConfig
from .....hw.config.arithmetic import ARITHMETIC

__all__ = ["CommandModel", "decode_commands"]

ILLEGAL, OUT_OF_RANGE = 1, 2
FIELD_MAXIMUM = 65535  # of the 16-bit sizes of a DMA descriptor
ONE = 0x3F800000

# (start of A, end of B) in quarters of shared memory, and accumulate, of legacy computes and loads.
LEGACY_COMPUTES = {0: (0, 3, 0), 1: (0, 3, 1), 2: (1, 4, 1), 3: (1, 4, 0)}
LEGACY_LOADS = {10: (0, 3), 11: (1, 4), 12: (0, 1), 13: (2, 3)}


class RefusedError(Exception):
    """A refused command."""


def decode_commands(config: MatrixUnitConfig, writes) -> "CommandModel":
    """Return the model after `writes`, pairs of (byte offset, 32-bit data)."""
    model = CommandModel(config)
    for offset, data in writes:
        model.write(offset, data)
    return model


def bits(word: int, high: int, low: int) -> int:
    """Return ``word[high:low]``, both ends included."""
    return word >> low & ((1 << (high - low + 1)) - 1)


class CommandModel:
    """Result of register writes.

    Parameters
    ----------
    config : MatrixUnitConfig

    Attributes
    ----------
    operations : list of dict
        The fields of each accepted operation, in order.
    error, error_word : int
        The registers of that name, without DMA errors.

    """

    def __init__(self, config: MatrixUnitConfig):
        self.config = config
        self.matrix = config.matrix
        arithmetic = ARITHMETIC[config.matrix.operand]
        self.accumulator, self.narrow = arithmetic.accumulator, arithmetic.narrow
        self.rs = [0, 0]
        self.operations: list[dict] = []
        self.error = 0
        self.error_word = 0
        self.sizes = self.pads = (0, 0, 0)
        self.addresses = {"a": 0, "b": 0, "c": 0, "d": 0}
        self.strides = {"a": 0, "b": 0, "c": 0, "d": 0}
        self.has_d = False
        self.a_line = self.b_end = self.scales_line = 0
        self.reset_config()

    def reset_config(self):
        """Restore the state after reset."""
        self.relu, self.scale, self.transposes = 0, ONE, (0, 0)
        self.base = 0

    def write(self, offset: int, data: int):
        """Write one register."""
        if 0x10 <= offset < 0x20:
            which, shift = (offset - 0x10) // 8, offset % 8 * 8
            other_half = self.rs[which] & ~(0xFFFFFFFF << shift)
            self.rs[which] = other_half | data << shift
        elif offset == 0x38:
            self.error = 0
        elif offset in (0x00, 0x30):
            try:
                if offset == 0x30:
                    self.cisc(data)
                elif data & 0x7F != 0x7B:
                    raise RefusedError(ILLEGAL)
                else:
                    self.rocc(data >> 25, *self.rs)
            except RefusedError as refusal:
                if not self.error:
                    self.error_word = data
                self.error |= refusal.args[0]

    def cisc(self, word: int):
        """Expand a CISC word."""
        code, unit, square = bits(word, 4, 0), bits(word, 6, 5), bits(word, 7, 7)
        if unit:
            raise RefusedError(ILLEGAL)
        byte_a, byte_b, byte_c = bits(word, 15, 8), bits(word, 23, 16), bits(word, 31, 24)
        legacy = self.matrix.cisc_map == "legacy"
        sixteenths = (4 * byte_a, 4 * byte_b + 4, 64)
        if code == 8:
            return self.rocc(12, bits(word, 19, 8), bits(word, 31, 20))
        if code == 9:
            return self.expand(square, None, 0, 0x278 | self.c_row(byte_a) << 32)
        if legacy and code in LEGACY_COMPUTES:
            start, end, accumulate = LEGACY_COMPUTES[code]
            return self.expand(square, (start, end, 4), accumulate, 0x2B8)
        if legacy and code in LEGACY_LOADS:
            return self.expand(square, (*LEGACY_LOADS[code], 4), 1, 0x2E0)
        if legacy:
            raise RefusedError(ILLEGAL)
        if code == 0:
            return self.expand(square, sixteenths, byte_c & 1, 0x2B8)
        if code == 1:
            return self.expand(square, sixteenths, 0, 0x238 | self.c_row(byte_c) << 32)
        if code == 2:
            return self.expand(square, None, 0, 0x2F8)
        if code == 10:
            return self.expand(square, sixteenths, 1, 0x2E0)
        if code == 11:
            return self.rocc(13, bits(word, 19, 8), bits(word, 31, 20))
        if code == 12:
            return self.expand(square, None, 0, 0x78)
        if code == 16:
            return self.reset_config()
        raise RefusedError(ILLEGAL)

    def c_row(self, sixteenth: int) -> int:
        """Return the row of shared memory at which a sixteenth begins."""
        return sixteenth * self.config.shared.size // 16 // self.matrix.a_bytes

    def expand(self, square, operands, rs1, rs2):
        """Execute BOUNDS, SPAD_AB if there are operands, and LOOP_WS."""
        m, n, k = self.matrix.tile
        if square:
            n = k = m
        if n % self.matrix.columns:
            raise RefusedError(ILLEGAL)
        rows, columns = self.matrix.rows, self.matrix.columns
        self.rocc(9, 0, m // rows | n // columns << 16 | k // rows << 32)
        if operands is not None:
            start, end, parts = operands
            size = self.config.shared.size
            a_row = start * size // parts // self.matrix.a_bytes
            b_row = end * size // parts // self.matrix.b_bytes
            self.rocc(24, a_row, b_row)
        self.rocc(8, rs1, rs2)

    def rocc(self, function: int, rs1: int, rs2: int):
        """Execute one RoCC word."""
        fits = not (rs1 >> 32 or rs2 >> 32)
        if function == 0:
            self.configure(rs1, rs2)
        elif function == 7:
            pass
        elif function == 8:
            self.loop(rs1, rs2)
        elif function == 9:
            self.pads = tuple(bits(rs1, low + 15, low) for low in (0, 16, 32))
            self.sizes = tuple(bits(rs2, low + 15, low) for low in (0, 16, 32))
        elif function == 10 and fits:
            self.addresses |= {"a": rs1, "b": rs2}
        elif function == 11 and (fits if self.matrix.load_d else not rs2 >> 32):
            self.addresses |= {"c": rs2, "d": rs1}
            self.has_d = bool(rs1)
        elif function == 12 and not (rs1 >> 30 or rs2 >> 30):
            self.strides |= {"a": rs1, "b": rs2}
        elif function == 13 and not (rs2 >> 30 or (self.matrix.load_d and rs1 >> 30)):
            self.strides |= {"c": rs2, "d": rs1}
        elif function == 24 and fits:
            self.a_line, self.b_end = rs1, rs2
        elif function == 26 and not (rs1 >> 20 or rs2 >> 20):
            self.base, self.scales_line = rs1, rs2
        else:
            ranged = function in (10, 11, 12, 13, 24, 26)
            raise RefusedError(OUT_OF_RANGE if ranged else ILLEGAL)

    def configure(self, rs1, rs2):
        """Execute a CONFIG word."""
        kind = rs1 & 3
        if kind == 3:
            raise RefusedError(ILLEGAL)
        if kind == 0 and not rs1 >> 7 & 1:
            if (rs1 >> 2 & 1) != (self.matrix.dataflow == "weight_stationary"):
                raise RefusedError(ILLEGAL)
            self.transposes = (rs1 >> 8 & 1, rs1 >> 9 & 1)
        if kind == 2:
            scale, activation, pooling = rs2 >> 32, bits(rs1, 3, 2), bits(rs1, 5, 4)
            scalable = self.matrix.read_scale and self.accumulator == "fp32"
            if activation > 1 or pooling or (scale != ONE and not scalable):
                raise RefusedError(ILLEGAL)
            self.relu, self.scale = activation, scale

    def loop(self, rs1, rs2):
        """Execute LOOP_WS."""
        matrix = self.matrix
        skip = {part: rs2 >> bit & 1 for bit, part in enumerate(("a", "b", "d", "ex", "c"), 3)}
        transpose_a, transpose_b = (
            rs2 >> which & 1 | set_before for which, set_before in enumerate(self.transposes)
        )
        activation = bits(rs1, 15, 8)
        packs_badly = [
            extent * matrix.operand_bytes < 4 for extent in (matrix.rows, matrix.columns)
        ]
        scales_rows = rs1 >> 3 & 1
        loads_d = self.has_d and not skip["d"]
        if (
            rs2 & 0b100
            or (scales_rows and not (rs1 & 1 and matrix.scales_rows and not skip["ex"]))
            or (loads_d and not matrix.load_d)
            or (loads_d and (rs1 >> 2 & 1 or not (skip["ex"] or rs1 & 1)))
            or rs2 & 0x100
            or bits(rs1, 19, 16)
            or activation > 1
            or (not skip["a"] and packs_badly[0])
            or (not skip["b"] and packs_badly[1])
            or (transpose_a and transpose_b)
            or ((transpose_a or transpose_b) and matrix.rows != matrix.columns)
            or (transpose_b and matrix.dataflow == "output_stationary")
        ):
            raise RefusedError(ILLEGAL)
        # The request has no effect if C has the accumulator's format anyway.
        wide = rs1 >> 1 & 1 or self.narrow == self.accumulator
        element = 4 if wide else 2
        spill, c_line = rs2 >> 9 & 1, rs2 >> 32
        self.require_fit(skip, element, c_line if spill else None)
        (i, j, k), (pad_i, pad_j, pad_k) = self.sizes, self.pads
        scales = -(-4 * (i * matrix.rows - pad_i) // matrix.a_bytes)
        if scales_rows and (
            i * matrix.rows - pad_i > matrix.tile[0]
            or (self.scales_line + scales) * matrix.a_bytes > self.config.shared.size
        ):
            raise RefusedError(OUT_OF_RANGE)
        if loads_d:
            self.require_d(j * matrix.columns - pad_j, self.base + i * matrix.rows * j)
        rows = {"base": self.base, "end": self.base + i * matrix.rows * j}
        if matrix.load_d:
            rows |= {
                "load_d": int(loads_d),
                "d_shared": int(self.addresses["d"] >> 24 == 0xFF),
                "d_address": self.addresses["d"],
                "d_pitch": self.strides["d"] * 4,
            }
        if matrix.scales_rows:
            rows |= {"scale_lines": scales * scales_rows, "scales_line": self.scales_line}
        self.operations.append({
            "load_a": 1 - skip["a"],
            "load_b": 1 - skip["b"],
            "compute": 1 - skip["ex"],
            "store": 1 - skip["c"],
            "spill": spill,
            "accumulate": rs1 & 1,
            "transpose_a": transpose_a,
            "transpose_b": transpose_b,
            "wide": int(wide),
            "relu": self.relu | activation,
            "scale": self.scale,
            **rows,
            "i_blocks": i,
            "j_blocks": j,
            "k_blocks": k,
            "height": i * matrix.rows - pad_i,
            "width": j * matrix.columns - pad_j,
            "depth": k * matrix.rows - pad_k,
            "last_height": matrix.rows - pad_i,
            "last_depth": matrix.rows - pad_k,
            "a_line": self.a_line,
            "b_line": self.b_end - k * matrix.rows * j,
            "c_line": c_line,
            "a_address": self.addresses["a"],
            "b_address": self.addresses["b"],
            "c_address": self.addresses["c"],
            "a_pitch": self.strides["a"] * matrix.operand_bytes,
            "b_pitch": self.strides["b"] * matrix.operand_bytes,
            "c_pitch": self.strides["c"] * element,
        })

    def require_d(self, width, end):
        """Refuse a load of D that does not fit."""
        address, size = self.addresses["d"], self.config.shared.size
        inside = address - 0xFF000000
        if (
            end > self.matrix.accumulator_rows
            or address % 4
            or (inside >= 0 and (inside + 4 * width > size or 4 * self.strides["d"] >= 2 * size))
        ):
            raise RefusedError(OUT_OF_RANGE)

    def require_fit(self, skip, element, c_line):
        """Refuse a LOOP_WS whose matrices do not fit."""
        matrix, size = self.matrix, self.config.shared.size
        (i, j, k), (pad_i, pad_j, pad_k) = self.sizes, self.pads
        rows, columns = matrix.rows, matrix.columns
        longest = max(i * rows * matrix.operand_bytes, k * rows * matrix.operand_bytes)
        fits = (
            min(i, j, k) > 0
            and pad_i < rows
            and pad_j < columns
            and pad_k < rows
            and longest <= FIELD_MAXIMUM
            and j * columns * 4 <= FIELD_MAXIMUM
            # Sizes must be legal even if an operation does almost nothing.
            and max(i, j) * rows <= matrix.accumulator_rows
            and k * rows * max(matrix.a_bytes, matrix.b_bytes) <= size
        )
        computes = not skip["ex"]
        stores = not skip["c"]
        if computes or stores:
            fits = fits and self.base + i * rows * j <= matrix.accumulator_rows
        if computes or not skip["a"]:
            fits = fits and (self.a_line + i * rows * k) * matrix.a_bytes <= size
        if computes or not skip["b"]:
            fits = fits and k * rows * j <= self.b_end <= size // matrix.b_bytes
        if stores and c_line is not None:
            end = c_line * matrix.a_bytes + i * rows * j * columns * element
            fits = fits and end <= size
        if not fits:
            raise RefusedError(OUT_OF_RANGE)
