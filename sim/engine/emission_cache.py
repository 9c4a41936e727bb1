"""Cache of emissions between runs, keyed by config, generator sources and tool versions."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from ...base.build_cache import cached, digest
from ...base.build_step import build_step
from ...base.progress import Progress
from ...hw.emit.block_library import tool_versions
from ...hw.emit.emission import Emission
from ...hw.emit.emitter import emit
from ...hw.emit.shared_block import describe
from ...hw.emit.source_tree import generator_sources, is_source_loaded
from ...hw.emit.sram_macros import MacroLimits

__all__ = ["emit_cached"]


def generator_key() -> tuple[str, ...]:
    """Return everything that determines the emission of a config: tools and sources."""
    sources = generator_sources()
    return (*tool_versions(), sources.digest(sources.texts))


def component_of(design: Any, kind: Callable[[Any], wiring.Component] | None) -> wiring.Component:
    """Return the component of a config: what `kind` makes of it, a machine if that is None."""
    if kind is None:
        from ...hw.machine.machine import Machine

        kind = Machine
    return kind(design)


def emit_cached(
    design: Any,
    name: str,
    progress: Progress | None = None,
    kind: Callable[[Any], wiring.Component] | None = None,
    *,
    simulated: bool = False,
    limits: MacroLimits | None = None,
    has_source_lines: bool = False,
) -> Emission:
    """Return the emission of a design; the emission of a config is cached, and so are its blocks.

    Parameters
    ----------
    design : config or Component
        Design to emit.
    name : str
        Name of the top module.
    progress : callable or None
        Progress callback.
    kind : callable or None
        Class or function that creates the component of the config; None for a cluster.
    simulated : bool
        Whether the emission is for simulation only, as in `emit`.
    limits : MacroLimits or None
        Minimum size of memories that become macros, as in `emit`.
    has_source_lines : bool
        Whether comments name the source line of each register, as in `emit`.

    """
    options: Any = {"simulated": simulated, "limits": limits, "has_source_lines": has_source_lines}
    if isinstance(design, wiring.Component):
        return emit(design, name, **options)
    if not is_source_loaded():
        return emit(component_of(design, kind), name, **options)

    def build(directory: Path) -> None:
        with build_step(progress, "generating Verilog", variant=name):
            component = component_of(design, kind)
            emission = emit(component, name, **options, is_cached=True)
        (directory / "emission.pickle").write_bytes(pickle.dumps(emission))

    described = describe(design) if kind is None else f"{kind.__qualname__} {describe(design)}"
    texts = str(simulated), describe(limits), str(has_source_lines)
    key = digest([name, described, *texts, *generator_key()])
    path = cached(f"emission-{name}", key, build, progress) / "emission.pickle"
    return pickle.loads(path.read_bytes())
