"""Models in which registers and memories hold anything before the first reset."""

import dataclasses
import functools
import re

from spica.sim.engine import engines

__all__ = ["start_at_random", "without_initial_values"]

RANDOM_START = ("--x-initial", "unique", "--x-assign", "unique")
REGISTER = re.compile(r"^(\s*reg\s[^=;]*?)\s*=\s*[^;]*;", re.MULTILINE)
#: Nothing is kept in it: it has logic without inputs evaluated once.
WAKE = r"initial wake_\d+ = 0;"
#: Memories that are all zero; others are tables, which nothing is written to.
MEMORY = re.compile(r"^\s*initial begin\n(?:\s*\S+ = \d+'h0+;\n)*\s*end\n", re.MULTILINE)
TABLE = re.compile(r"^\s*initial begin\n(?:\s*\S+ = \d+'h[0-9a-f]+;\n)*\s*end\n", re.MULTILINE)


def without_initial_values(verilog: str) -> str:
    """Return Verilog in which nothing has a value before the first reset."""
    stripped = MEMORY.sub("", REGISTER.sub(r"\1 ;", verilog))
    # Wires may have what they are assigned; nothing else may be left.
    rest = re.sub(rf"always @\*|initial begin end|{WAKE}", "", TABLE.sub("", stripped))
    assert "initial" not in rest
    assert not REGISTER.search(stripped)
    return stripped


def start_at_random(monkeypatch) -> None:
    """Let all models that are made from now on start so; what there is depends on their seed."""
    emit_cached = engines.emit_cached

    def emit(*arguments, **options):
        emission = emit_cached(*arguments, **options)
        return dataclasses.replace(emission, verilog=without_initial_values(emission.verilog))

    build = functools.partial(engines.build_model, flags=RANDOM_START)
    monkeypatch.setattr(engines, "emit_cached", emit)
    monkeypatch.setattr(engines, "build_model", build)
