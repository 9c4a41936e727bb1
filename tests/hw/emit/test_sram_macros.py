"""Tests of memories as macros: selection, behaviour of wrappers, descriptions."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from spica.hw.emit.emitter import Emitter, emit
from spica.hw.emit.module_ports import signature_ports
from spica.hw.emit.sram_macros import ONE_PORT, TWO_PORTS, MacroLimits, SramShape
from spica.hw.lib.sram import Sram
from spica.hw.machine.artifacts import artifacts
from spica.hw.machine.machine import Machine
from spica.hw.presets import PRESETS
from support.verilog.lint import lint
from support.verilog.readers import icarus_complaints, run_icarus, yosys_complaints

ALL = MacroLimits(bits=0, words=0)


def need_icarus():
    if shutil.which("iverilog") is None:
        pytest.skip("missing: iverilog (apt-get install iverilog)")


def test_names_state_what_differs():
    assert SramShape(depth=16, width=36, granularity=9).name == "spica_sram_1r1w_16x36_be9"
    whole = SramShape(depth=8, width=70, granularity=70, ports=ONE_PORT)
    assert whole.name == "spica_sram_1rw_8x70"


class Store(wiring.Component):
    """A memory of each kind, a small one, and two of one shape."""

    i: In(32)
    address: In(6)
    writes: In(1)
    one: Out(32)
    two: Out(32)
    three: Out(32)
    few: Out(4)

    def elaborate(self, platform):
        m = Module()
        memories = {
            "one": Sram(depth=64, width=32, ports=ONE_PORT),
            "two": Sram(depth=64, width=32, granularity=8),
            "three": Sram(depth=64, width=32, granularity=8),
            "few": Sram(depth=16, width=4),
        }
        for name, memory in memories.items():
            m.submodules[name] = memory
            m.d.comb += [
                memory.read.valid.eq(~self.writes),
                memory.read.payload.eq(self.address),
                memory.write.mask.eq(Mux(self.writes, ~0, 0)),
                memory.write.address.eq(~self.address if name != "one" else self.address),
                memory.write.data.eq(self.i),
                getattr(self, name).eq(memory.data),
            ]
        return m


@pytest.fixture(scope="module")
def left_out():
    """Emit the memories above the limits as macros."""
    return emit(Store(), "store", limits=MacroLimits(bits=512, words=16))


def test_shapes_are_counted(left_out):
    assert {sram.shape.name: sram.instances for sram in left_out.srams} == {
        "spica_sram_1rw_64x32": 1,
        "spica_sram_1r1w_64x32_be8": 2,
    }
    modules = re.findall(r"^module (\w+)", left_out.sram_models, re.M)
    assert modules == sorted(sram.shape.name for sram in left_out.srams)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (ALL, 4),
        (MacroLimits(bits=64, words=16), 4),
        (MacroLimits(bits=65, words=16), 3),
        (MacroLimits(bits=64, words=17), 3),
        (MacroLimits(bits=2048, words=64), 3),
        (MacroLimits(bits=2049, words=64), 0),
    ],
)
@pytest.mark.quick(2)
def test_small_memories_stay(limits, expected):
    emission = emit(Store(), "store", limits=limits)
    assert sum(sram.instances for sram in emission.srams or ()) == expected
    # Two of the memories are alike, and are written once.
    kinds = min(4 - expected, 3)
    assert len(re.findall(r"^  reg .* memory \[", emission.verilog, re.M)) == kinds


def test_without_limits_nothing_is_left_out():
    emission = emit(Store(), "store")
    assert emission.srams is None
    assert emission.sram_models == ""
    assert "spica_sram" not in emission.verilog
    assert "sram_ports" not in emission.verilog


def test_netlists_have_the_ports():
    store = Store()
    text = Emitter(store).convert(store, list(signature_ports(store, "_")), "store").text
    assert (
        re.findall(r'attribute \\sram_ports "(\w+)"\n +memory', text)
        == [ONE_PORT] + [TWO_PORTS] * 3
    )


def test_what_is_emitted_can_be_read(left_out):
    need_icarus()
    assert lint(left_out) == []
    assert yosys_complaints(left_out) == []
    assert icarus_complaints(left_out, "2005") == []


@pytest.mark.full
def test_readers_complain(left_out):
    need_icarus()
    alone = replace(left_out, srams=())
    for complaints in (lint(alone), yosys_complaints(alone), icarus_complaints(alone, "2005")):
        assert "spica_sram" in "\n".join(complaints)
    undriven = "module store(output o); wire w; assign o = ~w; endmodule\n"
    assert yosys_complaints(replace(alone, verilog=undriven))


def test_memories_do_the_same_as_macros(left_out):
    """In one simulation, for words that were written before."""
    need_icarus()
    plain = emit(Store(), "plain")
    outputs = {"one": 32, "two": 32, "three": 32, "few": 4}
    wires, instances = [], []
    for design in ("plain", "store"):
        pins = [".clk(clk), .i(i), .address(address), .writes(writes)"]
        for name, width in outputs.items():
            wires.append(f"  wire [{width - 1}:0] {design}_{name};")
            pins.append(f".{name}({design}_{name})")
        instances.append(f"  {design} {design}_design({', '.join(pins)});")
    joined = [f"{{{', '.join(f'{d}_{name}' for name in outputs)}}}" for d in ("plain", "store")]
    text = "\n".join([
        "module bench; reg clk = 0, writes = 1; reg [31:0] i; reg [5:0] address; integer k;",
        *wires,
        *instances,
        "  initial for (k = 0; k < 600; k = k + 1) begin",
        "    i = $random; address = k < 64 ? k : $random; writes = k < 64 || ($random & 1);",
        "    #1 clk = 1; #1 clk = 0;",
        f'    $display("%b %b", {joined[0]}, {joined[1]});',
        "  end",
        "endmodule",
    ])
    # Both have a module for each memory; only the top's part of their names differs.
    files = {"a.v": plain.verilog, "b.v": left_out.verilog, "c.v": left_out.sram_models}
    lines = run_icarus(files | {"bench.v": text}, "bench").splitlines()
    pairs = [tuple(line.split()) for line in lines]
    assert len(pairs) == 600
    assert all(one == other for one, other in pairs)
    assert sum("x" not in one for one, _ in pairs) > 400
    assert len({one for one, _ in pairs}) > 200


@pytest.mark.full
def test_description_and_files(left_out):
    emission = emit(Machine(PRESETS["tiny_matrix"]), "tiny_matrix", limits=MacroLimits())
    texts = artifacts(emission)
    assert list(texts) == [f"tiny_matrix{ending}" for ending in (".v", "_sram.v", ".h", ".json")]
    assert texts["tiny_matrix_sram.v"].startswith("// Generated by Spica ")
    described = json.loads(texts["tiny_matrix.json"])["srams"]
    assert described[0] == {
        "name": "spica_sram_1r1w_512x32_be8",
        "depth": 512,
        "width": 32,
        "granularity": 8,
        "ports": "1r1w",
        "instances": 8,
    }


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"depth": 1, "width": 8, "granularity": 8}, "depth must be at least 2, not 1"),
        ({"depth": 4, "width": 8, "granularity": 3}, "granularity must divide the width 8, not 3"),
        (
            {"depth": 4, "width": 8, "granularity": 8, "ports": "2rw"},
            "ports must be one of 1r1w, 1rw, not '2rw'",
        ),
    ],
)
def test_bad_shapes_are_refused(parameters, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SramShape(**parameters)
