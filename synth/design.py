"""Design for synthesis: RTLIL of a component, split into distinct blocks with their classes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path

from amaranth.hdl import Fragment
from amaranth.lib import wiring

from ..base.build_cache import digest
from ..hw.config import MachineConfig
from ..hw.emit.amaranth_patches import patched_amaranth
from ..hw.emit.emitter import Emitter
from ..hw.emit.garbage_collection import no_garbage_collection
from ..hw.emit.module_ports import signature_ports
from ..hw.emit.shared_block import SharedBlock, describe, module_name
from .blocks import Block, split_blocks
from .cache import cached, source_key

__all__ = ["Design", "cluster_design", "design_of", "rtlil_of"]


@dataclass(frozen=True, kw_only=True)
class Design:
    """The distinct blocks of a component.

    Parameters
    ----------
    top : str
        Name of the top block.
    blocks : mapping of str to Block
        All blocks by name.

    """

    top: str
    blocks: Mapping[str, Block]

    @property
    def order(self) -> list[str]:
        """Names of all blocks, each after those it instantiates."""
        children = {name: set(block.children) for name, block in self.blocks.items()}
        return list(TopologicalSorter(children).static_order())


class ClassifyingEmitter(Emitter):
    """Emitter that records the class of each module, including those elaborated in place."""

    def __init__(self):
        super().__init__()
        self.classes: dict[str, str] = {}

    def instance(self, block: SharedBlock):
        self.classes[module_name(block)] = type(block).__name__
        return super().instance(block)

    def convert(self, elaboratable, ports, name: str, component=None):
        fragment = Fragment.get(elaboratable, self)
        self.record_classes(fragment, name)
        return super().convert(fragment, ports, name, component)

    def record_classes(self, fragment, name: str):
        """Record the classes of a fragment and its subfragments."""
        for origin in fragment.origins or ():
            if isinstance(origin, wiring.Component):
                self.classes.setdefault(name, type(origin).__name__)
        for child, child_name, _ in fragment.subfragments:
            self.record_classes(child, f"{name}.{child_name}")


def rtlil_of(component, name: str) -> tuple[str, str, dict[str, str]]:
    """Return the RTLIL of `component` and all shared blocks below it, the top, and all classes.

    A shared block keeps its module name everywhere, so that the cache finds its synthesis both by
    itself and as part of a cluster.
    """
    emitter = ClassifyingEmitter()
    with no_garbage_collection(), patched_amaranth():
        if isinstance(component, SharedBlock):
            Fragment.get(component, emitter)
            return "".join(emitter.modules.values()), module_name(component), emitter.classes
        text = emitter.convert(component, list(signature_ports(component, "_")), name).text
        return text + "".join(emitter.modules.values()), name, emitter.classes


def design_of(component, name: str) -> Design:
    """Return the blocks of `component`, also split where a group of `synth.groups` begins."""
    text, top, classes = rtlil_of(component, name)
    return Design(top=top, blocks=split_blocks(text, classes))


def cluster_design(config: MachineConfig, name: str) -> Design:
    """Return the blocks of a cluster, from the cache if it was elaborated before.

    Parameters
    ----------
    config : MachineConfig
        The cluster.
    name : str
        Name of its top block. Characters that names of modules cannot have become ``_``.

    """
    name = re.sub(r"\W", "_", name)

    def elaborate() -> Design:
        from ..hw.machine.machine import Machine

        return design_of(Machine(config), name)

    rooms = Path(__file__).parents[1]
    sources = [source_key(rooms / room) for room in ("base", "hw", "synth")]
    return cached(
        "design", digest([version("amaranth"), *sources, describe(config), name]), elaborate
    )
