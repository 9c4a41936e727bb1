"""State of a warp as the array of words that C++ exports and imports."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.native_interface import NativeStructure
from .faults import numbers_text
from .native_types import ISS
from .outcome import StackEntry, WarpState

__all__ = [
    "change_warp",
    "describe_phase",
    "describe_wait",
    "head_of",
    "warp_state",
    "words_of_warp",
]

CONTROL_REGISTERS = ("fflags", "frm", "mscratch", "mepc")
STACK_WORDS = 4 * 32


def words_of_warp(threads: int) -> int:
    """Return the number of words of a warp's state."""
    return head_words() + ISS.constant("kDroppedRow") * threads + STACK_WORDS


def head_words() -> int:
    """Return the number of words before the register rows and the stack entries."""
    return ctypes.sizeof(ISS.structure("WarpHead")) // 4


def head_of(words: np.ndarray) -> NativeStructure:
    """Return the first words, as a view."""
    return ISS.structure("WarpHead").from_buffer(words.data)


def rows_of(words: np.ndarray, threads: int) -> np.ndarray:
    """Return the registers in `words`: integer rows, then float rows."""
    return words[head_words() : -STACK_WORDS].reshape(-1, threads)


def warp_state(words: np.ndarray, threads: int, waits: str) -> WarpState:
    """Return a copy of the state in `words`."""
    head, rows = head_of(words), rows_of(words, threads)
    entries = words[-STACK_WORDS:].reshape(-1, 4)[: head.depth].tolist()
    stack = (StackEntry(both, rest, pc, bool(second)) for both, rest, pc, second in entries)
    return WarpState(
        pc=head.pc,
        mask=head.mask,
        active=bool(head.active),
        waits=waits,
        sleeps=bool(head.sleeping),
        awaits_phase=bool(head.awaiting),
        integers=rows[:32].copy(),
        floats=rows[32:].copy(),
        fflags=head.fflags,
        frm=head.frm,
        mscratch=head.mscratch,
        mepc=head.mepc,
        stack=tuple(stack),
    )


def change_warp(
    words: np.ndarray,
    threads: int,
    *,
    mask: int | None = None,
    active: bool | None = None,
    integers: np.ndarray | None = None,
    floats: np.ndarray | None = None,
    **numbers: int,
) -> None:
    """Change the given fields of `words`."""
    given: dict[str, Any] = dict(numbers)
    if mask is not None:
        given |= {"mask": mask, "active": mask != 0}
    if active is not None:
        given["active"] = active
    for name, value in given.items():
        if name not in ("pc", "mask", "active", *CONTROL_REGISTERS):
            raise TypeError(f"a warp has no field {name} that can be set")
        setattr(head_of(words), name, int(value))
    rows = rows_of(words, threads)
    for file, values in ((rows[:32], integers), (rows[32:], floats)):
        if values is not None:
            file[:] = np.asarray(values)


def describe_wait(core: int, barrier: int, words: Sequence[int], cores: int) -> str:
    """Return the barrier state of a waiting warp as text, from the words of ``iss_barrier``.

    `cores` are those of a cluster.
    """
    of_cores, arrived, expected, complete = words
    here = arrived.bit_count()
    if of_cores:
        return f"barrier {barrier & 0x7FFF_FFFF}: {here} of {expected} cores have arrived"
    if here < expected:
        return f"barrier {barrier}: {here} of {expected} warps of core {core} have arrived"
    own = ((1 << cores) - 1) << core // cores * cores
    missing = numbers_text("core", ~complete & own)
    return f"barrier {barrier}: core {core} has arrived, {missing} not yet"


def describe_phase(words: Sequence[int]) -> str:
    """Return the phase for which a warp sleeps as text, from the words of ``iss_awaited``."""
    phase, is_barrier, pending, expected, difference, parity = words
    head = f"mbarrier {phase & ~1:#010x}, phase {phase & 1}"
    if not is_barrier:
        return f"{head}: no barrier any more"
    if parity != phase & 1:
        return f"{head}: initialised again"
    missing = [f"{pending} of {expected} arrivals"] if pending else []
    transferred = difference - (difference >> 31 << 32)
    if transferred > 0:
        missing.append(f"{transferred} bytes")
    if transferred < 0:
        missing.append(f"expectation of {-transferred} bytes that have come")
    return f"{head}: {' and '.join(missing)} missing"
