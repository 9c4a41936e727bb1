"""Retirement log: one line per completed instruction."""

from collections.abc import Mapping, Sequence

import numpy as np

from ....hw.config import MachineConfig
from .life import Life, Pipeline
from .naming import Names, register_name
from .operands import Operands

__all__ = ["retire_log"]

HEADER = "# cycle core.warp number pc word mask instruction; register = values, by thread"


def retire_log(
    pipelines: Sequence[Pipeline],
    config: MachineConfig,
    names: Names,
    operands: Sequence[Operands] = (),
    first: int = 0,
) -> str:
    """Return the log of all cores, merged in the order of completion, from cycle `first` on.

    ``number`` counts the instructions of the warp in order of issue, from the first recorded one.
    The value of an inactive thread is ``-``. The operands of each core are optional.
    """
    assert config.core is not None
    threads = config.core.threads
    done = [
        (
            life.done,
            pipeline.core,
            life.number,
            line(pipeline.core, life, names, threads, known.get(life.number, {})),
        )
        for pipeline, known in zip(pipelines, operands or [{}] * len(pipelines), strict=True)
        for life in pipeline.lives
        if life.done is not None and life.done >= first
    ]
    said = [f"# {pipeline.sentence}" for pipeline in pipelines if pipeline.sentence]
    return "\n".join([HEADER, *said, *(text for *_, text in sorted(done))]) + "\n"


def line(
    core: int, life: Life, names: Names, threads: int, operands: Mapping[int, np.ndarray]
) -> str:
    """Return the log line of one instruction."""
    word = names.word(life.pc, life.word)
    text = (
        f"{life.done:10} {core}.{life.warp} {life.order:6} {life.pc:08x} "
        f"{'????????' if word is None else f'{word:08x}'} {life.mask:#0{2 + -(-threads // 4)}x} "
        f"{names.text(life.pc, life.word)}"
    )
    if life.writes and life.values is not None:
        text += f"; {register_text(life.rd, life.values, life.result_mask)}"
    if operands:
        known = (register_text(number, operand, life.mask) for number, operand in operands.items())
        text += f"; from {', '.join(known)}"
    function, source = names.place(life.pc)
    places = ", ".join(filter(None, (function, source)))
    return f"{text}; {places}" if places else text


def register_text(number: int, values: np.ndarray, mask: int) -> str:
    """Return a register with its values in the threads of a mask."""
    threads = (
        f"{value:08x}" if mask >> thread & 1 else "-"
        for thread, value in enumerate(values.tolist())
    )
    return f"{register_name(number)} = {' '.join(threads)}"
