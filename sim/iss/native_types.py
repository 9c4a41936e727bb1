"""Structures shared between Python and the C++ of the instruction-set model."""

import ctypes

from ...hw.config import ClusterConfig, CoreConfig

__all__ = [
    "HISTORY",
    "Callbacks",
    "NativeConfig",
    "NativeFault",
    "NativeRetired",
    "native_config",
]

MAX_THREADS = 32
HISTORY = 64  # instructions in a warp's history
TENSORS = (None, "hmma", "hgmma")
Lanes = ctypes.c_uint32 * MAX_THREADS


class NativeConfig(ctypes.Structure):
    """`Config` of native/config.hpp."""

    _fields_ = (
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("cores", "warps", "threads", "warp_width", "thread_width", "stack_depth"),
                *("follows_last_lane", "tensor", "barriers", "has_core_barriers"),
                *("shared_bytes", "is_random"),
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


class NativeRetired(ctypes.Structure):
    """`Retired` of native/retired.hpp."""

    _fields_ = (
        *(
            (name, ctypes.c_uint32)
            for name in ("core", "warp", "pc", "word", "mask", "row", "flags")
        ),
        ("values", Lanes),
        *((name, ctypes.c_uint32) for name in ("size", "is_store")),
        ("addresses", Lanes),
        ("data", Lanes),
        ("before", Lanes),
    )


class Callbacks(ctypes.Structure):
    """`Devices` of native/machine.hpp."""

    READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
    WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32, ctypes.c_uint32)
    CISC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint32)
    _fields_ = (("read", READ), ("write", WRITE), ("cisc", CISC))


def native_config(
    config: ClusterConfig, core: CoreConfig, *, is_random: bool, seed: int
) -> NativeConfig:
    """Return a machine's config in its C++ structure."""
    return NativeConfig(
        cores=config.cores,
        warps=core.warps,
        threads=core.threads,
        warp_width=core.warp_width,
        thread_width=core.thread_width,
        stack_depth=core.stack_depth,
        follows_last_lane=core.divergent_branch == "vortex",
        tensor=TENSORS.index(core.tensor),
        barriers=config.barriers,
        has_core_barriers=config.barrier_scope == "core",
        shared_bytes=config.shared.size,
        is_random=is_random,
        seed=seed & 0xFFFF_FFFF_FFFF_FFFF,
    )
