"""Retirement log: one line per completed instruction."""

from collections.abc import Sequence

from ....hw.config import ClusterConfig
from .life import Life, Pipeline
from .naming import Names, register_name

__all__ = ["retire_log"]

HEADER = "# cycle core.warp number pc word mask instruction; register = values, by thread"


def retire_log(pipelines: Sequence[Pipeline], config: ClusterConfig, names: Names) -> str:
    """Return the log of all cores, merged in the order of completion.

    ``number`` counts the instructions of the warp in order of issue, from the first recorded one.
    The value of an inactive thread is ``-``.
    """
    assert config.core is not None
    threads = config.core.threads
    done = [
        (life.done, pipeline.core, life.number, line(pipeline.core, life, names, threads))
        for pipeline in pipelines
        for life in pipeline.lives
        if life.done is not None
    ]
    said = [f"# {pipeline.sentence}" for pipeline in pipelines if pipeline.sentence]
    return "\n".join([HEADER, *said, *(text for *_, text in sorted(done))]) + "\n"


def line(core: int, life: Life, names: Names, threads: int) -> str:
    """Return the log line of one instruction."""
    word = names.word(life.pc, life.word)
    text = (
        f"{life.done:10} {core}.{life.warp} {life.order:6} {life.pc:08x} "
        f"{'????????' if word is None else f'{word:08x}'} {life.mask:#0{2 + -(-threads // 4)}x} "
        f"{names.text(life.pc, life.word)}"
    )
    if life.writes and life.values is not None:
        values = (
            f"{value:08x}" if life.result_mask >> thread & 1 else "-"
            for thread, value in enumerate(life.values.tolist())
        )
        text += f"; {register_name(life.rd)} = {' '.join(values)}"
    function, source = names.place(life.pc)
    places = ", ".join(filter(None, (function, source)))
    return f"{text}; {places}" if places else text
