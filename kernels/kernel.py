"""Kernels for the cores: C source, input data and expected results."""

import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

__all__ = [
    "Buffer",
    "Input",
    "Kernel",
    "Problem",
    "every_kernel",
    "find_kernel",
    "kernel_folders",
]


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """An array in DRAM.

    Parameters
    ----------
    data : ndarray
        Initial contents: 8-, 16- or 32-bit elements, C order.
    expected : ndarray or None
        Expected contents at the end, of the shape of `data`: float64 values for floats, integers
        for integers. None: the initial contents, bit for bit.
    bound : ndarray or float
        Largest deviation of a result from `expected`; 0: exact.
    golden : callable or None
        Golden model of the contents at the end, called when they are checked: `bits`.
    is_checked : bool
        Whether the final contents are checked.
    form : str or None
        Format of floats without a type in NumPy, whose bits `data` holds.
    permits_overflow : bool
        Whether operands provoke results that leave the range of the format: infinities and NaN
        with a finite expected value, which then must have the expected bits.
    is_written : bool
        Whether the host writes `data`, which else are zeros of the size only.
    columns : int or None
        Columns that are checked and are part of results; further ones are padding. None for all.

    """

    data: np.ndarray
    expected: np.ndarray | None = None
    bound: np.ndarray | float = 0.0
    golden: Callable[[], np.ndarray] | None = None
    is_checked: bool = True
    form: str | None = None
    permits_overflow: bool = False
    is_written: bool = True
    columns: int | None = None

    @cached_property
    def bits(self) -> np.ndarray | None:
        """Bit-exact contents at the end, elements of the type of `data`; None without a model."""
        return None if self.golden is None else self.golden()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One run of a kernel: data, arguments and expected results.

    Parameters
    ----------
    buffers : dict of str to Buffer
        Arrays placed in DRAM, in this order.
    arguments : tuple
        The words at `ARGUMENTS`, in order: the name of a buffer stands for its address, an int for
        itself modulo 2**32, a float for its bits in FP32.
    operations : int
        Arithmetic operations of the problem, independent of the method.
    macs : tuple of int
        Multiply-adds of it that are each matrix unit's, by its number.
    tensor_macs : int
        Multiply-adds of it that are the tensor units'.
    formats : mapping of str to str
        Formats of the matrices of matrix units, by buffer.
    data : str or None
        Kind of operands of matrix units, one of `gemm.data.KINDS`, or ``given``.
    arrangement : str or None
        Where operands get the order of fragments: ``outside`` the measured region, in the initial
        data, or ``inside``. None if they keep their order.
    causal : bool or None
        Whether attention has a causal mask; None for other kernels.
    scale : float or None
        Factor of the scores of attention; None for other kernels.
    defines : tuple of str
        Macros of the program that the problem determines, as ``NAME`` or ``NAME=VALUE``.

    """

    buffers: dict[str, Buffer]
    arguments: tuple[str | int | float, ...]
    operations: int
    macs: tuple[int, ...] = ()
    tensor_macs: int = 0
    formats: Mapping[str, str] = field(default_factory=dict)
    data: str | None = None
    arrangement: str | None = None
    causal: bool | None = None
    scale: float | None = None
    defines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Input:
    """Array that a kernel reads; it is generated unless the user gives one.

    Parameters
    ----------
    shape : str
        Extents, each a product of dimensions of the kernel and numbers, as in ``h w`` or
        ``n*stride``.
    form : str
        Format of the elements: ``fp32``, or ``uint32`` for words.

    """

    shape: str
    form: str = "fp32"

    @property
    def extents(self) -> list[list[str]]:
        """Factors of each extent."""
        return [extent.split("*") for extent in self.shape.split()]

    def sizes_of(self, shape: tuple[int, ...]) -> dict[str, int]:
        """Return the dimensions that an array of this shape determines."""
        named = zip(self.extents, shape, strict=False)
        return {factors[0]: n for factors, n in named if len(factors) == 1 and factors[0].isalpha()}

    def shape_of(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape of the array of a problem."""
        return tuple(
            math.prod(sizes[factor] if factor.isalpha() else int(factor) for factor in factors)
            for factors in self.extents
        )


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel: a folder with C source, and a function that poses problems.

    Parameters
    ----------
    name : str
        Name of the kernel, and of its folder unless `folder` is given.
    dimensions : tuple of str
        Names of its sizes, such as ``("n",)`` or ``("m", "n", "k")``.
    pose : callable
        ``pose(rng, **sizes, **arrays)`` returns a `Problem`; `arrays` are inputs that the user
        gives. It raises `ValueError` for invalid sizes or arrays, with the rule and the value.
    inputs : mapping of str to Input
        Arrays that the user may give, by name.
    folder : Path or None
        Folder of its sources; None for the one of its name.
    files : tuple of Path
        Its sources, if they are not those of a folder.
    usual : tuple of int
        Sizes of a run that is not given any; none if it must be.

    """

    name: str
    dimensions: tuple[str, ...]
    pose: Callable[..., Problem]
    inputs: Mapping[str, Input] = field(default_factory=dict)
    folder: Path | None = None
    files: tuple[Path, ...] = ()
    usual: tuple[int, ...] = ()

    @property
    def sources(self) -> list[Path]:
        """Its files, or the C and C++ files of its folder."""
        if self.files:
            return list(self.files)
        folder = self.folder or Path(__file__).with_name(self.name)
        return sorted(path for path in folder.iterdir() if path.suffix in (".c", ".cpp"))

    def problem(
        self, sizes: dict[str, int], seed: int, arrays: Mapping[str, np.ndarray] | None = None
    ) -> Problem:
        """Return the problem of these sizes, with data generated from `seed` but for `arrays`."""
        if not arrays:
            return self.pose(np.random.default_rng(seed), **sizes)
        with np.errstate(all="ignore"):
            problem = self.pose(np.random.default_rng(seed), **sizes, **arrays)
        for name, buffer in problem.buffers.items():
            if buffer.expected is not None and buffer.data.dtype.kind == "f":
                bound = np.broadcast_to(buffer.bound, buffer.data.shape)
                if not np.isfinite(bound[np.isfinite(buffer.expected)]).all():
                    raise ValueError(
                        f"{name} must have an error bound: values of {', '.join(arrays)} are too "
                        "large for sums in FP32; scale them first"
                    )
        return problem


def kernel_folders() -> list[str]:
    """Return the names of the kernels for cores: folders with a module ``kernel``."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/kernel.py"))


def every_kernel() -> Iterator[Kernel]:
    """Yield the kernels for cores, by name."""
    return map(find_kernel, kernel_folders())


def find_kernel(name: str) -> Kernel:
    """Return the kernel of a folder."""
    return importlib.import_module(f"{__package__}.{name}.kernel").KERNEL
