"""A block with inputs that are anything, and what must hold of it."""

from typing import TYPE_CHECKING, Any

from amaranth import *
from amaranth import hdl
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Assert", "Assume", "Properties", "ones"]

# Their message is optional, of which the stubs know nothing.
Assert: Any = hdl.Assert
Assume: Any = hdl.Assume


class Properties(wiring.Component):
    """A block, what it may be asked (``Assume``), and what it must do then (``Assert``).

    Subclasses define `state`, what is seen outside, and `relate` where an induction needs more. All
    inputs are ports, as others would be constants to a model checker, and what is asserted of
    them would say nothing.

    Parameters
    ----------
    free : dict of str to ShapeLike
        Inputs that are anything in every cycle.
    fixed : dict of str to ShapeLike
        Inputs that are anything, but the same in every cycle: what holds of them holds of all.
    inside : dict of str to tuple of str and ShapeLike
        Inputs that are registers of the block, by their paths in it, for `relate`.

    Attributes
    ----------
    related : bool
        Whether registers of the block are known; without, only `state` is asserted.

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
        """Assert how the block's registers belong to what is seen outside: an induction's help."""

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
    """Return how many of `bits` are set."""
    return sum((bit for bit in bits), start=C(0, 1))
