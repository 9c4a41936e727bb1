"""Composed models: block libraries of an emission and the plan that connects them."""

import json
from collections.abc import Sequence
from pathlib import Path

from ....base.build_cache import cached, digest, scratch_folder
from ....base.compiler import Compiler, compile_all, find_compiler, link
from ....base.progress import Progress
from ....hw.emit.emission import REST, Emission
from ....hw.emit.writer.recorded import Places
from ...harness.binding import Layout
from ..verilator_model import IDENTITY, MODEL_FLAGS, NATIVE, harness_objects, native_key
from .block_library import block_libraries
from .partition import partition
from .plan import plan_text
from .schedule import schedule

__all__ = ["CLOCKS", "PLACES", "PLAN", "build_composition"]

#: File with the plan of a composed model.
PLAN = "plan"
#: File beside it with the clock domain at each clock port of each part, as JSON.
CLOCKS = "clocks.json"
#: File beside it with the places of signals in waveforms of each module, and of the rest, as JSON.
PLACES = "places.json"
SOURCES = ("blocks/composition.cpp", "blocks/composed_model.cpp")


def build_composition(
    emission: Emission,
    *,
    optimize: int,
    trace: bool = False,
    flags: Sequence[str] = (),
    progress: Progress | None = None,
) -> tuple[Path, Path]:
    """Return the library that runs compositions, and the plan of an emission.

    Parameters
    ----------
    emission : Emission
        Emission to simulate.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    trace : bool
        Whether the blocks can write waveforms.
    flags : sequence of str
        Additional arguments for Verilator.
    progress : callable or None
        Progress callback.

    """
    parts = partition(emission)
    steps = schedule(parts)
    clocks = {part.design: tuple(part.clocks) for part in parts.parts}
    paths = block_libraries(
        list(clocks.items()), optimize=optimize, trace=trace, flags=flags, progress=progress
    )
    libraries = {design.name: path for design, path in zip(clocks, paths, strict=True)}
    text = plan_text(parts, steps, libraries, Layout.of(emission))
    formats = {name: path.with_name(IDENTITY).read_text() for name, path in libraries.items()}
    identity = digest([plan_text(parts, steps, formats, Layout.of(emission)), *native_key()])
    library = composed_library(find_compiler())
    places = json.dumps(places_of(emission)) if trace else ""

    def build(directory: Path) -> None:
        (directory / PLAN).write_text(text)
        (directory / IDENTITY).write_text(identity)
        (directory / CLOCKS).write_text(
            json.dumps({part.name: part.clocks for part in parts.parts})
        )
        if trace:
            (directory / PLACES).write_text(places)

    key = digest([text, identity, places])
    return library, cached(f"plan-{emission.name}", key, build) / PLAN


def places_of(emission: Emission) -> dict[str, Places]:
    """Return the places of signals in waveforms, of each module and of `REST`."""
    split = emission.split
    assert split is not None
    modules = {name: module.places for name, module in split.modules.items()}
    return {REST: split.rest.places, **modules}


def composed_library(compiler: Compiler) -> Path:
    """Return the library with the harness and the cycle loop of compositions, compiled once."""
    flags = [*MODEL_FLAGS, *compiler.flags(2), f"-I{NATIVE}"]

    def build(directory: Path) -> None:
        with scratch_folder() as folder:
            jobs = [(NATIVE / name, folder / f"{Path(name).stem}.o", flags) for name in SOURCES]
            compile_all(compiler, jobs)
            objects = [target for _, target, _ in jobs]
            link(compiler, [*objects, *harness_objects(compiler)], directory / "composed.so")

    key = digest([*compiler.key(flags), *native_key()])
    return cached("composed", key, build) / "composed.so"
