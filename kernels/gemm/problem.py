"""One matrix product: sizes, formats, DRAM layout, and the memory image."""

from dataclasses import dataclass

import numpy as np

from ...hw.config.arithmetic import ARITHMETIC
from ...hw.config.checks import require_choice, require_integer
from ...hw.isa.memory_map import DRAM_BASE, DRAM_END
from ..elements import dtype_of

__all__ = ["GUARD_BYTES", "GemmProblem", "ceil_div"]

#: Bytes before and after C that must stay unchanged; matrices start at multiples of it.
GUARD_BYTES = 64
GUARD_PATTERN = 0xA5
#: Pattern between rows of A and B: NaN in every format that has one.
GAP_PATTERN = 0xFF


def ceil_div(value: int, unit: int) -> int:
    """Return the units that hold a value."""
    return -(-value // unit)


@dataclass(frozen=True, kw_only=True)
class GemmProblem:
    """C = A·B, with M x K, K x N and M x N elements, each row-major in DRAM.

    `GemmProblem.placed` chooses pitches and addresses.

    Parameters
    ----------
    m, n, k : int
        Sizes, 1 or more.
    a_base, b_base, c_base : int
        DRAM byte address of the first element, a multiple of the element's size.
    a_pitch, b_pitch, c_pitch : int
        Elements between the starts of two rows, at least a row.
    operand : str
        Format of A and B, a name in `ARITHMETIC`.
    c_format : str
        Format of C, one of those that `ARITHMETIC` lists for the operand.
    relu : bool
        Whether negative results become zero.
    scale : float or None
        FP32 factor of every result; None for no scaling.

    """

    m: int
    n: int
    k: int
    a_base: int
    b_base: int
    c_base: int
    a_pitch: int
    b_pitch: int
    c_pitch: int
    operand: str = "fp16"
    c_format: str = "fp16"
    relu: bool = False
    scale: float | None = None

    def __post_init__(self):
        require_choice("operand", self.operand, tuple(ARITHMETIC))
        require_choice("c_format", self.c_format, ARITHMETIC[self.operand].c_formats)
        for name in ("m", "n", "k"):
            require_integer(name, getattr(self, name), 1, (1 << 32) - 1)
        for name, (rows, columns, _) in self.shapes.items():
            pitch, base = getattr(self, f"{name}_pitch"), getattr(self, f"{name}_base")
            if pitch < columns:
                raise ValueError(f"{name}_pitch must be at least a row, {columns}, not {pitch!r}")
            if base % self.element_bytes(name):
                raise ValueError(
                    f"{name}_base must be a multiple of {self.element_bytes(name)}, not {base:#x}"
                )
            end = base + self.span_bytes(name)
            if base < DRAM_BASE or end > DRAM_END:
                raise ValueError(
                    f"{name.upper()} of {rows} x {columns} with pitch {pitch} must lie within "
                    f"DRAM, {DRAM_BASE:#x} to {DRAM_END:#x}, not {base:#x} to {end:#x}"
                )

    @classmethod
    def placed(cls, *, m, n, k, a_pitch=None, b_pitch=None, c_pitch=None, skew=0, **rest):
        """Return a problem with A, B, C one after another in DRAM, with guards around C.

        Pitches default to a row, the format of C to the narrow one. `skew` moves each matrix by
        this many elements from its aligned address.
        """
        operand = rest.setdefault("operand", "fp16")
        require_choice("operand", operand, tuple(ARITHMETIC))
        c_format = rest.setdefault("c_format", ARITHMETIC[operand].narrow)
        require_choice("c_format", c_format, ARITHMETIC[operand].c_formats)
        pitches = {
            "a": k if a_pitch is None else a_pitch,
            "b": n if b_pitch is None else b_pitch,
            "c": n if c_pitch is None else c_pitch,
        }
        sizes = {name: (m if name != "b" else k) * pitch for name, pitch in pitches.items()}
        bases, end = {}, DRAM_BASE
        for name in ("a", "b", "c"):
            size = dtype_of(c_format if name == "c" else operand).itemsize
            bases[name] = -(-end // GUARD_BYTES) * GUARD_BYTES + GUARD_BYTES + skew * size
            end = bases[name] + sizes[name] * size
        places = {f"{name}_base": base for name, base in bases.items()}
        places |= {f"{name}_pitch": pitch for name, pitch in pitches.items()}
        return cls(m=m, n=n, k=k, **places, **rest)

    @property
    def shapes(self) -> dict[str, tuple[int, int, str]]:
        """Rows, columns and format of each matrix."""
        return {
            "a": (self.m, self.k, self.operand),
            "b": (self.k, self.n, self.operand),
            "c": (self.m, self.n, self.c_format),
        }

    @property
    def macs(self) -> int:
        """Number of multiply-adds."""
        return self.m * self.n * self.k

    def dtype(self, name: str) -> np.dtype:
        """Return the NumPy type of matrix `name` in the form of `kernels.elements`."""
        return dtype_of(self.shapes[name][2])

    def element_bytes(self, name: str) -> int:
        """Return the bytes of one element of matrix `name`."""
        return self.dtype(name).itemsize

    def span_bytes(self, name: str) -> int:
        """Return the bytes from the first element of matrix `name` to the end of the last."""
        rows, columns, _ = self.shapes[name]
        return ((rows - 1) * getattr(self, f"{name}_pitch") + columns) * self.element_bytes(name)

    def image(self, a: np.ndarray, b: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Return the initial DRAM contents: (address, bytes) of A, B and C with its guards."""
        guarded = np.full(self.span_bytes("c") + 2 * GUARD_BYTES, GUARD_PATTERN, dtype=np.uint8)
        return [
            (self.a_base, self._spread("a", a)),
            (self.b_base, self._spread("b", b)),
            (self.c_base - GUARD_BYTES, guarded),
        ]

    @property
    def c_region(self) -> tuple[int, int]:
        """Address and size in bytes of C with its guards, the input of `result`."""
        return self.c_base - GUARD_BYTES, self.span_bytes("c") + 2 * GUARD_BYTES

    def result(self, region) -> tuple[np.ndarray, int]:
        """Return C from the bytes of `c_region`, and the number of modified bytes around it."""
        region = np.frombuffer(bytes(region), dtype=np.uint8)
        size, (rows, columns, _) = self.element_bytes("c"), self.shapes["c"]
        starts = GUARD_BYTES + np.arange(rows) * self.c_pitch * size
        places = starts[:, None] + np.arange(columns * size)
        c = region[places].view(self.dtype("c"))
        around = np.ones(len(region), dtype=bool)
        around[places] = False
        return c, int(np.count_nonzero(region[around] != GUARD_PATTERN))

    def _spread(self, name: str, matrix: np.ndarray) -> np.ndarray:
        """Return the bytes of `matrix` with gaps between its rows."""
        rows, columns, _ = self.shapes[name]
        if matrix.shape != (rows, columns) or matrix.dtype != self.dtype(name):
            raise ValueError(
                f"{name} must be {rows} x {columns} of {self.dtype(name)}, not "
                f"{' x '.join(map(str, matrix.shape))} of {matrix.dtype}"
            )
        pitch_bytes = getattr(self, f"{name}_pitch") * self.element_bytes(name)
        spread = np.full((rows, pitch_bytes), GAP_PATTERN, dtype=np.uint8)
        row_bytes = columns * self.element_bytes(name)
        spread[:, :row_bytes] = np.ascontiguousarray(matrix).view(np.uint8).reshape(rows, -1)
        return spread.reshape(-1)[: self.span_bytes(name)]
