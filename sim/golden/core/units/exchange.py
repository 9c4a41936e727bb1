"""Golden model of votes and shuffles, thread by thread."""

import numpy as np

from .....hw.isa.operations import IntegerOperation as Op

__all__ = ["exchange", "shuffle", "vote"]


def vote(operation: Op, sources, mask) -> int:
    """Return the result of a vote of the active threads of a warp.

    Parameters
    ----------
    operation : IntegerOperation
        One of the votes.
    sources : sequence of int
        Register rs1 of each thread; bit 0 counts.
    mask : sequence of bool
        Active threads.

    """
    votes = {thread: int(sources[thread]) & 1 for thread in range(len(sources)) if mask[thread]}
    match operation:
        case Op.VOTE_ALL:
            return int(all(votes.values()))
        case Op.VOTE_ANY:
            return int(any(votes.values()))
        case Op.VOTE_UNI:
            return int(len(set(votes.values())) <= 1)
        case Op.VOTE_BALLOT:
            return sum(bit << thread for thread, bit in votes.items())
    raise ValueError(f"operation must be a vote, not {operation!r}")


def shuffle(operation: Op, thread: int, sources, selector: int, mask) -> int:
    """Return the result of a shuffle for one thread of a warp.

    Parameters
    ----------
    operation : IntegerOperation
        One of the shuffles.
    thread : int
        Number of the thread.
    sources : sequence of int
        Register rs1 of each thread.
    selector : int
        Register rs2 of this thread: b, clamp and mask of its segment, as wide as a thread number
        each, from bits 0, 6 and 12 on.
    mask : sequence of bool
        Active threads.

    """
    threads = len(sources)
    ones = (1 << (threads - 1).bit_length()) - 1
    b, clamp, segment = (int(selector) >> low & ones for low in (0, 6, 12))
    first = thread & segment
    last = first | (clamp & ~segment)
    other = {
        Op.SHFL_UP: thread - b,
        Op.SHFL_DOWN: thread + b,
        Op.SHFL_BFLY: thread ^ b,
        Op.SHFL_IDX: first | (b & ~segment),
    }[operation]
    is_within = other >= first if operation == Op.SHFL_UP else other <= last
    if not is_within or other >= threads or not mask[other]:
        other = thread
    return int(sources[other])


def exchange(operation: Op, sources, selectors, mask) -> np.ndarray:
    """Return the results of all threads of warps; those of inactive threads are not written.

    Parameters
    ----------
    operation : IntegerOperation
        A vote or a shuffle.
    sources, selectors : arrays of uint32
        Registers rs1 and rs2, by warp and thread.
    mask : array of bool
        Active threads, by warp.

    """
    results = np.zeros(sources.shape, np.uint32)
    for warp, thread in np.ndindex(*sources.shape):
        if operation >= Op.SHFL_UP:
            selector = selectors[warp, thread]
            result = shuffle(operation, thread, sources[warp], selector, mask[warp])
        else:
            result = vote(operation, sources[warp], mask[warp])
        results[warp, thread] = result
    return results
