"""Content-addressable memory (CAM) of lines in flight."""

from amaranth import *

__all__ = ["cam_matches", "in_flight"]


def cam_matches(m: Module, put: Value, key: Value, searched: Value) -> Signal:
    """Store `key` in the entries of the one-hot `put`; return the entries equal to `searched`.

    The match covers every entry ever written: the caller masks those that are free.
    """
    keys = [Signal(len(key), name=f"key_{n}", reset_less=True) for n in range(len(put))]
    matches = Signal(len(put))
    for n, stored_key in enumerate(keys):
        with m.If(put[n]):
            m.d.sync += stored_key.eq(key)
    m.d.comb += matches.eq(Cat(stored_key == searched for stored_key in keys))
    return matches


def in_flight(
    m: Module, begin: Value, end: Value, key: Value, searched: Value
) -> tuple[Signal, Value]:
    """Hold `key` in entry `begin` from the next cycle on, up to the cycle of `end`; one-hot or 0.

    Return the entries in use, and whether one of them holds `searched`.
    """
    used = Signal(len(begin), name="under_way")
    same = cam_matches(m, begin, key, searched)
    m.d.sync += used.eq((used & ~end) | begin)
    return used, (used & same).any()
