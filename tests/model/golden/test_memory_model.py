"""Tests of the memory model's allowed results: agents with and without caches, fences, the DMA."""

import pytest

from spica.sim.golden.memory.memory_model import outcomes
from spica.sim.golden.memory.memory_steps import (
    Agent,
    Await,
    Copy,
    Fence,
    FenceI,
    Fetch,
    Load,
    Places,
    Store,
)

F = Fence()
APART = Places({"x": 0, "y": 1})
ONE_BEAT = Places({"x": 0, "y": 0})


def registers(*agents, places=APART, cores=(0, 1, 2, 3)):
    """Return the allowed register values; by default each agent is on its own core."""
    numbered = [Agent(core, steps) for core, steps in zip(cores, agents, strict=False)]
    return {values for values, _ in outcomes(numbered, places)}


def message(writer, reader):
    """Return a message from one core to another, with the given code between its accesses."""
    return (
        (Store("x", 1), *writer, Store("y", 1)),
        (Load("y", "a"), *reader, Load("x", "b")),
    )


def test_a_message_needs_both_fences():
    assert (1, 0) not in registers(*message([F], [F]))
    for writer, reader in (([], []), ([F], []), ([], [F])):
        assert (1, 0) in registers(*message(writer, reader))


def test_within_a_core_or_a_beat_nothing_is_overtaken():
    assert (1, 0) not in registers(*message([], []), cores=(0, 0))
    assert (1, 0) not in registers(*message([F], []), places=Places({"x": 0, "y": 1}), cores=(1, 1))
    copied = registers(*message([], []), places=ONE_BEAT)
    # A core's copy may hold its store before memory does, but not the reverse.
    assert (1, 0) in copied


def test_stores_and_loads_overtake_each_other_without_fences():
    def both(*between):
        return registers(
            (Store("x", 1), *between, Load("y", "a")), (Store("y", 1), *between, Load("x", "b"))
        ), registers(
            (Load("x", "a"), *between, Store("y", 1)), (Load("y", "b"), *between, Store("x", 1))
        )

    stores, loads = both()
    assert (0, 0) in stores and (1, 1) in loads
    stores, loads = both(F)
    assert (0, 0) not in stores and (1, 1) not in loads


def test_one_word_is_coherent_to_each():
    two = (Store("x", 1), Store("x", 2))
    assert registers(two, (Load("x", "a"), F, Load("x", "b"))) == {
        (a, b) for a in range(3) for b in range(3) if a <= b
    }
    assert registers((Store("x", 1), Load("x", "a")), (Store("x", 2),)) == {(1,), (2,)}
    results = outcomes([Agent(0, two), Agent(1, (Store("x", 3),))], Places({"x": 0}))
    assert {memory for _, memory in results} == {(2,), (3,)}


def test_bytes_of_a_word_are_kept_apart():
    agents = [Agent(n, (Store("x", 0x11 << 8 * n, 0xFF << 8 * n),)) for n in range(3)]
    assert outcomes(agents, Places({"x": 0})) == {((), (0x111111,))}


def test_all_cores_see_stores_of_others_in_one_order():
    reads = (Load("x", "a"), F, Load("y", "b")), (Load("y", "c"), F, Load("x", "d"))
    writes = (Store("x", 1),), (Store("y", 1),)
    assert (1, 0, 1, 0) not in registers(*writes, *reads)
    # Warps of one core see each other's stores earlier than other cores do.
    assert (1, 0, 1, 0) in registers(*writes, *reads, cores=(0, 1, 0, 1))


def test_a_fence_waits_for_its_own_warp_alone():
    chain = (
        (Store("x", 1),),
        (Load("x", "a"), F, Store("y", 1)),
        (Load("y", "b"), F, Load("x", "c")),
    )
    assert (1, 1, 0) not in registers(*chain)
    assert (1, 1, 0) in registers(*chain, cores=(0, 0, 1))


def test_the_dma_reads_and_writes_memory():
    places = Places({"x": 0, "s": None})
    load, store = Copy((("x", "s"),)), Copy((("s", "x"),))
    for fence, expected in (((), {(0,), (1,)}), ((F,), {(1,)})):
        steps = (Store("x", 1), *fence, load, Await(), Load("s", "a"))
        assert registers(steps, places=places) == expected
        steps = (Store("s", 1), F, store, Await(), *fence, Load("x", "a"))
        assert registers(steps, places=places) == expected


def test_words_of_one_copy_are_read_one_after_the_other():
    places = Places({"x": 0, "y": 1, "s": None, "t": None})
    copy = Copy((("x", "s"), ("y", "t")))
    results = registers(
        (Store("x", 1), F, Store("y", 1)),
        (copy, Await(), Load("s", "a"), Load("t", "b")),
        places=places,
    )
    assert results == {(a, b) for a in range(2) for b in range(2)}


@pytest.mark.parametrize("fence, expected", [((), {(0,), (1,)}), ((FenceI(),), {(1,)})])
def test_instructions_are_new_after_their_fence(fence, expected):
    steps = (Store("i", 1), F, *fence, Fetch("i", "z"))
    assert registers(steps, places=Places({"i": 0})) == expected
