"""Arithmetic of the instruction-set model over arrays, from the same C++, for tests."""

import ctypes
import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...hw.arith.float.rounding import Rounding
from ...hw.base.build_cache import cached, digest
from ...hw.base.compiler import compile_all, find_compiler, link
from ...hw.base.native_interface import NativeLibrary
from ...hw.config.tensor import HgmmaConfig, TensorConfig
from ...hw.isa.operations import SpecialOperation
from .coefficients import special_header
from .library import FLAGS
from .native_types import ISS, NATIVE, native_numerics

__all__ = [
    "OPERANDS",
    "ROUNDED",
    "build_arithmetic",
    "compute",
    "compute_exact",
    "compute_warps",
    "hgmma",
    "hmma",
    "on_processor",
    "special_function",
]

SOURCE = "arithmetic/arithmetic.cpp"
#: Instructions with a fast path for ordinary operands, and their number of operands.
ROUNDED = {
    **dict.fromkeys(("fmadd.s", "fmsub.s", "fnmsub.s", "fnmadd.s"), 3),
    **dict.fromkeys(("fadd.s", "fsub.s", "fmul.s", "fdiv.s"), 2),
    "fsqrt.s": 1,
}
#: All instructions, and their number of operands.
OPERANDS = {
    **ROUNDED,
    **dict.fromkeys(("fmin.s", "fmax.s", "feq.s", "flt.s", "fle.s"), 2),
    **dict.fromkeys(("fclass.s", "fcvt.w.s", "fcvt.wu.s", "fcvt.s.w", "fcvt.s.wu"), 1),
    **dict.fromkeys(("fcvt.h.s", "fcvt.bf16.s", "fcvt.s.h", "fcvt.s.bf16"), 1),
    **dict.fromkeys(("fpack.h.s", "fpack.bf16.s"), 2),
    **dict.fromkeys(("funpackl.s.h", "funpackh.s.h", "funpackl.s.bf16", "funpackh.s.bf16"), 1),
}


def included(name: str, found: dict[str, str]) -> dict[str, str]:
    """Return the texts of a source and of all our headers that it includes, by name."""
    if name not in found and (NATIVE / name).exists():
        found[name] = (NATIVE / name).read_text()
        for inner in re.findall(r'#include "(.*)"', found[name]):
            included(inner, found)
    return found


def build_arithmetic() -> Path:
    """Return the path of the library; build it if it is not in the cache."""
    compiler = find_compiler()
    flags = [*FLAGS, *compiler.flags(2)]
    tables = special_header()
    texts = included(SOURCE, {})

    def build(directory: Path) -> None:
        (directory / "special_tables.hpp").write_text(tables)
        target = directory / "arithmetic.o"
        job = (NATIVE / SOURCE, target, [*flags, f"-I{directory}", f"-I{NATIVE}"])
        compile_all(compiler, [job])
        link(compiler, [target], directory / "arithmetic.so")
        target.unlink()

    key = digest([tables, *texts, *texts.values(), *compiler.key(flags)])
    return cached("arithmetic", key, build) / "arithmetic.so"


@functools.cache
def library() -> NativeLibrary:
    """Return the loaded library; the functions of instructions have no declarations in C++."""
    return NativeLibrary(build_arithmetic(), ISS)


def columns(operation: str, operands, rounding) -> list[np.ndarray]:
    """Return three operands and the rounding modes as arrays of equal length."""
    wanted = OPERANDS[operation]
    if len(operands) != wanted:
        raise ValueError(f"{operation} must have {wanted} operands, not {len(operands)}")
    filled = [*operands, *[np.uint32(0)] * (3 - wanted), rounding]
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x)).astype(np.uint32) for x in filled))
    return [np.ascontiguousarray(array) for array in arrays]


def call(name: str, operation: str, operands, rounding) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of a C++ function over arrays."""
    arrays = columns(operation, operands, rounding)
    results, flags = np.zeros((2, len(arrays[0])), np.uint32)
    pointers = (each.ctypes for each in (*arrays, results, flags))
    library()[name](ctypes.c_size_t(len(results)), *pointers)
    return results, flags


def symbol(operation: str, kind: str = "") -> str:
    """Return the name of the C++ function of an instruction."""
    return f"spica_{operation.replace('.', '_')}{kind}"


def compute(
    operation: str, *operands, rounding: Rounding | int | np.ndarray = Rounding.NEAREST_EVEN
) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of an instruction of `OPERANDS`, lane by lane."""
    return call(symbol(operation), operation, operands, rounding)


def compute_exact(
    operation: str, *operands, rounding: Rounding | int | np.ndarray = Rounding.NEAREST_EVEN
) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of an instruction of `ROUNDED`, computed in integers only."""
    return call(symbol(operation, "_exact"), operation, operands, rounding)


def compute_warps(
    operation: str,
    *operands,
    lanes: int,
    masks: np.ndarray | int,
    before: np.ndarray,
    rounding: Rounding | int = Rounding.NEAREST_EVEN,
) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of an instruction of `ROUNDED`, several lanes at a time.

    Parameters
    ----------
    operation : str
        Name of the instruction.
    operands : arrays of stored bits
        Lanes of all warps, warp after warp.
    lanes : int
        Lanes of one warp.
    masks : array or int
        Active lanes of each warp, or of all.
    before : array
        Previous contents of the destination.
    rounding : Rounding
        Rounding mode of all warps.

    """
    arrays = columns(operation, operands, rounding)
    count, rest = divmod(len(arrays[0]), lanes)
    if rest:
        raise ValueError(f"operands must fill warps of {lanes} lanes, not leave a rest of {rest}")
    masks = np.ascontiguousarray(np.broadcast_to(np.asarray(masks, np.uint32), count))
    results, flags = np.array(before, np.uint32), np.zeros(count, np.uint32)
    pointers = (each.ctypes for each in (masks, *arrays, results, flags))
    library()[symbol(operation, "_lanes")](ctypes.c_size_t(count), ctypes.c_uint(lanes), *pointers)
    return results, flags


def special_function(operation: SpecialOperation, a) -> np.ndarray:
    """Return a special function of stored numbers, stored."""
    a = np.ascontiguousarray(a, np.uint32)
    results = np.zeros_like(a)
    library().spica_special(a.size, operation, a, results)
    return results


def hmma(registers, accumulators: int, config: TensorConfig | None = None) -> np.ndarray:
    """Return the registers of warps, (warps, 32, threads), after ``hmma``.

    The accumulator begins at register `accumulators`.
    """
    config = config or TensorConfig()
    numerics = native_numerics(config)
    registers = np.array(registers, np.uint32, order="C")
    library().spica_hmma(numerics, len(registers), config.threads, accumulators, registers)
    return registers


def hgmma(a, b, registers, config: HgmmaConfig | None = None) -> np.ndarray:
    """Return the registers of warps, (warps, 32, 8), after ``hgmma``.

    `a` and `b` are the operands in shared memory, (warps, 1024) bytes each.
    """
    numerics = native_numerics(config or HgmmaConfig())
    a, b = (np.ascontiguousarray(x, np.uint8) for x in (a, b))
    registers = np.array(registers, np.uint32, order="C")
    library().spica_hgmma(numerics, len(registers), a, b, registers)
    return registers


@contextmanager
def on_processor(mode: str) -> Iterator[None]:
    """Set a mode of `Processor` of the C++ in its calls, as other code in the process may have.

    Results must not change.
    """
    modes = ISS.enumeration("Processor")
    library().spica_choose_processor(modes[mode])
    try:
        yield
    finally:
        library().spica_choose_processor(modes.AsIs)
