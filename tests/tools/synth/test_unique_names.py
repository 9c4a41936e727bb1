"""Tests of unique names: no two blocks share one, and each block has its own order."""

import re

from amaranth import *
from amaranth.lib.wiring import In, Out

from spica.hw.emit.shared_block import SharedBlock
from spica.hw.lib.sram import Sram
from spica.synth.blocks import modules_of, split_blocks
from spica.synth.design import rtlil_of
from spica.synth.unique_names import with_unique_names

DECLARED = re.compile(r"^  (?:wire|memory|process|cell)(?: .*)? ([\\$]\S+)$", re.MULTILINE)


class Store(SharedBlock):
    """Read a memory at the address of an earlier write."""

    def __init__(self, config):
        self.config = config
        super().__init__({"o": Out(8), "i": In(8)})

    def build(self, platform):
        m = Module()
        m.submodules.sram = sram = Sram(depth=64, width=8)
        m.d.comb += [
            sram.read_enable.eq(1),
            sram.read_address.eq(self.i - self.config),
            sram.write_address.eq(self.i),
            sram.write_mask.eq(self.i != 3),
            sram.write_data.eq(self.i),
            self.o.eq(sram.read_data),
        ]
        return m


class Stores(SharedBlock):
    """Two stores in series; one signal has the name of a port of theirs."""

    def __init__(self, config):
        self.config = config
        super().__init__({"i": In(8), "q": Out(8)})

    def build(self, platform):
        m = Module()
        i = self.i
        for distance in (1, 2):
            m.submodules[f"store_{distance}"] = store = Store(distance)
            m.d.sync += store.i.eq(i + self.config)
            i = store.o
        m.d.comb += self.q.eq(i)
        return m


def test_no_two_blocks_share_a_name():
    text, top, kinds = rtlil_of(Stores(5), "stores")
    blocks = split_blocks(text, kinds)
    before, after = modules_of(text), modules_of(with_unique_names(text, kinds))
    prefixes = {}
    for module, lines in before.items():
        renamed = DECLARED.findall(after[module])
        prefix = prefixes[module] = renamed[0][1:].partition(":")[0] + ":"
        assert renamed == [name[0] + prefix + name[1:] for name in DECLARED.findall(lines)]
    assert len({prefixes[block] for block in blocks}) == len(blocks) == 3
    assert all(prefixes[module] == prefixes[module.partition(".")[0]] for module in before)
    # Parents name the ports of their children, so children come first.
    assert list(after).index(top) == len(after) - 1
    # The parent's first names are its children's ports `\o` and `\i`.
    names = after[f"{prefixes[top]}names"] + after[top]
    met = [name.replace(prefixes[top], "") for name in DECLARED.findall(names)]
    assert distinct(met) == distinct(DECLARED.findall(blocks[top].text))
    assert distinct(met) != distinct(DECLARED.findall(before[top]))


def distinct(names):
    """Return distinct names in the order of first occurrence."""
    return list(dict.fromkeys(names))
