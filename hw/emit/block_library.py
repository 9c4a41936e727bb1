"""Library of shared blocks: those of one emission, and of earlier ones from the cache."""

import dataclasses
import functools
import importlib.metadata
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...base.build_cache import digest
from ...base.value_cache import load_value, save_value
from .emitted_block import EmittedBlock
from .shared_block import SharedBlock, describe
from .source_tree import generator_sources
from .sram_macros import MacroLimits

__all__ = ["TOOLS", "BlockLibrary", "tool_versions"]

TOOLS = ("amaranth",)
#: Packages whose classes depend on nothing but their versions.
FIXED = {*sys.stdlib_module_names, "amaranth"}
#: Module that determines the emitted form of every block, with those that it imports.
EMISSION = f"{__package__}.emitter"


@functools.cache
def tool_versions() -> tuple[str, ...]:
    """Return the versions of the tools that determine the Verilog."""
    return tuple(importlib.metadata.version(tool) for tool in TOOLS)


def classes_of(value: Any) -> Iterator[type]:
    """Yield the classes of a config and of everything in it, with their bases."""
    yield from (value if isinstance(value, type) else type(value)).__mro__
    if isinstance(value, dict):
        value = [*value, *value.values()]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from classes_of(item)


class BlockLibrary:
    """Modules of one emission, and those of earlier emissions.

    Parameters
    ----------
    simulated, limits, has_source_lines
        Options of the emission, as in `Emitter`.
    is_cached : bool
        Whether blocks are taken from the cache and saved there.

    """

    def __init__(
        self,
        simulated: bool,
        limits: MacroLimits | None,
        is_cached: bool,
        *,
        has_source_lines: bool = False,
    ):
        self.is_cached = is_cached
        self.options = (
            *(str(simulated), describe(limits), str(has_source_lines)),
            *tool_versions(),
        )
        self.known: set[str] = set()

    def key(self, block: SharedBlock) -> str | None:
        """Return the key of a block; None if its emitted form is not cached.

        The key contains all sources that the classes of the block and its config can reach.
        Classes outside the hardware's package may depend on sources that are unknown.
        """
        if not self.is_cached:
            return None
        sources = generator_sources()
        modules = {EMISSION}
        for kind in (*type(block).__mro__, *classes_of(block.config)):
            is_known = kind.__module__ in sources.texts and "<locals>" not in kind.__qualname__
            if not is_known and kind.__module__.partition(".")[0] not in FIXED:
                return None
            modules.add(kind.__module__)
        name = f"{type(block).__module__}.{type(block).__qualname__}"
        return digest([name, describe(block.config), *self.options, sources.digest(modules)])

    def find(self, key: str) -> dict[str, EmittedBlock] | None:
        """Return a block of the cache and those below it that are not known yet, by key.

        The result is None if any of them is missing.
        """
        entries: dict[str, EmittedBlock] = {}
        waiting = [key]
        while waiting:
            block_key = waiting.pop()
            if block_key in entries or block_key in self.known:
                continue
            entry = load_value("blocks", block_key)
            if entry is None:
                return None
            entries[block_key], children = entry
            waiting += children
        self.known |= entries.keys()
        return entries

    def finish(self, blocks: Iterable[EmittedBlock], keys: Mapping[str, str | None]) -> None:
        """Write what is new to the cache.

        Parameters
        ----------
        blocks : iterable of EmittedBlock
            All blocks of the emission.
        keys : mapping of str to str or None
            Key of each block by name; None keeps a block, and those around it, out of the cache.

        """
        if not self.is_cached:
            return
        for block in blocks:
            key, children = keys[block.name], [keys[child] for child in block.module.children]
            if key is not None and key not in self.known and None not in children:
                save_value("blocks", key, (block, children))
