"""Elaborate once, instantiate many: turn components into Verilog with one module per kind."""

import dataclasses
import gc
import hashlib
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

from .blank_memories import blank_memories
from .emission import Emission, EmittedModule, EmittedPort, EmittedSram
from .lower import lowered_design
from .sram_macros import MacroLimits, SramShape
from .unchecked import unchecked_nets
from .verilog import verilog_from_rtlil

__all__ = [
    "Emission",
    "EmittedModule",
    "EmittedPort",
    "Emitter",
    "SharedBlock",
    "describe",
    "domain_ports",
    "emit",
    "is_simulated",
    "signature_ports",
    "used_domains",
]


class SharedBlock(wiring.Component):
    """A component that is emitted once per distinct config.

    Subclasses take `config` (a frozen dataclass, or a plain value) as their only argument, and
    define `build` in place of `elaborate`. Under Amaranth's simulator the block elaborates
    inline, as any other. A parent moves its registers to other domains with `DomainRenamer`;
    `EnableInserter` and `ResetInserter` do not reach into it.
    """

    config: Any

    def build(self, platform):
        """Return the module, as `elaborate` of an ordinary component does."""
        raise NotImplementedError

    def elaborate(self, platform):
        return platform.instance(self) if isinstance(platform, Emitter) else self.build(platform)


def describe(value) -> str:
    """Return a text that is equal exactly for equal configs, in every process."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ", ".join(
            f"{field.name}={describe(getattr(value, field.name))}"
            for field in dataclasses.fields(value)
        )
        return f"{type(value).__qualname__}({fields})"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(describe, value))})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{describe(k)}: {describe(v)}' for k, v in value.items())}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(describe, value)))}}}"
    text = repr(value)
    if " at 0x" in text:
        raise TypeError(f"config must have a repr that tells all, not {text}")
    return text


def module_name(block: SharedBlock) -> str:
    """Return the name of a block's module: its class, and a hash of class and config."""
    kind = type(block)
    qualified = f"{kind.__module__}.{kind.__qualname__} {describe(block.config)}"
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind.__name__)
    return f"{words.lower()}_{hashlib.sha256(qualified.encode()).hexdigest()[:8]}"


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


class Emitter:
    """The platform to elaborate for when the result is Verilog.

    Parameters
    ----------
    top : Component or None
        What becomes the top module, and so no instance, should it be a shared block.
    simulated : bool
        Whether the Verilog is for a simulator alone: what is written in parts for synthesis, as
        the blocks of an adder, is then written in one piece.
    limits : MacroLimits or None
        From what size on memories are left to macros; None keeps all.

    Attributes
    ----------
    modules : dict of str to str
        RTLIL text of every distinct shared block, by module name.
    blocks : dict of str to SharedBlock
        The first block of each kind.
    macros : dict of str to SramShape
        Of each wrapper of macros, by module name.

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

    def instance(self, block: SharedBlock):
        """Return an Instance that stands for `block`; the first of its kind is converted."""
        if block is self.top:
            return block.build(self)
        name = module_name(block)
        if name not in self.modules:
            ports = list(signature_ports(block, "__"))
            text, self.domains[name] = self.convert(block.build(self), ports, name)
            self.modules[name] = text
            self.blocks[name] = block
        connections: dict[str, Any] = {}
        for domain in self.domains[name]:
            clock, reset = domain_ports(domain)
            connections[f"i_{clock}"] = ClockSignal(domain)
            connections[f"i_{reset}"] = ResetSignal(domain)
        for port, flow, value in signature_ports(block, "__"):
            connections[f"{'i' if flow == In else 'o'}_{port}"] = value
        return Instance(name, **connections)

    def macro(self, shape: SramShape) -> str | None:
        """Return the wrapper that a memory is an instance of; None if it is none."""
        if self.limits is None or not self.limits.admit(shape):
            return None
        self.macros[shape.name] = shape
        return shape.name

    def convert(self, elaboratable, ports, name: str) -> tuple[str, list[str]]:
        """Return the RTLIL of one module, and the domains it uses in a fixed order."""
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
        text, _ = rtlil.convert_fragment(design, name=name, emit_src=False)
        return text, names


def is_simulated(platform) -> bool:
    """Return whether what is built becomes Verilog for a simulator alone."""
    return isinstance(platform, Emitter) and platform.simulated


def count_instances(top: str, texts: list[str]) -> Counter:
    """Return how often each module occurs below `top`."""
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
    """Hold the collector back: a netlist is millions of live objects it would walk in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def emit(
    component, name: str, *, simulated: bool = False, limits: MacroLimits | None = None
) -> Emission:
    """Convert a component, or the cluster of a config, and all below it to Verilog.

    Members of the top's signature become ports with single underscores (``m_axi0_awaddr``).
    What is `simulated` does the same in every cycle, in fewer operations and deeper logic.
    Memories that `limits` admit become instances of wrappers of macros (`Emitter`).
    """
    if not isinstance(component, wiring.Component):
        from .cluster import Cluster  # the cluster itself imports this module

        component = Cluster(component)
    emitter = Emitter(component, simulated, limits)
    ports = list(signature_ports(component, "_"))
    with no_garbage_collection(), unchecked_nets(), blank_memories():
        text, domains = emitter.convert(component, ports, name)
        texts = [text, *emitter.modules.values()]
        # Yosys is another process: what it runs for is time to throw the netlists away.
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
        srams=None
        if limits is None
        else tuple(
            EmittedSram(shape, totals[shape.name]) for _, shape in sorted(emitter.macros.items())
        ),
    )
