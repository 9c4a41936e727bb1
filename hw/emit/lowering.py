"""From a fragment to what is converted: clocks resolved, shared expressions still shared."""

from typing import Any

from amaranth.hdl import Const, Signal

# Private, and there is no public way to keep Amaranth from copying an expression at every use.
from amaranth.hdl._ast import Operator
from amaranth.hdl._ir import Design
from amaranth.hdl._xfrm import DomainLowerer

__all__ = ["lowered_design"]


class SharingLowerer(DomainLowerer):
    """Resolve clocks and resets, what is chosen or cut out of each expression once.

    Amaranth's own transformer copies an expression at every use. One that occurs twice in another
    so becomes two, what occurs twice in it four, and each is emitted: of a chain of n stages that
    use the one before twice there are 2 ** n.
    """

    def __init__(self):
        super().__init__()
        # An expression is kept with what became of it, or its id could pass to another.
        self.known: dict[int, tuple[Any, Any]] = {}

    def on_fragment(self, fragment):
        known, self.known = self.known, {}
        result = super().on_fragment(fragment)
        self.known = known
        return result

    def on_value(self, value):
        if type(value) is Signal or type(value) is Const:
            return value
        # What operators make is cheap to repeat, and synthesis finds shallower logic if it may.
        if type(value) is Operator:
            return super().on_value(value)
        found = self.known.get(id(value))
        if found is None:
            found = self.known[id(value)] = (value, super().on_value(value))
        return found[1]


def give_domains(fragment, domains: list):
    """Make the clock domains of the top known in everything below it."""
    fragment.add_domains(domains)
    for child, _, _ in fragment.subfragments:
        give_domains(child, domains)


def lowered_design(fragment, domains: list, ports: list[tuple], name: str) -> Design:
    """Return what `Fragment.prepare` would, but that shared expressions stay shared.

    Parameters
    ----------
    fragment : Fragment
        It declares no clock domains.
    domains : list of ClockDomain
        All that it uses.
    ports : list of tuple
        Name, signal and direction of each port.
    name : str
        Name of the top module.

    """
    give_domains(fragment, domains)
    return Design(SharingLowerer()(fragment), ports, hierarchy=(name,))
