"""Structures shared between Python and the C++ of the instruction-set model."""

import ctypes

from ...hw.arith.dot_product.config import DotProductConfig
from ...hw.config import ClusterConfig, CoreConfig
from ...hw.config.tensor import TensorNumerics

__all__ = [
    "HISTORY",
    "Callbacks",
    "NativeConfig",
    "NativeFault",
    "NativeFinding",
    "NativeNumerics",
    "NativeRace",
    "NativeRegion",
    "NativeRetired",
    "NativeWork",
    "native_config",
    "native_numerics",
]

MAX_THREADS = 32
MAX_RESULTS = 32  # registers that an instruction writes
HISTORY = 64  # instructions in a warp's history
TENSORS = (None, "hmma", "hgmma")
#: `Sum` of native/arithmetic/numerics.hpp.
SUMS = ("virgo_hmma", "fp32_rne", "fused")
Lanes = ctypes.c_uint32 * MAX_THREADS


class NativeNumerics(ctypes.Structure):
    """`TensorNumerics` of native/arithmetic/numerics.hpp."""

    _fields_ = (
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("sum", "terms", "number_width"),
                *("magnitude_width", "number_fraction", "bias", "largest", "has_infinity"),
            )
        ),
        *((name, ctypes.c_int32) for name in ("fraction_width", "result_fraction", "floor")),
    )


def native_numerics(tensor: TensorNumerics) -> NativeNumerics:
    """Return the numerics of tensor instructions in their C++ structure."""
    dot = DotProductConfig.of(tensor)
    form = dot.a_format
    fused = dot.offer.fused
    return NativeNumerics(
        sum=SUMS.index(tensor.numerics if dot.is_tree else "fused"),
        terms=tensor.terms,
        number_width=tensor.operand_width,
        magnitude_width=form.magnitude_width,
        number_fraction=form.fraction_width,
        bias=form.bias,
        largest=form.largest,
        has_infinity=form.has_infinity,
        fraction_width=0 if fused is None else fused.fraction_width,
        result_fraction=0 if fused is None else fused.result_fraction_width,
        floor=0 if fused is None else dot.alignment_floor,
    )


class NativeConfig(ctypes.Structure):
    """`Config` of native/config.hpp."""

    _fields_ = (
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("cores", "warps", "threads", "warp_width", "thread_width", "stack_depth"),
                *("follows_last_lane", "tensor"),
            )
        ),
        ("numerics", NativeNumerics),
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("a_row_bytes", "b_row_bytes", "is_swizzled"),
                *("barriers", "has_core_barriers", "shared_bytes", "is_alone", "line_bytes"),
                *("checks_races", "checks_memory", "is_random"),
            )
        ),
        ("seed", ctypes.c_uint64),
    )


class NativeFault(ctypes.Structure):
    """`Fault` of native/retired.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in (
            *("reason", "core", "warp", "pc", "word", "lanes", "has_address", "address"),
            *("first", "second"),
        )
    )


class NativeRace(ctypes.Structure):
    """`RaceReport` of native/races/races.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in (
            *("agent", "time", "pc", "is_store", "address", "lack"),
            *("later", "later_time", "with_store", "size"),
        )
    )


class NativeFinding(ctypes.Structure):
    """`Finding` of native/memory_check/memory_check.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_uint32)
        for name in (
            *("kind", "core", "warp", "lane", "pc", "link", "address", "size"),
            *("count", "stream", "time"),
        )
    )


class NativeRegion(ctypes.Structure):
    """`UnitRegion` of native/races/races.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_uint32) for name in ("start", "pitch", "rows", "width", "is_store")
    )


class NativeWork(ctypes.Structure):
    """`UnitWork` of native/races/races.hpp."""

    _fields_ = (("stream", ctypes.c_uint32), ("time", ctypes.c_uint32))


class NativeRetired(ctypes.Structure):
    """`Retired` of native/retired.hpp."""

    _fields_ = (
        *(
            (name, ctypes.c_uint32)
            for name in ("core", "warp", "pc", "word", "mask", "row", "flags", "results")
        ),
        ("values", Lanes),
        *((name, ctypes.c_uint32) for name in ("size", "is_store")),
        ("addresses", Lanes),
        ("data", Lanes),
        ("before", Lanes),
        ("earlier", Lanes * (MAX_RESULTS - 1)),
    )


class Callbacks(ctypes.Structure):
    """`Devices` of native/machine.hpp."""

    READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
    WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32)
    CISC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32)
    _fields_ = (("read", READ), ("write", WRITE), ("cisc", CISC))


def native_config(
    config: ClusterConfig,
    core: CoreConfig,
    *,
    is_alone: bool,
    is_random: bool,
    seed: int,
    checks_races: bool = False,
    checks_memory: bool = False,
) -> NativeConfig:
    """Return a machine's config in its C++ structure."""
    tile = core.hgmma_config
    return NativeConfig(
        cores=config.cores,
        warps=core.warps,
        threads=core.threads,
        warp_width=core.warp_width,
        thread_width=core.thread_width,
        stack_depth=core.stack_depth,
        follows_last_lane=core.divergent_branch == "vortex",
        tensor=TENSORS.index(core.tensor),
        numerics=native_numerics(core.tensor_config),
        a_row_bytes=tile.a_row_bytes,
        b_row_bytes=tile.b_row_bytes,
        is_swizzled=tile.is_swizzled,
        barriers=config.barriers,
        has_core_barriers=config.barrier_scope == "core",
        shared_bytes=config.shared.size,
        is_alone=is_alone,
        line_bytes=core.l1d.line_bytes,
        checks_races=checks_races,
        checks_memory=checks_memory,
        is_random=is_random,
        seed=seed & 0xFFFF_FFFF_FFFF_FFFF,
    )
