"""Factory of simulation engines: builds, loads and resets a design on one of them."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from ...base.errors import UserError
from ...base.progress import Progress
from ...hw.machine.machine import Machine
from ..harness.binding import Layout
from .amaranth_engine import AmaranthEngine
from .blocks.composition import CLOCKS, PLACES, build_composition
from .emission_cache import emit_cached
from .verilator_engine import GATINGS, VerilatorEngine
from .verilator_model import build_harness, build_model

__all__ = ["ENGINES", "Engine", "make_engine", "outputs_of", "require_engine"]

ENGINES = ("verilator", "amaranth")
Engine = VerilatorEngine | AmaranthEngine
NEVER = (1 << 64) - 1


def require_engine(engine: str, gating: str) -> None:
    """Raise `UserError` unless `engine` and `gating` are valid names."""
    if engine not in ENGINES:
        raise UserError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    if gating not in GATINGS:
        raise UserError(f"gating must be one of {', '.join(GATINGS)}, not {gating!r}")


def make_engine(
    design: Any,
    *,
    name: str,
    engine: str,
    gating: str,
    seed: int,
    optimize: int,
    composed: bool,
    vcd: str | None,
    windows: Sequence[tuple[int, int]],
    progress: Progress | None,
    kind: Callable[[Any], wiring.Component] | None = None,
) -> tuple[Engine, Path]:
    """Return an engine with a design, and the shared library that contains its harness.

    Parameters
    ----------
    design : config or Component
        Design; the build of a config is cached.
    name : str
        Name of the top module.
    engine, gating : str
        Names that `require_engine` accepts.
    seed : int
        Seed of random gating and of storage without an initial value.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    composed : bool
        Whether the Verilated model is composed of block models, which are built once for all
        designs that contain them, or is one model of the whole.
    vcd : str or None
        Waveform file (VCD); of a composed model a folder, which gets a file for each part and
        `CLOCKS` and `PLACES`. None writes none.
    windows : sequence of (int, int)
        First cycle of each window of the waveform and the cycle after its last, in ascending order;
        empty for all cycles. Verilator only.
    progress : callable or None
        Progress callback of builds.
    kind : callable or None
        Factory of the component of a config; None for a machine.

    """
    if engine == "amaranth":
        component = design if isinstance(design, wiring.Component) else (kind or Machine)(design)
        return AmaranthEngine(component, vcd), build_harness()
    emission = emit_cached(design, name, progress, kind, simulated=True)
    if composed:
        library, plan = build_composition(
            emission, optimize=optimize, trace=vcd is not None, progress=progress
        )
    else:
        library = build_model(emission, optimize=optimize, trace=vcd is not None, progress=progress)
        plan = None
    made = VerilatorEngine(library, Layout.of(emission), plan=plan, gating=gating, seed=seed)
    if vcd is not None:
        if plan is not None:
            for name in (CLOCKS, PLACES):
                shutil.copy(plan.with_name(name), vcd)
        made.trace(vcd, windows or [(0, NEVER)])
    return made, library


def outputs_of(engine: Engine) -> dict[str, int]:
    """Return a design's outputs, sampled at the last clock edge."""
    words = engine.outputs()
    return {
        port.name: sum(words[port.word + k] << 32 * k for k in range(port.words))
        for port in engine.layout.outputs
    }
