"""Elaborate once, instantiate many: turn components into Verilog with one module per kind."""

import hashlib

from amaranth import *
from amaranth.back import rtlil
from amaranth.lib import wiring
from amaranth.lib.wiring import In

__all__ = ["Emitter", "SharedBlock"]


class SharedBlock(wiring.Component):
    """A component that is emitted once per distinct config.

    Subclasses take `config` (anything with a `repr` that tells all) as their only argument, and
    define `build` in place of `elaborate`. Under Amaranth's simulator the block elaborates
    inline, as any other. Its registers live in ``sync``; a parent moves it to another domain
    with `DomainRenamer`.
    """

    def build(self, platform):
        raise NotImplementedError

    def elaborate(self, platform):
        return platform.instance(self) if isinstance(platform, Emitter) else self.build(platform)


class _Body(wiring.Component):
    """A shared block seen from inside: its own ports around what it builds."""

    def __init__(self, block):
        super().__init__(block.signature)
        self.block = block
        for member in block.signature.members:
            setattr(self, member, getattr(block, member))

    def elaborate(self, platform):
        return self.block.build(platform)


class Emitter:
    """The platform to elaborate for when the result is Verilog."""

    def __init__(self):
        self.modules = {}

    def instance(self, block):
        """Return an Instance that stands for `block`; the first of its kind is converted."""
        digest = hashlib.sha256(repr(block.config).encode()).hexdigest()[:8]
        name = f"{type(block).__name__}_{digest}"
        if name not in self.modules:
            self.modules[name] = rtlil.convert(
                _Body(block), name=name, platform=self, emit_src=False
            )
        ports = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
        for path, member, value in block.signature.flatten(block):
            direction = "i" if member.flow == In else "o"
            ports[f"{direction}_{'__'.join(map(str, path))}"] = value
        return Instance(name, **ports)

    def convert(self, top, name):
        """Return the RTLIL text of `top` and of every shared block below it."""
        text = rtlil.convert(top, name=name, platform=self, emit_src=False)
        return text + "".join(self.modules.values())
