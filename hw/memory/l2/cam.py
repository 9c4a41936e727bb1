"""Content-addressable memory (CAM) of the keys of lines in flight."""

from amaranth import *

__all__ = ["cam_matches"]


def cam_matches(m: Module, put: Value, key: Value, looked_for: Value) -> Signal:
    """Store `key` in the entries of the one-hot `put`; return the entries equal to `looked_for`.

    The match covers every entry ever written: the caller masks those that are free.
    """
    kept = [Signal(len(key), name=f"key_{n}", reset_less=True) for n in range(len(put))]
    found = Signal(len(put))
    for n, each in enumerate(kept):
        with m.If(put[n]):
            m.d.sync += each.eq(key)
    m.d.comb += found.eq(Cat(each == looked_for for each in kept))
    return found
