"""Tests of emitted presets as text: size, names, comments, and the source's names in the logic."""

import re

import pytest

from spica.hw.emit.emitter import emit
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS

#: Most lines of a preset.
LINES = {"tiny_matrix": 11_000, "virgo": 50_000}
#: Signals of the source that the logic of a block reads, by the end of its module's name.
READ = {
    # The check of the source registers of a warp's next instruction.
    "scoreboard__readiness": (
        *("runs", "free", "undrained", "stopped", "drained", "active"),
        *("board__0__hazard", "board__7__memory", "claims__grant", "heads__0__0__valid"),
    ),
    # The hit path of the L1 data cache.
    "lookup_stage": (
        *("is_read", "is_write", "is_present", "leaves", "tags__hits", "hit__ready"),
        *("mshrs__joins", "stores__conflict", "request__read__beat", "waiting__payload"),
    ),
    # An accumulator reads a row, adds to it, and writes it.
    "accumulator": (
        *("is_read", "added_from", "accumulates", "addends", "valid_line", "address_line"),
        *("rows_0__data", "number", "following", "target__payload__address"),
    ),
}


@pytest.fixture(
    scope="module", params=["tiny_matrix", pytest.param("virgo", marks=pytest.mark.full)]
)
def text(request):
    """Emit a preset; return its name and text."""
    return request.param, emit(Machine(PRESETS[request.param]), request.param).verilog


def modules_of(verilog: str) -> dict[str, str]:
    """Return the text of each module by name, with the comment before it."""
    parts = re.split(r"^endmodule\n", verilog, flags=re.M)[:-1]
    pairs = [(re.search(r"^module (\w+)", part, re.M), part) for part in parts]
    return {match[1]: part for match, part in pairs if match}


def test_size(text):
    preset, verilog = text
    lines = verilog.splitlines()
    assert len(lines) <= LINES[preset]
    assert [line for line in lines if len(line) > 120] == []


def test_names_need_no_escape(text):
    code = re.sub(r"//.*", "", text[1])
    assert "\\" not in code
    assert set(re.findall(r"\$\w*", code)) <= {"$signed", "$unsigned"}
    assert re.findall(r"\w\.\w", code) == []


def test_no_module_has_a_hash(text):
    assert [name for name in modules_of(text[1]) if re.search(r"_[0-9a-f]{8}(__|$)", name)] == []


def test_each_module_has_a_comment(text):
    bare = [
        name for name, part in modules_of(text[1]).items() if not re.search(r"^// \w", part, re.M)
    ]
    assert bare == []


def test_each_name_is_declared_once(text):
    declared = re.compile(r"^  (?:(?:in|out)put |wire |reg )+(?:\[\d+:\d+\] )?(\w+)", re.M)
    for part in modules_of(text[1]).values():
        names = declared.findall(part)
        assert len(names) == len(set(names))


@pytest.mark.full
def test_logic_reads_the_names_of_the_source():
    modules = modules_of(emit(Machine(PRESETS["virgo"]), "virgo").verilog)
    for end, names in READ.items():
        (part,) = [part for name, part in modules.items() if name.endswith(end)]
        for name in names:
            reads = re.findall(rf"(?:=|\(|[&|^?:~{{,]) *[^;\n]*\b{name}\b", part)
            assert reads, (end, name)
