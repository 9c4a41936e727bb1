"""Kernels for the cores: C source, input data and expected results."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

__all__ = ["Buffer", "Kernel", "Problem", "every_kernel", "find_kernel", "kernel_folders"]


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
    bits : ndarray or None
        Bit-exact contents at the end, checked in addition: elements of the type of `data`. For
        results whose arithmetic has a golden model.
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
    bits: np.ndarray | None = None
    is_checked: bool = True
    form: str | None = None
    permits_overflow: bool = False
    is_written: bool = True
    columns: int | None = None


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
        ``pose(rng, **sizes)`` returns a `Problem`. It raises `ValueError` for invalid sizes, with
        the rule and the value.
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

    def problem(self, sizes: dict[str, int], seed: int) -> Problem:
        """Return the problem of these sizes, with data generated from `seed`."""
        return self.pose(np.random.default_rng(seed), **sizes)


def kernel_folders() -> list[str]:
    """Return the names of the kernels for cores: folders with a module ``kernel``."""
    return sorted(path.parent.name for path in Path(__file__).parent.glob("*/kernel.py"))


def every_kernel() -> Iterator[Kernel]:
    """Yield the kernels for cores, by name."""
    return map(find_kernel, kernel_folders())


def find_kernel(name: str) -> Kernel:
    """Return the kernel of a folder."""
    return importlib.import_module(f"{__package__}.{name}.kernel").KERNEL
