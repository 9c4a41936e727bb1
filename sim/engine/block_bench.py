"""Block bench on Verilator: one row of inputs and one row of outputs per cycle."""

import re

import numpy as np
from amaranth.lib import wiring

from ...base.progress import Progress
from ...hw.emit.emission import Emission
from ...hw.emit.emitter import emit
from ..harness.binding import Layout, PackedPort
from .verilator_engine import VerilatorEngine
from .verilator_model import build_model

__all__ = ["BlockBench"]


class BlockBench:
    """Bench that runs a component for millions of cycles with precomputed inputs.

    Inputs cannot react to outputs, so the bench suits free-running pipelines: vector k enters in
    row k and its result is in row k + latency. No clock domain is gated. State is kept from one
    `run` to the next.

    Parameters
    ----------
    component : Component or Emission
        Unit under test. Ports have the emitter's names, members joined by single underscores.
    name : str or None
        Name of the top module of a component; None derives it from the class.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    seed : int
        Seed of storage without an initial value.
    progress : callable or None
        Progress callback of the build.

    """

    def __init__(
        self,
        component: wiring.Component | Emission,
        *,
        name: str | None = None,
        optimize: int = 2,
        seed: int = 0,
        progress: Progress | None = None,
    ):
        if isinstance(component, Emission):
            emission = component
        else:
            if name is None:
                name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(component).__name__).lower()
            emission = emit(component, f"{name}_block")
        self.layout = Layout.of(emission)
        library = build_model(emission, optimize=optimize, progress=progress)
        self.engine = VerilatorEngine(library, self.layout, gating="ungated", seed=seed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def reset(self) -> None:
        """Reset the unit."""
        self.engine.reset()

    def close(self) -> None:
        """Free the model."""
        self.engine.close()

    def run(self, cycles: int | None = None, **inputs) -> dict[str, np.ndarray]:
        """Run one cycle per element of the inputs; return every output before each clock edge.

        An input is a number, held in all cycles, or an array with one element per cycle; a port
        above 64 bits uses an array of (cycles, words) uint32, low word first. Inputs that are not
        given are 0.
        """
        arrays = {name: np.asarray(value) for name, value in inputs.items()}
        known = {port.name: port for port in self.layout.inputs}
        for name in arrays:
            if name not in known:
                raise ValueError(f"inputs must be among {', '.join(known)}, not {name!r}")
        lengths = {len(array) for array in arrays.values() if array.ndim}
        if cycles is not None:
            lengths.add(cycles)
        if len(lengths) != 1:
            raise ValueError(f"inputs must all have one length, not {sorted(lengths)}")
        words = np.zeros((lengths.pop(), self.layout.input_words), np.uint32)
        for name, array in arrays.items():
            place(words, known[name], array)
        results = self.engine.vectors(words)
        return {port.name: extract(results, port) for port in self.layout.outputs}


def place(words: np.ndarray, port: PackedPort, values: np.ndarray) -> None:
    """Write the values of one input to its columns, truncated to its width."""
    target = words[:, port.word : port.word + port.words]
    if port.width > 64:
        target[:] = values
    else:
        wide = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64).view(np.uint64)
        for column in range(port.words):
            target[:, column] = (wide >> np.uint64(32 * column)) & np.uint64(0xFFFF_FFFF)
    if port.width % 32:
        target[:, -1] &= np.uint32((1 << port.width % 32) - 1)


def extract(words: np.ndarray, port: PackedPort) -> np.ndarray:
    """Return the values of one output."""
    columns = words[:, port.word : port.word + port.words]
    if port.words == 1:
        return columns[:, 0].copy()
    if port.words == 2:
        return columns[:, 0] | columns[:, 1].astype(np.uint64) << np.uint64(32)
    return columns.copy()
