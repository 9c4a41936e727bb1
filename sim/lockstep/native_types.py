"""Structures shared with the C++ lockstep, as in sim/native/lockstep/lockstep.hpp."""

import ctypes

from ..iss.native_types import MAX_THREADS, NativeFault

__all__ = ["FAULT", "LANES", "NUMBERS", "Calls", "Difference", "Flight", "Setup"]

WORDS, NUMBERS, LANES, FAULT = range(4)  # `Form`


class Calls(ctypes.Structure):
    """`IssCalls` of sim/native/lockstep/lockstep.hpp."""

    _fields_ = tuple(
        (name, ctypes.c_void_p) for name in ("machine", "step", "write_register", "fault")
    )


class Setup(ctypes.Structure):
    """`LockstepSetup` of sim/native/lockstep/lockstep.hpp."""

    _fields_ = (
        ("model", Calls),
        *(
            (name, ctypes.c_uint32)
            for name in (
                *("core", "slot_bits", "integer_port", "memory_port", "control_port"),
                *("tensor_port", "misaligned_jump", "misaligned", "unaddressable", "refused"),
                *("first_address", "ignores_races"),
            )
        ),
        ("causes", ctypes.c_uint32 * 64),
    )


class Difference(ctypes.Structure):
    """`Difference` of sim/native/lockstep/lockstep.hpp."""

    _fields_ = (
        ("cycle", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("core", "warp", "pc", "form", "lanes")),
        ("expected", ctypes.c_uint32 * MAX_THREADS),
        ("got", ctypes.c_uint32 * MAX_THREADS),
        ("fault", NativeFault),
        ("what", ctypes.c_char * 80),
        *(
            (name, ctypes.c_uint32)
            for name in ("is_stale", "writer", "writer_warp", "writer_pc", "address")
        ),
        ("written", ctypes.c_uint64),
    )


class Flight(ctypes.Structure):
    """`FlightState` of sim/native/lockstep/lockstep.hpp."""

    _fields_ = (
        ("collected", ctypes.c_uint64),
        *((name, ctypes.c_uint32) for name in ("pc", "mask", "port", "is_executed", "is_done")),
    )
