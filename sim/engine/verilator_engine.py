"""Engine on a Verilated model: the cycle loop and the harness run in C++."""

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...base.errors import UserError
from ...base.native_interface import NativeLibrary
from ..harness.binding import Layout
from ..harness.harness import Harness
from ..harness.interface import HARNESS
from .verilator_model import IDENTITY

__all__ = ["GATINGS", "VerilatorEngine"]

GATINGS = ("ungated", "gated", "random")
RESET_CYCLES = 4


class VerilatorEngine:
    """Verilated model in a shared library, reset at construction.

    Parameters
    ----------
    library : Path
        Library from `build_model`.
    layout : Layout
        Port layout of the design.
    plan : Path or None
        Plan from `build_composition`, with its library; None for a model in one piece.
    gating : str
        ``ungated`` clocks every domain in every cycle; ``gated`` stops the clock of a domain whose
        ``busy`` is low; ``random`` clocks such a domain in half of the cycles.
    seed : int
        Seed of random gating, and of registers and memories without an initial value.

    """

    def __init__(
        self,
        library: Path,
        layout: Layout,
        *,
        plan: Path | None = None,
        gating: str = "gated",
        seed: int = 0,
    ):
        if gating not in GATINGS:
            raise UserError(f"gating must be one of {', '.join(GATINGS)}, not {gating!r}")
        self.library = NativeLibrary(library, HARNESS)
        self.path = plan or library
        self.layout = layout
        self.gating = GATINGS.index(gating)
        self.model = self.library.model_create(seed, plan.read_bytes() if plan else None)
        if not self.model:
            reason = self.library.model_error().decode()
            raise UserError(f"the model cannot be loaded: {reason}")
        self.reset()

    def reset(self) -> None:
        """Assert every reset for a few cycles, with all inputs 0."""
        self.library.model_reset(self.model, RESET_CYCLES)

    def run(self, harness: Harness, cycles: int) -> None:
        """Run until the harness stops, or for `cycles`."""
        self.library.model_run(self.model, harness.handle, cycles, self.gating)

    @property
    def identity(self) -> str:
        """Hash of the state's format, different for each design and harness."""
        return self.path.with_name(IDENTITY).read_text()

    def save(self, harness: Harness) -> bytes:
        """Return the state of the model and its harness."""
        saved = self.library.model_save(self.model, harness.handle)
        return ctypes.string_at(saved.data, saved.size)

    def restore(self, harness: Harness, state: bytes) -> bool:
        """Restore a state of this `identity`; return whether it fits the harness."""
        return bool(self.library.model_restore(self.model, harness.handle, state, len(state)))

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
        """Drive rows of input words in sequence; return a row of output words for each.

        Parameters
        ----------
        inputs : array of uint32
            One row of input words per vector; missing words at its end are 0.
        output_words : int or None
            Number of output words to return; all by default.
        domains : sequence of str or None
            Clock domains that run; all by default.
        latency : int
            Cycles from the first cycle of a row of inputs to the cycle whose outputs, sampled
            before its clock edge, belong to the row.
        interval : int
            Cycles for which each row is driven.
        start_word : int or None
            Index of an input word that is 0 in all but the first cycle of each row.

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
            *(self.model, len(inputs), interval, latency),
            *(-1 if start_word is None else start_word, numbers, len(numbers)),
            *(inputs, inputs.shape[1], outputs, output_words),
        )
        return outputs

    def outputs(self) -> list[int]:
        """Return the last sampled output words."""
        words = np.zeros(self.layout.output_words + 1, np.uint32)
        self.library.model_outputs(self.model, words)
        return words.tolist()

    def clocked(self) -> dict[str, int]:
        """Return the clocked cycles of each domain."""
        cycles = np.zeros(len(self.layout.domains), np.uint64)
        self.library.model_clocked(self.model, cycles)
        return dict(zip(self.layout.domains, cycles.tolist(), strict=True))

    def trace(self, path: str, windows: Sequence[tuple[int, int]]) -> None:
        """Write a waveform of some cycles from now on.

        Parameters
        ----------
        path : str
            File of the waveform; of a composition the folder of its waveforms.
        windows : sequence of (int, int)
            First cycle of each window and the cycle after its last, in ascending order.

        """
        bounds = np.array(windows, np.uint64)
        if not self.library.model_trace(self.model, path.encode(), bounds, len(windows)):
            raise UserError(f"cannot write the waveform {path}")

    def close(self) -> None:
        """Free the model and close its waveform."""
        if self.model:
            self.library.model_trace_close(self.model)
            self.library.model_destroy(self.model)
            self.model = None
