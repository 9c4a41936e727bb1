"""A Verilated model as an engine: the cycle loop and everything around it run in C++."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...hw.base.errors import UserError
from ..harness.binding import Layout
from ..harness.harness import Harness
from .verilator_model import IDENTITY

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

    @property
    def identity(self) -> str:
        """A hash of what a state means: that of another design or harness has another."""
        return self.path.with_name(IDENTITY).read_text()

    def save(self, harness: Harness) -> bytes:
        """Return the state of the model and of all around it."""
        words = ctypes.c_void_p()
        self.library.model_save.restype = ctypes.c_uint64
        size = self.library.model_save(self.model, harness.handle, ctypes.byref(words))
        return ctypes.string_at(words.value or 0, size)

    def restore(self, harness: Harness, state: bytes) -> bool:
        """Take a state of this `identity`; return whether it is one of such a harness."""
        return bool(
            self.library.model_restore(
                self.model, harness.handle, state, ctypes.c_uint64(len(state))
            )
        )

    def vectors(
        self,
        inputs: np.ndarray,
        *,
        output_words: int | None = None,
        domains: Sequence[str] | None = None,
        latency: int = 0,
        interval: int = 1,
        start_word: int | None = None,
    ) -> np.ndarray:
        """Drive rows of input words one after the other; return a row of output words for each.

        Parameters
        ----------
        inputs : array of uint32
            A row of input words for each vector; words missing at its end are 0.
        output_words : int or None
            How many words of the outputs are wanted; all by default.
        domains : sequence of str or None
            The clock domains that run; all by default.
        latency : int
            Cycles from the first cycle of a row of inputs to that before whose clock edge its
            outputs are taken.
        interval : int
            Cycles each row is driven.
        start_word : int or None
            A word that is 0 in all but the first cycle of each row.

        """
        inputs = np.ascontiguousarray(inputs, np.uint32)
        if inputs.ndim != 2 or inputs.shape[1] > self.layout.input_words:
            raise ValueError(
                f"inputs must have at most {self.layout.input_words} words per cycle, "
                f"not shape {inputs.shape}"
            )
        if output_words is None:
            output_words = self.layout.output_words
        chosen = self.layout.domains if domains is None else domains
        numbers = np.array([self.layout.domains.index(domain) for domain in chosen], np.uint32)
        outputs = np.empty((len(inputs), output_words), np.uint32)
        self.library.model_vectors(
            self.model,
            ctypes.c_uint64(len(inputs)),
            ctypes.c_uint32(interval),
            ctypes.c_uint32(latency),
            ctypes.c_int(-1 if start_word is None else start_word),
            ctypes.c_void_p(numbers.ctypes.data),
            ctypes.c_uint32(len(numbers)),
            ctypes.c_void_p(inputs.ctypes.data),
            ctypes.c_uint32(inputs.shape[1]),
            ctypes.c_void_p(outputs.ctypes.data),
            ctypes.c_uint32(output_words),
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
