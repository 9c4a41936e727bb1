"""Tests that the quick search of combinational cycles finds exactly those that Amaranth finds."""

import random

import pytest
from amaranth import *
from amaranth.back import rtlil
from amaranth.hdl import CombinationalCycle
from amaranth.lib.memory import Memory

from spica.hw.emit.amaranth_patches import patched_amaranth

WIDTH = 4


def refuses(make) -> bool:
    """Return whether Amaranth finds a cycle in a module."""
    try:
        rtlil.convert(make(), name="top", ports=[])
    except CombinationalCycle:
        return True
    return False


def both(make) -> bool:
    """Return the verdict of Amaranth's search, after a comparison with that of the quick one."""
    message = refuses(make)
    with patched_amaranth():
        assert refuses(make) == message
    return message


class Random:
    """Module of random logic between signals; most of the statements go forward."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def __call__(self) -> Module:
        self.rng = rng = random.Random(repr(self.rng.getstate()))
        m = Module()
        outer = [Signal(WIDTH, name=f"s{k}") for k in range(12)]
        inner = Module()
        m.submodules.inner = inner
        memory = Memory(shape=WIDTH, depth=4, init=[])
        m.submodules.memory = memory
        read = memory.read_port(domain="comb")
        m.d.comb += read.addr.eq(outer[2])
        for k in range(4, len(outer)):
            body = rng.choice([m, inner])
            few = [rng.choice(outer[:k]) for _ in range(3)]
            if rng.random() < 0.12:
                few[0] = rng.choice(outer[k:])
            body.d.comb += outer[k].eq(self.value(rng, few, read.data))
            if rng.random() < 0.3:
                with body.If(rng.choice(few)[0]):
                    body.d.comb += outer[k][: WIDTH // 2].eq(rng.choice(few))
        m.d.sync += outer[0].eq(outer[-1])
        m.d.comb += outer[1].eq(outer[0])
        return m

    @staticmethod
    def value(rng, few, read):
        """Return an expression of one of the kinds of cells."""
        a, b, c = few
        return rng.choice([
            lambda: a & b,
            lambda: a ^ c,
            lambda: ~a,
            lambda: a + b,
            lambda: Mux(c[0], a, b),
            lambda: Cat(b[1:], a[0]),
            lambda: a.bit_select(b[:2], 2),
            lambda: Array([a, b, c, a])[b[:2]],
            lambda: a << 1,
            lambda: a.matches("1--0"),
            lambda: (a == b) ^ c,
            lambda: read ^ a,
        ])()


def test_both_searches_agree_on_random_logic():
    verdicts = [both(lambda seed=seed: Random(seed)()) for seed in range(120)]
    assert 20 < sum(verdicts) < 100


def test_bits_that_depend_on_other_bits_only_are_no_cycle():
    def chain():
        m, a = Module(), Signal(8)
        m.d.comb += a[1:].eq(a[:-1])
        return m

    def ring():
        m, a = Module(), Signal(8)
        m.d.comb += a.eq(a.rotate_left(1))
        return m

    assert not both(chain)
    assert both(ring)


def test_a_sum_depends_on_all_bits():
    def summed():
        m, a = Module(), Signal(8)
        m.d.comb += a[4:].eq(a[:4] + 1)
        return m

    def fed_back():
        m, a, b = Module(), Signal(4), Signal(4)
        m.d.comb += [a.eq(b + 1), b.eq(Cat(Const(0, 3), a[0]))]
        return m

    assert not both(summed)
    assert both(fed_back)


@pytest.mark.parametrize("is_registered", [False, True])
def test_a_loop_through_a_submodule(is_registered):
    def loop():
        m, inner, a, b = Module(), Module(), Signal(), Signal()
        m.submodules.inner = inner
        domain = inner.d.sync if is_registered else inner.d.comb
        domain += b.eq(~a)
        m.d.comb += a.eq(b)
        return m

    assert both(loop) != is_registered


def test_the_message_is_that_of_amaranth():
    m, a = Module(), Signal(name="looped")
    m.d.comb += a.eq(~a)
    with patched_amaranth(), pytest.raises(CombinationalCycle, match="looped bit 0"):
        rtlil.convert(m, ports=[])
