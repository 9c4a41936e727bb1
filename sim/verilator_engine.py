"""A Verilated model as an engine: the cycle loop and everything around it run in C++."""

import ctypes
from pathlib import Path

import numpy as np

from .binding import Layout
from .dram import Harness
from .errors import UserError

__all__ = ["GATINGS", "VerilatorEngine"]

GATINGS = ("ungated", "gated", "random")
RESET_CYCLES = 4


class VerilatorEngine:
    """A model in a library, reset and ready.

    Parameters
    ----------
    library : Path
        Built by `build_model`.
    layout : Layout
        Ports of the design.
    gating : str
        ``ungated`` clocks everything always; ``gated`` withholds the clock of a domain whose
        ``busy`` is low; ``random`` clocks such a domain in half of the cycles.
    seed : int
        Of random gating, and of registers and memories without initial value.

    """

    def __init__(self, library: Path, layout: Layout, *, gating: str = "gated", seed: int = 0):
        if gating not in GATINGS:
            raise UserError(f"gating must be one of {', '.join(GATINGS)}, not {gating!r}")
        self.library = ctypes.CDLL(str(library))
        self.path = library
        self.layout = layout
        self.gating = GATINGS.index(gating)
        self.library.model_create.restype = ctypes.c_void_p
        self.model = ctypes.c_void_p(self.library.model_create(ctypes.c_uint64(seed)))
        self.reset()

    def reset(self) -> None:
        """Hold every reset for a few cycles, inputs at 0."""
        self.library.model_reset(self.model, RESET_CYCLES)

    def run(self, harness: Harness, cycles: int) -> None:
        """Run until the harness stops, or for `cycles`."""
        self.library.model_run(
            self.model, harness.handle, ctypes.c_uint64(cycles), ctypes.c_int(self.gating)
        )

    def vectors(self, inputs: np.ndarray) -> np.ndarray:
        """Drive one row of input words per cycle; return the output words of each cycle."""
        inputs = np.ascontiguousarray(inputs, np.uint32)
        if inputs.ndim != 2 or inputs.shape[1] != self.layout.input_words:
            raise ValueError(
                f"inputs must have {self.layout.input_words} words per cycle, "
                f"not shape {inputs.shape}"
            )
        outputs = np.empty((len(inputs), self.layout.output_words), np.uint32)
        self.library.model_vectors(
            self.model,
            ctypes.c_uint64(len(inputs)),
            ctypes.c_void_p(inputs.ctypes.data),
            ctypes.c_void_p(outputs.ctypes.data),
        )
        return outputs

    def outputs(self) -> list[int]:
        """Return the words of the outputs, as last sampled."""
        words = (ctypes.c_uint32 * (self.layout.output_words + 1))()
        self.library.model_outputs(self.model, words)
        return list(words)

    def clocked(self) -> dict[str, int]:
        """Return in how many cycles each domain had its clock."""
        cycles = (ctypes.c_uint64 * (len(self.layout.domains) + 1))()
        self.library.model_clocked(self.model, cycles)
        return dict(zip(self.layout.domains, cycles, strict=False))

    def trace(self, path: str, start: int, stop: int) -> None:
        """Write a waveform of cycles `start` to `stop` - 1 from now on."""
        if not self.library.model_trace(
            self.model, path.encode(), ctypes.c_uint64(start), ctypes.c_uint64(stop)
        ):
            raise UserError(f"the waveform {path} cannot be written")

    def close(self) -> None:
        """Free the model and finish its waveform."""
        if self.model:
            self.library.model_trace_close(self.model)
            self.library.model_destroy(self.model)
            self.model = ctypes.c_void_p()
