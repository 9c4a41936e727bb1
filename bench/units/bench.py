"""Bench of arithmetic units on Verilator, all in one model: arrays in, arrays out."""

import pickle
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from spica import base, hw, sim
from spica.base.build_cache import cached, digest
from spica.base.build_step import build_step
from spica.base.progress import Progress
from spica.sim.engine.emission_cache import generator_key
from spica.sim.engine.verilator_engine import VerilatorEngine
from spica.sim.engine.verilator_model import build_model
from spica.sim.harness.binding import Layout

from .catalog import every_unit
from .unit import Unit
from .unit_top import EmittedUnitTop, domain_of, emit_unit_top

__all__ = ["UnitBench"]

#: Time at which the import of modules began.
STARTED = time.time()
#: Vectors per call: enough to hide its overhead, few enough for the cache.
CHUNK = 1 << 15


class UnitBench:
    """Simulation of `units` for millions of vectors.

    Parameters
    ----------
    units : iterable of Unit
        Units to build. A few suit work on one of them.
    optimize : int
        Optimization level of the C++ compiler, 0 to 3.
    progress : callable or None
        Called with the progress of the build.
    unit_top : EmittedUnitTop or None
        The unit top of these units, if already emitted.

    """

    def __init__(
        self,
        units: Iterable[Unit],
        *,
        optimize: int = 1,
        progress: Progress | None = None,
        unit_top: EmittedUnitTop | None = None,
    ):
        self.units = {unit.name: unit for unit in units}
        self.numbers = {name: number for number, name in enumerate(self.units)}
        self.unit_top = emit_unit_top(list(self.units.values())) if unit_top is None else unit_top
        library = build_model(self.unit_top.emission, optimize=optimize, progress=progress)
        layout = Layout.of(self.unit_top.emission)
        self.engine = VerilatorEngine(library, layout, gating="ungated")

    @classmethod
    def of_every_unit(cls, progress: Progress | None = None) -> "UnitBench":
        """Return the bench of all units; its Verilog is cached until a source changes."""
        rooms = (*(Path(room.__path__[0]) for room in (base, hw, sim)), Path(__file__).parent)
        sources = [path for room in rooms for path in sorted(room.rglob("*.py"))]
        if any(path.stat().st_mtime > STARTED for path in sources):
            return cls(every_unit(), progress=progress)  # loaded modules may match neither version

        def build(directory: Path) -> None:
            with build_step(progress, "generating Verilog", variant="units"):
                unit_top = emit_unit_top(every_unit())
            (directory / "unit_top.pickle").write_bytes(pickle.dumps(unit_top))

        texts = sorted(path.read_text() for path in sources)
        key = digest([*generator_key(), *texts])
        path = cached("units", key, build, progress) / "unit_top.pickle"
        return cls(every_unit(), progress=progress, unit_top=pickle.loads(path.read_bytes()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Free the model."""
        self.engine.close()

    def run(self, name: str, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the outputs of unit `name` for each vector, in order.

        Inputs have one element per vector, or one row of elements for an array port. The port
        ``valid`` of an iterative unit is driven here.
        """
        count = len(next(iter(inputs.values()), ()))
        parts = [
            self.drive(
                name, self.pack(name, {k: v[first : first + CHUNK] for k, v in inputs.items()})
            )
            for first in range(0, max(count, 1), CHUNK)
        ]
        return self.unit_top.outputs[name].unpack(np.concatenate(parts))

    def pack(self, name: str, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the rows of words that `drive` expects."""
        if name not in self.units:
            raise ValueError(f"unit must be among {', '.join(self.units)}, not {name!r}")
        arrays = dict(inputs)
        if self.start_word(name) is not None:
            arrays["valid"] = np.ones(len(next(iter(arrays.values()))), np.uint8)
        words = self.unit_top.inputs[name].pack(arrays, first_word=1)
        words[:, 0] = self.numbers[name]
        return words

    def drive(self, name: str, words: np.ndarray) -> np.ndarray:
        """Run unit `name` on rows of words; return the rows of its outputs."""
        unit = self.units[name]
        return self.engine.vectors(
            words,
            output_words=self.unit_top.outputs[name].words,
            domains=[domain_of(name)],
            latency=unit.latency + 1,
            interval=unit.interval,
            start_word=self.start_word(name),
        )

    def start_word(self, name: str) -> int | None:
        """Return the word index of the unit's ``valid``, if it has one."""
        ports = {port.name: port for port in self.unit_top.inputs[name].ports}
        return 1 + ports["valid"].word if "valid" in ports else None
