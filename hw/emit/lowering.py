"""Lowering of a fragment before conversion: clocks resolved, shared expressions kept shared."""

from typing import Any

from amaranth.hdl import Const, Signal

# Private, and there is no public way to keep Amaranth from copying an expression at every use.
from amaranth.hdl._ast import Operator
from amaranth.hdl._ir import Design
from amaranth.hdl._xfrm import DomainLowerer

__all__ = ["lowered_design"]


class SharingLowerer(DomainLowerer):
    """Lowerer of clocks and resets that transforms each shared expression once.

    Amaranth's transformer copies an expression at every use. A chain of n stages that each use the
    previous one twice would become 2 ** n expressions.
    """

    def __init__(self):
        super().__init__()
        # Both are kept: the id of a freed expression could be reused.
        self.known: dict[int, tuple[Any, Any]] = {}

    def on_fragment(self, fragment):
        known, self.known = self.known, {}
        result = super().on_fragment(fragment)
        self.known = known
        return result

    def on_value(self, value):
        if type(value) is Signal or type(value) is Const:
            return value
        # Operators are cheap to repeat, and synthesis then finds shallower logic.
        if type(value) is Operator:
            return super().on_value(value)
        entry = self.known.get(id(value))
        if entry is None:
            entry = self.known[id(value)] = (value, super().on_value(value))
        return entry[1]


def give_domains(fragment, domains: list):
    """Add the clock domains of the top to every fragment below it."""
    fragment.add_domains(domains)
    for child, _, _ in fragment.subfragments:
        give_domains(child, domains)


def lowered_design(fragment, domains: list, ports: list[tuple], name: str) -> Design:
    """Return the design that `Fragment.prepare` would, with shared expressions kept shared.

    Parameters
    ----------
    fragment : Fragment
        Without clock domains of its own.
    domains : list of ClockDomain
        All clock domains that it uses.
    ports : list of tuple
        Name, signal and direction of each port.
    name : str
        Name of the top module.

    """
    give_domains(fragment, domains)
    return Design(SharingLowerer()(fragment), ports, hierarchy=(name,))
