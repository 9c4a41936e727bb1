"""Golden model of transaction barriers against a replay of their events, and its properties."""

import random

import pytest

from spica.hw.isa.transaction_barrier import (
    BARRIER_LAYOUT,
    BARRIER_MARK,
    MOST_ARRIVALS,
    MOST_TRANSACTION_BYTES,
    BarrierFault,
    BarrierOperation,
)
from spica.sim.golden.memory.barrier.transaction_barrier import (
    BarrierState,
    barrier_step,
    packed_barrier,
    unpacked_barrier,
)

MOST = 2**20 - 1
NAMES = {operation.name.lower(): operation for operation in BarrierOperation}
CORNERS = (0, 1, 2, 3, MOST - 1, MOST, MOST + 1, 2**31, 2**32 - 1)


class IllegalError(Exception):
    """An operation that the rules forbid."""


class Replay:
    """A barrier as the list of the operations since its initialisation, replayed for each question.

    Each is a list of events. A phase ends after an operation, not between its events.
    """

    def __init__(self):
        self.count = None
        self.operations = []

    def replayed(self, beginning=()):
        """Return finished phases, and of the current one arrivals, bytes, drops and size.

        `beginning` are the first events of an operation.
        """
        size, finished = self.count, 0
        events = {"arrival": 0, "expect": 0, "complete": 0, "drop": 0}
        for operation in (*self.operations, beginning):
            for kind, number in operation:
                events[kind] += number
            is_whole = events["arrival"] == size and events["expect"] == events["complete"]
            if is_whole and operation is not beginning:
                size, finished = size - events["drop"], finished + 1
                events = dict.fromkeys(events, 0)
        transferred = events["expect"] - events["complete"]
        return finished, events["arrival"], transferred, events["drop"], size

    def require(self, condition):
        if not condition:
            raise IllegalError

    def record(self, *events):
        """Add an operation; raise if one of its events is beyond a limit."""
        for place, (kind, number) in enumerate(events):
            _, arrived, transferred, dropped, size = self.replayed(events[:place])
            self.require({
                "arrival": arrived + number <= size,
                "drop": dropped + number < size,
                "expect": number <= MOST and transferred + number <= MOST,
                "complete": number <= MOST and transferred - number >= -MOST,
            }[kind])  # fmt: skip
        self.operations.append(events)

    def arrive(self, number, *, drops, expects=None):
        """Record an arrival, its drop before it; return the parity of the phase before it."""
        parity = self.replayed()[0] % 2
        events = [] if expects is None else [("expect", expects)]
        events += [("drop", number)] if drops else []
        self.record(*events, ("arrival", number))
        return parity

    def execute(self, name, n):
        """Execute an operation; return its result, None if it has none, and if a phase ended."""
        self.require(name == "init" or self.count is not None)
        if name in ("init", "arrive", "arrive_drop"):
            self.require(1 <= n <= MOST)
        if name == "init":
            self.count, self.operations = n, []
            return None, False
        if name == "inval":
            self.count = None
            return None, False
        before, result = self.replayed()[0], None
        if name.endswith("wait"):
            self.require(n in (0, 1))
            # Phases that have completed have numbers 0 to before - 1; none has parity 1 of "-1".
            result = int((before - 1) % 2 == n)
        elif name.startswith("arrive"):
            expects = n if name.endswith("expect_tx") else None
            number = n if expects is None else 1
            result = self.arrive(number, drops="drop" in name, expects=expects)
        else:
            self.record((name.removesuffix("_tx"), n))
        return result, self.replayed()[0] > before


def random_operand(rng, name, state):
    """Return an operand, often one that completes a phase or that is just beyond a limit."""
    if name.endswith("wait"):
        return rng.choice([0, 1, 0, 1, 2, rng.getrandbits(32)])
    if state is None or name == "init":
        return rng.choice([*CORNERS, *(1, 2, 3, 4, 5, 6) * 4])
    near = [state.pending, state.pending + 1, abs(state.bytes), abs(state.bytes), 0, 1, 1, 1]
    return rng.choice([*CORNERS, *near, *near, rng.randrange(MOST + 1), rng.randrange(1, 9)])


@pytest.mark.parametrize("seed", range(6))
def test_operations_are_those_of_replayed_events(seed):
    rng, replay, state = random.Random(seed), Replay(), None
    completed, faults = 0, dict.fromkeys(BarrierFault, 0)
    for _ in range(6000):
        name = rng.choice([*NAMES, "arrive", "arrive", "complete_tx", "expect_tx"])
        if name in ("inval", "init") and state is not None and rng.random() < 0.9:
            continue
        operand = random_operand(rng, name, state)
        outcome = barrier_step(state, NAMES[name], operand)
        faults[outcome.fault] += 1
        try:
            result, ends = replay.execute(name, operand)
        except IllegalError:
            assert outcome.fault is not BarrierFault.NONE, (name, operand, state)
            assert (outcome.state, outcome.result, outcome.completed) == (state, 0, False)
            continue
        assert outcome.fault is BarrierFault.NONE, (name, operand, state)
        assert (outcome.result, outcome.completed) == (result or 0, ends), (name, operand, state)
        state, completed = outcome.state, completed + ends
        if len(replay.operations) > 60:  # replays stay short
            state, replay.count, replay.operations = None, None, []
    assert completed > 100
    assert min(count for fault, count in faults.items() if fault is not BarrierFault.ADDRESS) > 5


@pytest.mark.parametrize("seed", range(3))
def test_states_keep_their_limits_and_fit_their_bytes(seed):
    rng, state = random.Random(seed), None
    for _ in range(5000):
        name = rng.choice([*NAMES])
        outcome = barrier_step(state, NAMES[name], random_operand(rng, name, state))
        before, state = state, outcome.state
        assert unpacked_barrier(packed_barrier(state)) == state
        if state is None:
            assert packed_barrier(state) == 0
            continue
        assert 1 <= state.expected <= MOST_ARRIVALS
        assert 0 <= state.pending <= state.expected
        assert abs(state.bytes) <= MOST_TRANSACTION_BYTES
        assert state.pending or state.bytes, "a phase that is complete has not completed"
        if outcome.completed:
            assert state == BarrierState(
                pending=state.expected, expected=state.expected, parity=1 - before.parity
            )


def test_words_without_the_mark_are_no_barriers():
    rng = random.Random(1)
    assert unpacked_barrier(0) is None
    assert unpacked_barrier(2**64 - 1) is None
    for _ in range(100):
        word = rng.getrandbits(62)
        for mark in range(4):
            assert (unpacked_barrier(word | mark << 62) is None) == (mark != BARRIER_MARK)


def test_the_layout_has_8_bytes_and_room_for_the_limits():
    assert BARRIER_LAYOUT.size == 64
    for pending, expected, count in ((0, MOST, -MOST), (MOST, 1, MOST)):
        state = BarrierState(pending=pending, expected=expected, bytes=count, parity=1)
        assert unpacked_barrier(packed_barrier(state)) == state


@pytest.mark.parametrize("slots", [1, 2, 3])
def test_a_ring_of_stages_uses_the_parity_of_its_round(slots):
    """The producer waits for an empty slot, the consumer for a full one, as in PTX's examples."""
    full = [barrier_step(None, BarrierOperation.INIT, 1).state for _ in range(slots)]
    empty = list(full)

    def has_completed(barrier, parity):
        return barrier_step(barrier, BarrierOperation.TEST_WAIT, parity).result

    for number in range(5 * slots):
        slot, parity = number % slots, number // slots % 2
        assert has_completed(empty[slot], parity ^ 1)
        assert not has_completed(full[slot], parity)
        filled = barrier_step(full[slot], BarrierOperation.ARRIVE_EXPECT_TX, 128)
        assert not filled.completed
        assert not has_completed(filled.state, parity)
        filled = barrier_step(filled.state, BarrierOperation.COMPLETE_TX, 128)
        assert filled.completed
        full[slot] = filled.state
        assert has_completed(full[slot], parity)
        assert not has_completed(empty[slot], parity)
        empty[slot] = barrier_step(empty[slot], BarrierOperation.ARRIVE, 1).state
