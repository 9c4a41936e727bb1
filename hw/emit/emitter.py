"""Emitter: converts a component to Verilog, each distinct shared block below it once."""

import gc
import re
from collections import Counter
from contextlib import contextmanager
from typing import Any

from amaranth import *
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub
from amaranth.hdl import Fragment

# Private, and there is no public way to learn the domains of a fragment in a fixed order.
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._xfrm import DomainCollector
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .amaranth_patches import kept_netlist, patched_amaranth
from .emission import Emission, EmittedModule, EmittedPort, EmittedSram
from .lowering import lowered_design
from .netlist import Paths, combinational_paths, instance_wiring
from .shared_block import EmissionPlatform, SharedBlock, describe, module_name
from .sram_macros import MacroLimits, SramShape
from .verilog import verilog_from_rtlil

__all__ = ["Emitter", "domain_ports", "emit", "signature_ports", "used_domains"]


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


class Emitter(EmissionPlatform):
    """The platform to elaborate for when the result is Verilog.

    Parameters
    ----------
    top : Component or None
        The top module. A shared block that is the top is built in place, not instantiated.
    simulated : bool
        Whether the Verilog is for a simulator only. Logic that synthesis needs in parts, such as
        the blocks of an adder, is then written in one piece.
    limits : MacroLimits or None
        Smallest memories that become SRAM macros; None keeps all memories.

    Attributes
    ----------
    modules : dict of str to str
        RTLIL text of each distinct shared block, by module name.
    blocks : dict of str to SharedBlock
        The first block of each module.
    macros : dict of str to SramShape
        Shape of each SRAM macro wrapper, by module name.
    paths : dict of str to Paths
        Combinational paths of each shared block, by module name.
    netlist : Netlist
        Netlist of the last conversion.

    """

    def __init__(
        self,
        top: wiring.Component | None = None,
        simulated: bool = False,
        limits: MacroLimits | None = None,
    ):
        self.top = top
        self.simulated = simulated
        self.limits = limits
        self.macros: dict[str, SramShape] = {}
        self.modules: dict[str, str] = {}
        self.blocks: dict[str, SharedBlock] = {}
        self.domains: dict[str, list[str]] = {}
        self.paths: dict[str, Paths] = {}
        self.netlist: Any = None

    def instance(self, block: SharedBlock):
        """Return an `Instance` of the module of `block`; convert the first block of each module.

        Raises
        ------
        ValueError
            If another class, or a config of another class, has the same module name.

        """
        if block is self.top:
            return block.build(self)
        name = module_name(block)
        if name in self.blocks:
            refuse_clash(block, self.blocks[name])
        else:
            self.blocks[name] = block
            ports = list(signature_ports(block, "__"))
            text, self.domains[name] = self.convert(block.build(self), ports, name)
            self.modules[name] = text
            self.paths[name] = combinational_paths(self.netlist, self.paths)
        connections: dict[str, Any] = {}
        for domain in self.domains[name]:
            clock, reset = domain_ports(domain)
            connections[f"i_{clock}"] = ClockSignal(domain)
            connections[f"i_{reset}"] = ResetSignal(domain)
        for port, flow, value in signature_ports(block, "__"):
            connections[f"{'i' if flow == In else 'o'}_{port}"] = value
        return Instance(name, **connections)

    def macro(self, shape: SramShape) -> str | None:
        """Return the name of the SRAM macro wrapper for `shape`, or None to keep the memory."""
        if self.limits is None or not self.limits.admit(shape):
            return None
        self.macros[shape.name] = shape
        return shape.name

    def convert(self, elaboratable, ports, name: str) -> tuple[str, list[str]]:
        """Return the RTLIL of one module, and the clock domains it uses in a fixed order."""
        fragment = Fragment.get(elaboratable, self)
        names = used_domains(fragment)
        domains: list[Any] = [ClockDomain(domain) for domain in names]
        all_ports: dict[str, tuple[Any, PortDirection]] = {}
        for domain in domains:
            clock, reset = domain_ports(domain.name)
            all_ports[clock] = (domain.clk, PortDirection.Input)
            all_ports[reset] = (domain.rst, PortDirection.Input)
        for port, flow, value in ports:
            if port in all_ports:
                raise ValueError(f"port names of {name} must be distinct, not {port!r} twice")
            direction = PortDirection.Input if flow == In else PortDirection.Output
            all_ports[port] = (value, direction)
        named_ports = [(port, *signal) for port, signal in all_ports.items()]
        design = lowered_design(fragment, domains, named_ports, name)
        with kept_netlist() as netlists:
            text, _ = rtlil.convert_fragment(design, name=name, emit_src=False)
        self.netlist = netlists[0]
        return text, names


def refuse_clash(block: SharedBlock, first: SharedBlock) -> None:
    """Raise if two blocks with one module name differ in their class or their config's class."""
    for new, old in ((type(block), type(first)), (type(block.config), type(first.config))):
        if new is not old:
            raise ValueError(
                f"classes of shared blocks and configs must have distinct names, not "
                f"{new.__qualname__} in both {old.__module__} and {new.__module__}"
            )


def count_instances(top: str, texts: list[str]) -> Counter:
    """Return the number of instances of each module below `top`."""
    children: dict[str, Counter] = {}
    for text in texts:
        for name, body in re.findall(r"^module \\(\S+)\n(.*?)^end$", text, re.M | re.S):
            children[name] = Counter(re.findall(r"^  cell \\(\S+) ", body, re.M))
    totals: Counter = Counter()

    def visit(name: str, times: int):
        totals[name] += times
        for child, count in children.get(name, {}).items():
            visit(child, times * count)

    visit(top, 1)
    return totals


@contextmanager
def no_garbage_collection():
    """Suspend the garbage collector: a netlist is millions of live objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def emit(
    component: wiring.Component,
    name: str,
    *,
    simulated: bool = False,
    limits: MacroLimits | None = None,
) -> Emission:
    """Convert a component and all blocks below it to Verilog.

    Members of the top's signature become ports with single underscores (``m_axi0_awaddr``).

    Parameters
    ----------
    component : Component
        The top.
    name : str
        Name of the top module.
    simulated : bool
        Whether the Verilog is for a simulator only: equal in every cycle, with fewer operations
        and deeper logic.
    limits : MacroLimits or None
        Smallest memories that become instances of SRAM macro wrappers; None keeps all memories.

    """
    emitter = Emitter(component, simulated, limits)
    ports = list(signature_ports(component, "_"))
    with no_garbage_collection():
        with patched_amaranth():
            text, domains = emitter.convert(component, ports, name)
            instances = instance_wiring(emitter.netlist)
        texts = [text, *emitter.modules.values()]
        # Yosys runs in another process: the netlists are collected while it works.
        verilog = verilog_from_rtlil("".join(texts), meanwhile=gc.collect)
    totals = count_instances(name, texts)
    clocks = [EmittedPort(port, "input", 1) for d in domains for port in domain_ports(d)]
    return Emission(
        name=name,
        config=getattr(component, "config", None),
        verilog=verilog,
        ports=(
            *clocks,
            *(
                EmittedPort(port, "input" if flow == In else "output", len(value))
                for port, flow, value in ports
            ),
        ),
        domains=tuple(domains),
        modules=tuple(
            EmittedModule(kind, type(block).__name__, describe(block.config), totals[kind])
            for kind, block in sorted(emitter.blocks.items())
        ),
        paths=emitter.paths,
        instances=instances,
        srams=None
        if limits is None
        else tuple(
            EmittedSram(shape, totals[shape.name]) for _, shape in sorted(emitter.macros.items())
        ),
    )
