"""Lines under way, found by what stands for them."""

from amaranth import *

__all__ = ["matches"]


def matches(m: Module, put: Value, key: Value, looked_for: Value) -> Signal:
    """Keep `key` where the one-hot `put` says; return where `looked_for` is kept, of all ever."""
    kept = [Signal(len(key), name=f"key_{n}", reset_less=True) for n in range(len(put))]
    found = Signal(len(put))
    for n, each in enumerate(kept):
        with m.If(put[n]):
            m.d.sync += each.eq(key)
    m.d.comb += found.eq(Cat(each == looked_for for each in kept))
    return found
