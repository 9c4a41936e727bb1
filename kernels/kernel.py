"""What a kernel for the cores is: C source, data, and what it must make of them."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["Buffer", "Kernel", "Problem", "every_kernel", "find_kernel"]


@dataclass(frozen=True, kw_only=True)
class Buffer:
    """An array in DRAM.

    Parameters
    ----------
    data : ndarray
        What it holds at the start: 8-, 16- or 32-bit elements, C order.
    expected : ndarray or None
        What it must hold at the end: float64 values for floats, integers for integers, of the
        shape of `data`. None: what it held at the start, to the bit.
    bound : ndarray or float
        How far a result may lie from `expected`; 0: not at all.
    bits : ndarray or None
        What it must hold at the end besides, to the bit: elements of the type of `data`. For
        results whose arithmetic has a golden model.

    """

    data: np.ndarray
    expected: np.ndarray | None = None
    bound: np.ndarray | float = 0.0
    bits: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One run of a kernel: data and what must come out.

    Parameters
    ----------
    buffers : dict of str to Buffer
        What is placed in DRAM, in this order.
    arguments : tuple
        The words at `ARGUMENTS`, one after the other: the name of a buffer stands for its address,
        an int for itself modulo 2**32, a float for its bits in FP32.
    operations : int
        Arithmetic operations that the problem needs, however it is solved.
    macs : tuple of int
        Multiply-adds of it that are each matrix unit's, by its number.

    """

    buffers: dict[str, Buffer]
    arguments: tuple[str | int | float, ...]
    operations: int
    macs: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """A kernel: a folder with C source, and how to pose problems.

    Parameters
    ----------
    name : str
        Of its folder.
    dimensions : tuple of str
        The names of its sizes, as ``("n",)`` or ``("m", "n", "k")``.
    pose : callable
        ``pose(rng, **sizes)`` returns a `Problem`; raises `ValueError` for sizes it does not take,
        with the rule and the value.

    """

    name: str
    dimensions: tuple[str, ...]
    pose: Callable[..., Problem]

    @property
    def sources(self) -> list[Path]:
        """The C and C++ files of its folder."""
        folder = Path(__file__).with_name(self.name)
        return sorted(path for path in folder.iterdir() if path.suffix in (".c", ".cpp"))

    def problem(self, sizes: dict[str, int], seed: int) -> Problem:
        """Return the problem of these sizes, its data made from `seed`."""
        return self.pose(np.random.default_rng(seed), **sizes)


def every_kernel() -> Iterator[Kernel]:
    """Yield the kernels for cores, by name: folders with a module ``kernel``."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if module.ispkg and Path(__file__).with_name(module.name).joinpath("kernel.py").exists():
            yield find_kernel(module.name)


def find_kernel(name: str) -> Kernel:
    """Return the kernel of a folder."""
    return importlib.import_module(f"{__package__}.{name}.kernel").KERNEL
