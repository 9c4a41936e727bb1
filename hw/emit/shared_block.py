"""Shared block: a component that is emitted once per distinct config, and its module name."""

import dataclasses
import hashlib
import re
from typing import Any

from .component import Component
from .sram_macros import SramShape

__all__ = [
    "EmissionPlatform",
    "SharedBlock",
    "describe",
    "is_simulated",
    "module_name",
    "module_stem",
]


class EmissionPlatform:
    """Base of the platform that designs are elaborated for when the result is Verilog.

    Attributes
    ----------
    simulated : bool
        Whether the Verilog is for a simulator only, see `Emitter`.

    """

    simulated: bool

    def instance(self, block: "SharedBlock"):
        """Return an `Instance` of the module of `block`."""
        raise NotImplementedError

    def macro(self, shape: SramShape) -> str | None:
        """Return the name of the SRAM macro wrapper for `shape`, or None to keep the memory."""
        raise NotImplementedError


class SharedBlock(Component):
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
        if isinstance(platform, EmissionPlatform):
            return platform.instance(self)
        return self.build(platform)


def is_left_out(field: dataclasses.Field, value) -> bool:
    """Return whether a description lacks a field: an option, `OPTIONAL`, at its default."""
    return bool(field.metadata.get("optional")) and value == field.default


def describe(value) -> str:
    """Return a text that is equal exactly for equal configs, in every process."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = ", ".join(
            f"{field.name}={describe(getattr(value, field.name))}"
            for field in dataclasses.fields(value)
            if not is_left_out(field, getattr(value, field.name))
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


def module_stem(class_name: str) -> str:
    """Return the part of a module's name that its class determines: the class in lower case."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name)
    return words.lower()


def module_name(block: SharedBlock) -> str:
    """Return the name of a block's module: its class, and a hash of class and config.

    The module that defines the class has no influence, so that files can move. Two classes of one
    name that get the same config would share a module name: the emitter refuses them.
    """
    kind = type(block)
    qualified = f"{kind.__qualname__} {describe(block.config)}"
    return f"{module_stem(kind.__name__)}_{hashlib.sha256(qualified.encode()).hexdigest()[:8]}"


def is_simulated(platform) -> bool:
    """Return whether the design that is built becomes Verilog for a simulator only."""
    return isinstance(platform, EmissionPlatform) and platform.simulated
