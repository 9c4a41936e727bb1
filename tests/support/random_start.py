"""Verilator models with random registers and memories before the first reset."""

import dataclasses
import functools
import re

from spica.sim.engine import engines

__all__ = ["start_at_random", "without_initial_values"]

RANDOM_START = ("--x-initial", "unique", "--x-assign", "unique")
REGISTER = re.compile(r"^(\s*reg\s[^=;]*?)\s*=\s*[^;]*;", re.MULTILINE)
#: Helper signals without state: they trigger one evaluation of logic without inputs.
WAKE = r"initial wake_\d+ = 0;"
#: Memories that are initialized to 0; all others are read-only tables.
MEMORY = re.compile(r"^\s*initial begin\n(?:\s*\S+ = \d+'h0+;\n)*\s*end\n", re.MULTILINE)
TABLE = re.compile(r"^\s*initial begin\n(?:\s*\S+ = \d+'h[0-9a-f]+;\n)*\s*end\n", re.MULTILINE)


def without_initial_values(verilog: str) -> str:
    """Return Verilog without initial values of registers and writable memories."""
    stripped = MEMORY.sub("", REGISTER.sub(r"\1 ;", verilog))
    # Only wires may keep an initial value, that of their assignment.
    rest = re.sub(rf"always @\*|initial begin end|{WAKE}", "", TABLE.sub("", stripped))
    assert "initial" not in rest
    assert not REGISTER.search(stripped)
    return stripped


def start_at_random(monkeypatch) -> None:
    """Patch the engines: all later models start with random values, which depend on their seed."""
    emit_cached = engines.emit_cached

    def emit(*arguments, **options):
        emission = emit_cached(*arguments, **options)
        return dataclasses.replace(emission, verilog=without_initial_values(emission.verilog))

    build = functools.partial(engines.build_model, flags=RANDOM_START)
    monkeypatch.setattr(engines, "emit_cached", emit)
    monkeypatch.setattr(engines, "build_model", build)
