"""Base class of proofs: a block with unconstrained inputs and its properties."""

from typing import TYPE_CHECKING, Any

from amaranth import *
from amaranth import hdl
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Assert", "Assume", "Properties", "ones"]

# The message is optional, but the stubs do not declare it so.
Assert: Any = hdl.Assert
Assume: Any = hdl.Assume


class Properties(wiring.Component):
    """A block with its assumptions (``Assume``) and its properties (``Assert``).

    Subclasses define `state`, the externally visible behaviour, and `relate` if an induction needs
    more. All inputs are ports: a model checker takes undriven signals as constants, and assertions
    about these would be empty.

    Parameters
    ----------
    free : dict of str to ShapeLike
        Inputs with any value in every cycle.
    fixed : dict of str to ShapeLike
        Inputs with any value that stays constant: a property of one value holds for all.
    inside : dict of str to tuple of str and ShapeLike
        Inputs connected to registers of the block, given by their paths, for `relate`.

    Attributes
    ----------
    related : bool
        Whether registers of the block are connected; if not, only `state` is asserted.

    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # an input

    def __init__(self, *, free=(), fixed=(), inside=()):
        self.related = True
        self.fixed = dict(fixed)
        self.inside = dict(inside)
        shapes = {
            **dict(free),
            **self.fixed,
            **{name: of for name, (_, of) in dict(inside).items()},
        }
        super().__init__({name: In(shape) for name, shape in shapes.items()})

    def state(self, m: Module):
        """Add the block, the assumptions and the assertions."""
        raise NotImplementedError

    def relate(self, m: Module):
        """Assert relations between the block's registers and its outside state, for induction."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += Assume(~ResetSignal())
        began = Signal()
        m.d.sync += began.eq(1)
        for name in self.fixed:
            value = Value.cast(getattr(self, name))
            before = Signal(len(value), name=f"{name}_before")
            m.d.sync += before.eq(value)
            m.d.comb += Assume(~began | (value == before))
        self.state(m)
        if self.related:
            self.relate(m)
        return m


def ones(bits) -> Value:
    """Return the number of set bits in `bits`."""
    return sum((bit for bit in bits), start=C(0, 1))
