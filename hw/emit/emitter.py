"""Emitter: converts a component to Verilog, each distinct shared block below it once."""

from dataclasses import dataclass, field
from typing import Any

from amaranth import *
from amaranth.back import rtlil  # pyright: ignore[reportAttributeAccessIssue]  # no stub
from amaranth.hdl import Fragment

# Private, and there is no public way to get the domains of a fragment in a fixed order.
from amaranth.hdl._ir import PortDirection
from amaranth.hdl._xfrm import DomainCollector
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from .amaranth_patches import kept_netlist, patched_amaranth
from .block_library import BlockLibrary
from .emission import Emission, EmittedModule, EmittedPort, EmittedSram
from .emitted_block import EmittedBlock, class_names, refuse_clash
from .garbage_collection import no_garbage_collection
from .instance_counts import count_instances, total_instances
from .lowering import lowered_design
from .netlist import Paths, combinational_paths, instance_wiring
from .shared_block import EmissionPlatform, SharedBlock, describe, module_name
from .sram_macros import MacroLimits, SramShape
from .verilog import joined

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


@dataclass
class Uses:
    """Shared blocks and SRAM macro wrappers that a module under conversion instantiates."""

    children: dict[str, None] = field(default_factory=dict)
    macros: dict[str, SramShape] = field(default_factory=dict)


@dataclass(frozen=True)
class ConvertedModule:
    """Module after its conversion by Amaranth.

    Parameters
    ----------
    rtlil : str
        RTLIL text of the module and of ordinary components in it.
    domains : tuple of str
        Clock domains in a fixed order.

    """

    rtlil: str
    domains: tuple[str, ...]


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
    library : BlockLibrary or None
        Library that has the Verilog of blocks; None for RTLIL alone.

    Attributes
    ----------
    modules : dict of str to str
        RTLIL text of each distinct shared block that was converted, by module name.
    blocks : dict of str to EmittedBlock
        All distinct shared blocks, by module name.
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
        library: BlockLibrary | None = None,
    ):
        self.top = top
        self.simulated = simulated
        self.limits = limits
        self.library = library
        self.macros: dict[str, SramShape] = {}
        self.modules: dict[str, str] = {}
        self.blocks: dict[str, EmittedBlock] = {}
        self.paths: dict[str, Paths] = {}
        self.netlist: Any = None
        self.kinds: dict[str, tuple[type, type]] = {}
        self.keys: dict[str, str | None] = {}
        #: Modules under conversion, the innermost last.
        self.converting = [Uses()]

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
        kinds = (type(block), type(block.config))
        if name not in self.blocks:
            self.add(block, name)
        is_same = self.kinds.setdefault(name, kinds) == kinds
        refuse_clash(class_names(block), self.blocks[name].classes, is_same)
        self.converting[-1].children[name] = None
        connections: dict[str, Any] = {}
        for domain in self.blocks[name].domains:
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
        self.macros[shape.name] = self.converting[-1].macros[shape.name] = shape
        return shape.name

    def add(self, block: SharedBlock, name: str) -> None:
        """Add a block that is not known yet: from the library, or converted."""
        key = self.library.key(block) if self.library else None
        entries = self.library.find(key) if self.library and key else None
        if entries is None:
            self.record(self.convert_block(block, name), key)
            return
        for block_key, known in entries.items():
            if known.name in self.blocks:
                refuse_clash(known.classes, self.blocks[known.name].classes)
            self.record(known, block_key)
            self.macros |= {shape.name: shape for shape in known.macros}

    def record(self, block: EmittedBlock, key: str | None) -> None:
        """Record a block with its key."""
        self.blocks[block.name], self.keys[block.name] = block, key
        self.paths[block.name] = block.paths

    def convert_block(self, block: SharedBlock, name: str) -> EmittedBlock:
        """Return the emitted form of a block after its conversion."""
        self.converting.append(Uses())
        converted = self.convert(block.build(self), list(signature_ports(block, "__")), name)
        uses = self.converting.pop()
        self.modules[name] = converted.rtlil
        return EmittedBlock(
            name=name,
            classes=class_names(block),
            config=describe(block.config),
            domains=converted.domains,
            paths=combinational_paths(self.netlist, self.paths),
            macros=tuple(uses.macros.values()),
            instances=count_instances(name, converted.rtlil),
            verilog=self.library.convert(converted.rtlil) if self.library else "",
            children=tuple(uses.children),
        )

    def convert(self, elaboratable, ports, name: str) -> ConvertedModule:
        """Return one module in RTLIL."""
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
        return ConvertedModule(text, tuple(names))


def emit(
    component: wiring.Component,
    name: str,
    *,
    simulated: bool = False,
    limits: MacroLimits | None = None,
    is_cached: bool = False,
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
    is_cached : bool
        Whether shared blocks are taken from the cache, and saved there. The result is the same.

    """
    ports = list(signature_ports(component, "_"))
    with BlockLibrary(simulated, limits, is_cached) as library:
        emitter = Emitter(component, simulated, limits, library)
        with no_garbage_collection(), patched_amaranth():
            top = emitter.convert(component, ports, name)
            instances = instance_wiring(emitter.netlist)
        texts = [library.convert(top.rtlil)]
        blocks = [block for _, block in sorted(emitter.blocks.items())]
        texts += [block.verilog for block in blocks]
        library.finish(blocks, emitter.keys)
        verilog = joined(library.texts[text] for text in texts)
    below = {block.name: block.instances for block in blocks}
    totals = total_instances(name, below | {name: count_instances(name, top.rtlil)})
    clocks = [EmittedPort(port, "input", 1) for d in top.domains for port in domain_ports(d)]
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
        domains=top.domains,
        modules=tuple(
            EmittedModule(block.name, block.component, block.config, totals[block.name])
            for block in blocks
        ),
        paths={block.name: block.paths for block in blocks},
        instances=instances,
        srams=None
        if limits is None
        else tuple(
            EmittedSram(shape, totals[shape.name]) for _, shape in sorted(emitter.macros.items())
        ),
    )
