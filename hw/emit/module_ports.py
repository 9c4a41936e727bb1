"""Ports of modules: the members of a component's signature, and clock and reset of each domain."""

from typing import Any

from amaranth import *

# Private, and there is no public way to get the domains of a fragment in a fixed order.
from amaranth.hdl._xfrm import DomainCollector
from amaranth.lib import wiring

__all__ = ["domain_ports", "signature_ports", "used_domains"]


def domain_ports(domain: str) -> tuple[str, str]:
    """Return the names of a domain's clock and reset ports."""
    return ("clk", "rst") if domain == "sync" else (f"{domain}_clk", f"{domain}_rst")


def signature_ports(component: wiring.Component, separator: str):
    """Yield name, direction and value of every port of `component` that has any bits."""
    for path, member, value in component.signature.flatten(component):
        value = Value.cast(value)
        if len(value):
            yield separator.join(map(str, path)), member.flow, value


def used_domains(fragment) -> list[str]:
    """Return the clock domains `fragment` uses, sorted; refuse those it declares."""

    def refuse_declared(part, path: str):
        for domain in part.domains:
            raise ValueError(
                f"clock domains must be left undeclared, so that they become ports of the top "
                f"level, not declared as {domain!r} in {path}"
            )
        for number, (child, child_name, _) in enumerate(part.subfragments):
            refuse_declared(child, f"{path}.{child_name or number}")

    refuse_declared(fragment, "top")
    collector: Any = DomainCollector()
    collector(fragment)
    return sorted(collector.used_domains - {"comb"}, key=lambda domain: (domain != "sync", domain))
