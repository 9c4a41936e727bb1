"""Tests of the library of blocks: emissions from the cache have the same bytes as without it."""

import gc
import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from amaranth import *
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from formal.sources import copy_sources
from spica.hw.config import DmaBlockConfig
from spica.hw.emit.emitter import Emitter, emit
from spica.hw.emit.shared_block import SharedBlock
from spica.hw.emit.sram_macros import MacroLimits
from spica.hw.lib.arbiter import Arbiter
from spica.hw.memory.dma.dma import Dma
from spica.hw.presets import PRESETS

TINY = PRESETS["tiny_matrix"]
FEW = replace(TINY, dma=replace(TINY.dma, outstanding=8))
OPTIONS = [{}, {"simulated": True}, {"limits": MacroLimits(bits=0, words=0)}]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def converted(monkeypatch):
    """Return the list of modules that are converted from now on."""
    names = []
    convert = Emitter.convert

    def noting(self, elaboratable, ports, name, component=None):
        names.append(name)
        return convert(self, elaboratable, ports, name, component)

    monkeypatch.setattr(Emitter, "convert", noting)
    return names


def dma(config, **options):
    return emit(Dma(DmaBlockConfig.of(config)), "dma", **options)


@pytest.fixture(scope="module")
def expected():
    """Return the emissions without a cache, by config and options."""
    return {
        (id(config), str(options)): dma(config, **options)
        for config in (TINY, FEW)
        for options in OPTIONS
    }


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.full
def test_same_emissions_in_any_order(expected, seed):
    cases = [(config, options) for config in (TINY, FEW) for options in OPTIONS] * 2
    random.Random(seed).shuffle(cases)
    for config, options in cases:
        assert dma(config, is_cached=True, **options) == expected[id(config), str(options)]
    gc.collect()  # a component that is never elaborated would warn here


@pytest.mark.full
def test_changed_field_converts_few_blocks(converted):
    # Names of modules for a simulator have hashes.
    first = dma(TINY, simulated=True, is_cached=True)
    assert len(converted) == len(first.modules) + 1
    converted.clear()
    dma(TINY, simulated=True, is_cached=True)
    assert converted == ["dma"]
    converted.clear()
    changed = dma(FEW, simulated=True, is_cached=True)
    new = {module.name for module in changed.modules} - {module.name for module in first.modules}
    assert new
    assert sorted(converted) == sorted(["dma", *new])


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.full
def test_missing_and_damaged_entries_are_made_again(folder, expected, seed):
    rng = random.Random(seed)
    dma(TINY, is_cached=True)
    for path in sorted(folder.rglob("*.gz")):
        chance = rng.random()
        if chance < 0.3:
            path.unlink()
        elif chance < 0.4:
            path.write_bytes(path.read_bytes()[:20])
    for _ in range(2):
        assert dma(TINY, is_cached=True) == expected[id(TINY), "{}"]


class Pass(SharedBlock):
    """A block outside the hardware's package, with one of the package in it."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(config), "o": Out(config)})

    def build(self, platform):
        m = Module()
        m.submodules.arbiter = arbiter = Arbiter(self.config)
        m.d.comb += [arbiter.requests.eq(self.i), self.o.eq(arbiter.grant)]
        return m


class Passes(wiring.Component):
    """Two instances of a block with an arbiter, and an arbiter of another class or none."""

    i: In(4)
    o: Out(4)

    def __init__(self, other=None):
        self.other = other
        super().__init__()

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Pass(4)
        m.submodules.second = second = Pass(4)
        m.d.comb += [first.i.eq(self.i), second.i.eq(first.o), self.o.eq(second.o)]
        if self.other is not None:
            m.submodules.other = other = self.other(4)
            m.d.comb += other.requests.eq(self.i)
        return m


def test_blocks_of_other_packages_are_converted_again(converted, monkeypatch):
    first = emit(Passes(), "passes", is_cached=True)
    converted.clear()
    assert emit(Passes(), "passes", is_cached=True) == first
    assert sorted(name.partition("_")[0] for name in converted) == ["pass", "passes"]
    monkeypatch.setattr(Pass, "build", lambda self, platform: Module())
    assert emit(Passes(), "passes", is_cached=True) != first


@pytest.mark.parametrize("is_warm", [False, True])
def test_two_classes_of_one_name_are_refused(is_warm):
    kind = type("Arbiter", (Arbiter,), {"__module__": "elsewhere"})
    kind.__qualname__ = Arbiter.__qualname__
    if is_warm:
        emit(Passes(), "passes", is_cached=True)
    message = f"must have distinct names, not Arbiter in both {Arbiter.__module__} and elsewhere"
    with pytest.raises(ValueError, match=message):
        emit(Passes(kind), "passes", is_cached=True)


PROGRAM = """
import hashlib, sys
from spica.hw.config import DmaBlockConfig
from spica.hw.presets import PRESETS
from spica.hw.emit.emitter import Emitter, emit
from spica.hw.memory.dma.dma import Dma

names, convert = [], Emitter.convert
Emitter.convert = lambda self, block, ports, name, *others: names.append(name) or convert(
    self, block, ports, name, *others
)
dma = Dma(DmaBlockConfig.of(PRESETS["tiny_matrix"]))
text = emit(dma, "dma", is_cached=sys.argv[1] == "cached").verilog
print(hashlib.sha256(text.encode()).hexdigest(), *names)
"""


@pytest.mark.full
def test_edited_source_changes_the_text(tmp_path):
    """The edited file is in a copy of the sources; other blocks are taken from the cache."""
    sources = tmp_path / "sources"
    sources.mkdir()
    copy_sources(sources)
    environment = dict(os.environ, PYTHONPATH=str(sources), PYTHONDONTWRITEBYTECODE="1")

    def run(how: str) -> tuple[str, list[str]]:
        command = [sys.executable, "-c", PROGRAM, how]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        digest, *names = done.stdout.split()
        return digest, names

    before, every = run("cached")
    assert run("cached") == (before, ["dma"])
    (edited,) = sources.glob("*/hw/memory/dma/byte_aligner.py")
    text = edited.read_text()
    edited.write_text(text + "\n# A comment changes no byte of the Verilog.\n")
    digest, some = run("cached")
    assert digest == before
    assert 1 < len(some) < len(every)
    changed = text.replace("rotate_left(8", "rotate_right(8")
    assert changed != text
    edited.write_text(changed)
    after, some = run("cached")
    assert after != before
    assert 1 < len(some) < len(every)
    assert run("none")[0] == after
