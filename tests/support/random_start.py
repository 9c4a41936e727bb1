"""Verilator models with random registers and memories before the first reset."""

import dataclasses
import functools
import re

from spica.sim.engine import engines

__all__ = ["start_at_random", "without_initial_values"]

RANDOM_START = ("--x-initial", "unique", "--x-assign", "unique")
INITIAL = re.compile(r"^  initial begin\n((?:    .*\n)*)  end\n", re.MULTILINE)
#: Contents of a word of a memory; memories with contents are read-only tables.
WORD = re.compile(r" *\w+\[\d+\] = ")


def without_initial_values(verilog: str) -> str:
    """Return Verilog without initial values of registers."""

    def tables(block: re.Match) -> str:
        words = [text for text in block[1].split(";\n") if WORD.match(text)]
        text = ";\n".join([*words, ""])
        return f"  initial begin\n{text}  end\n" if words else ""

    return INITIAL.sub(tables, verilog)


def start_at_random(monkeypatch) -> None:
    """Patch the engines: all later models start with random values, which depend on their seed."""
    emit_cached = engines.emit_cached

    def emit(*arguments, **options):
        emission = emit_cached(*arguments, **options)
        return dataclasses.replace(emission, verilog=without_initial_values(emission.verilog))

    build = functools.partial(engines.build_model, flags=RANDOM_START)
    monkeypatch.setattr(engines, "emit_cached", emit)
    monkeypatch.setattr(engines, "build_model", build)
