"""Replay of windows of a recorded run on a mapped netlist.

Registers, inputs, and outputs of memories and of other blocks get their recorded values in every
cycle, by the names of their nets. A window counts only if the netlist computes every recorded
output, and the next value of every register, in each of its cycles. Recorded signals of a port that
are one net must agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .batches import layout_of
from .evaluator import WORD, evaluate_program, pack_cycles
from .mapped_netlist import ONE, ZERO, MappedNetlist
from .program import Program
from .recorded_nets import Bits, NetRows, RecordedNets

__all__ = ["Replay", "replay"]


@dataclass(frozen=True, kw_only=True)
class Replay:
    """Activity in the windows that count.

    Parameters
    ----------
    toggles : array of uint64
        Toggles of each net.
    clocked : array of bool
        For each cycle of these windows, whether a clock edge begins it.
    before, now : Bits
        Value of each observed net in the cycle before each of these cycles, and in the cycle.
    batch : array of int
        Number of the batch of each of these cycles, see `Layout`.
    weighted : array of float
        Sum of the weights of all toggles in each batch.
    counts : tuple of bool
        For each window, whether it counts.
    differing : tuple of str
        Outputs and registers that the netlist computes otherwise than recorded.

    """

    toggles: NDArray[np.uint64]
    clocked: NDArray[np.bool_]
    before: Bits
    now: Bits
    batch: NDArray[np.int64]
    weighted: NDArray[np.float64]
    counts: tuple[bool, ...]
    differing: tuple[str, ...]

    @property
    def cycles(self) -> int:
        """Cycles of the windows that count."""
        return len(self.clocked)

    @property
    def clocked_cycles(self) -> int:
        """Those of them with a clock."""
        return int(self.clocked.sum())

    def batch_sums(self, values: NDArray[np.bool_] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of each batch, from a value of each of these cycles."""
        return np.bincount(self.batch, values, len(self.weighted)).astype(np.float64)


def replay(
    netlist: MappedNetlist,
    program: Program,
    signals: Mapping[str, Bits],
    windows: Sequence[range],
    clocked: NDArray[np.bool_] | None = None,
    observed: Sequence[int] = (),
    known: list[NetRows] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Replay:
    """Return the activity of a netlist in windows of a run.

    Parameters
    ----------
    netlist, program : MappedNetlist, Program
        The netlist, and its program.
    signals : mapping of str to Bits
        Recorded values by the names in `MappedNetlist.names`. An output of a memory or of another
        block may also be named by instance and port, ``instance.port``.
    windows : sequence of range
        Cycles of each window. The cycle before each must be recorded too, since its values say
        what toggles in the first cycle.
    clocked : array of bool or None
        For each recorded cycle, whether the block has a clock edge at its end; None if always.
    observed : sequence of int
        Nets whose values to return.
    known : list of NetRows or None
        Rows of the netlist from other instances, see `RecordedNets.of`.
    weights : array of float or None
        Weight of a toggle of each net; None for 0.

    """
    recorded = RecordedNets.of(netlist, signals, known)
    if any(
        window.step != 1 or not 1 <= window.start < window.stop <= recorded.cycles
        for window in windows
    ):
        raise ValueError(f"windows must be ranges of 1 to {recorded.cycles} with a cycle or more")
    layout = layout_of(tuple(windows))
    rows = layout.rows
    has_edge = np.ones(len(rows), bool) if clocked is None else clocked[rows]
    values = pack_cycles(recorded.values(program.driven, rows))
    edges = has_edge & ~layout.is_last & ~layout.is_fill
    checks = checks_of(netlist, program, recorded, rows, edges)
    wrong, differing = recorded.ambiguous(rows)
    for check in checks:
        wrong |= check.wrong_cycles(program, values)
    is_right = np.bincount(layout.window[wrong], minlength=len(windows)) == 0
    counted = is_right[layout.window] & ~layout.is_first & ~layout.is_fill
    if wrong.any():
        differing.update(*(check.differing(program, values) for check in checks))
    activity = evaluate_program(program, values, counted, observed=observed, weights=weights)
    columns = np.flatnonzero(counted)
    return Replay(
        toggles=activity.toggles,
        clocked=has_edge[columns - 1],
        before=activity.observed[:, columns - 1],
        now=activity.observed[:, columns],
        batch=layout.batch[columns // WORD],
        weighted=np.bincount(layout.batch, activity.weighted).astype(np.float64),
        counts=tuple(is_right.tolist()),
        differing=tuple(sorted(differing)),
    )


@dataclass(frozen=True, kw_only=True)
class Check:
    """Slots to compare with expected values in some cycles.

    Parameters
    ----------
    slots : list of int
        Slots.
    names : list of str
        Name of each.
    expected : Bits
        Expected values, a row for each.
    cycles : array of bool
        Cycles to compare in.

    """

    slots: list[int]
    names: list[str]
    expected: Bits
    cycles: NDArray[np.bool_]

    def wrong_cycles(self, program: Program, values: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Return the cycles in which a slot differs."""
        expected = pack_cycles(self.expected)
        activity = evaluate_program(program, values, self.cycles, self.slots, expected)
        return activity.wrong & self.cycles

    def differing(self, program: Program, values: NDArray[np.uint64]) -> Iterator[str]:
        """Yield the names of slots that differ."""
        for slot, name, row in zip(self.slots, self.names, self.expected, strict=True):
            one = Check(slots=[slot], names=[name], expected=row[None], cycles=self.cycles)
            if one.wrong_cycles(program, values).any():
                yield name


def checks_of(
    netlist: MappedNetlist,
    program: Program,
    recorded: RecordedNets,
    rows: NDArray[np.int64],
    edges: NDArray[np.bool_],
) -> tuple[Check, Check]:
    """Return the checks of outputs in all cycles, and of next states in cycles with an edge.

    Inputs of memories and of other blocks are outputs of the netlist; those without a recorded name
    are not compared, and neither are outputs and states that nothing depends on.
    """
    outputs = {net for nets in netlist.outputs.values() for net in nets}
    needless = recorded.rows.needless
    inward = {net for part in netlist.opaque for nets in part.inputs.values() for net in nets}
    outputs |= {net for net in inward if net in recorded.rows.rows}
    nets = sorted(outputs - {ZERO, ONE} - netlist.clocks - needless - set(program.driven))
    pairs = zip(program.next_states, program.states, strict=True)
    states = [(slot, net) for slot, net in pairs if net not in needless]
    following = np.minimum(rows + 1, recorded.cycles - 1)
    names = recorded.rows.names
    return (
        Check(
            slots=nets,
            names=[names.get(net, f"net {net}") for net in nets],
            expected=recorded.values(nets, rows),
            cycles=np.ones(len(rows), bool),
        ),
        Check(
            slots=[slot for slot, _ in states],
            names=[names.get(net, f"net {net}") for _, net in states],
            expected=recorded.values([net for _, net in states], following),
            cycles=edges,
        ),
    )
