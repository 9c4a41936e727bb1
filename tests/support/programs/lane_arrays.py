"""Float instructions of the instruction-set model over arrays: a loop of loads, one, and stores."""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from spica.hw.arith.float.rounding import Rounding
from spica.hw.isa.instructions import INSTRUCTIONS
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss.program_bench import END, give, machine

__all__ = ["compute", "compute_warps", "on_processor", "operands_of"]

#: Modes of the host's floating point: bits of MXCSR (x86-64) and of FPCR (AArch64).
PROCESSORS = {
    "as_is": (0, 0),
    "toward_zero": (0x6000, 0xC0_0000),
    "down": (0x2000, 0x80_0000),
    "up": (0x4000, 0x40_0000),
    "flushing": (0x8040, 0x100_0000),
}
#: Place of that register in `fenv_t` of glibc.
CONTROL = {"x86_64": 28, "aarch64": 0}
#: Registers: pointers to masks, to flags of warps, and from `DESTINATION` on to destination and
#: operands; the last mask, bytes of a warp, and a mask of all lanes.
MASKS, END_OF_MASKS, FLAGS, STRIDE, ALL_LANES, DESTINATION = range(10, 16)
LOADS, STORES = {"x": "lw", "f": "flw"}, {"x": "sw", "f": "fsw"}
ARRAYS = 0x8100_0000


@contextmanager
def on_processor(mode: str) -> Iterator[None]:
    """Set a mode of `PROCESSORS`, as other code in the process may have."""
    if mode == "as_is":
        yield
        return
    if platform.system() != "Linux" or platform.machine() not in CONTROL:
        pytest.skip("the layout of the processor's floating-point state is not known")
    library, state = ctypes.CDLL("libm.so.6"), (ctypes.c_uint32 * 64)()
    library.fegetenv(state)
    changed = (ctypes.c_uint32 * 64)(*state)
    changed[CONTROL[platform.machine()] // 4] |= PROCESSORS[mode][platform.machine() == "aarch64"]
    library.fesetenv(changed)
    try:
        yield
    finally:
        library.fesetenv(state)


def operands_of(operation: str) -> int:
    """Return the number of operands of an instruction."""
    return len(INSTRUCTIONS[operation].registers) - 1


def program(operation: str) -> str:
    """Return the loop over warps: only the lanes of a mask execute the instruction."""
    target, *sources = (file.value for file in INSTRUCTIONS[operation].registers.values())
    # The destination first, which is loaded too.
    names = [f"{file}{28 + k}" for k, file in enumerate((target, *sources))]
    loads = [f"{LOADS[name[0]]} {name}, 0(x{DESTINATION + k})" for k, name in enumerate(names)]
    steps = [f"add x{DESTINATION + k}, x{DESTINATION + k}, x{STRIDE}" for k in range(len(names))]
    return "\n".join([
        *("loop:", *loads, f"lw t0, 0(x{MASKS})", "csrrw x0, fflags, x0", "vx_tmc t0"),
        *(f"{operation} {', '.join(names)}", f"vx_tmc x{ALL_LANES}", "csrr t0, fflags"),
        *(f"{STORES[target]} {names[0]}, 0(x{DESTINATION})", f"sw t0, 0(x{FLAGS})", *steps),
        *(f"addi x{MASKS}, x{MASKS}, 4", f"addi x{FLAGS}, x{FLAGS}, 4"),
        *(f"bne x{MASKS}, x{END_OF_MASKS}, loop", END),
    ])


def compute_warps(
    operation: str,
    *operands: np.ndarray | int,
    lanes: int,
    masks: np.ndarray | int,
    before: np.ndarray,
    rounding: Rounding = Rounding.NEAREST_EVEN,
    processor: str = "as_is",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the destination of an instruction, warp after warp, and the flags of each warp.

    Parameters
    ----------
    operation : str
        Name of the instruction.
    operands : arrays of stored bits
        Lanes of all warps, warp after warp.
    lanes : int
        Lanes of one warp.
    masks : array or int
        Active lanes of each warp, or of all; at least one.
    before : array
        Previous contents of the destination.
    rounding : Rounding
        Rounding mode of all warps.
    processor : str
        Mode of the host, see `on_processor`.

    """
    iss = machine(program(operation), warps=1, threads=lanes)
    size = len(before)
    count = size // lanes
    arrays = [
        np.broadcast_to(np.asarray(values, np.uint32), size) for values in (before, *operands)
    ]
    places = [ARRAYS + k * 4 * size for k in range(len(arrays) + 2)]
    masks = np.broadcast_to(np.asarray(masks, np.uint32), count)
    for place, array in zip(places, [*arrays, masks], strict=False):
        iss.write(place, np.ascontiguousarray(array))
    *columns, first_mask, flags = places
    rows = {DESTINATION + k: place + 4 * np.arange(lanes) for k, place in enumerate(columns)}
    rows |= {MASKS: first_mask, END_OF_MASKS: first_mask + 4 * count, FLAGS: flags}
    give(iss, rows | {STRIDE: 4 * lanes, ALL_LANES: -1})
    iss.set_warp(0, 0, frm=rounding)
    with on_processor(processor):
        outcome = iss.run(limit=40 * count)
    assert outcome.stop is StopReason.DONE, outcome
    results, raised = iss.read(columns[0], 4 * size), iss.read(flags, 4 * count)
    return results.view(np.uint32), raised.view(np.uint32)


def compute(
    operation: str,
    *operands: np.ndarray | int,
    rounding: Rounding = Rounding.NEAREST_EVEN,
    processor: str = "as_is",
) -> tuple[np.ndarray, np.ndarray]:
    """Return results and flags of an instruction, in warps of one lane."""
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(x)) for x in operands))
    before = np.zeros(len(arrays[0]), np.uint32)
    return compute_warps(
        operation,
        *arrays,
        lanes=1,
        masks=1,
        before=before,
        rounding=rounding,
        processor=processor,
    )
