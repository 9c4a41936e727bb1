"""Tests of the pipeline page against RTL: cycles, and names of signals."""

import re
import shlex
from collections import defaultdict
from xml.etree import ElementTree

import pytest

from spica.cli.main import app
from spica.hw.cluster.cores import Cores
from spica.sim.engine.emission_cache import emit_cached


@pytest.fixture
def page(page_writer):
    return page_writer("pipeline")


@pytest.mark.full
def test_page_has_the_cycles_of_a_run(page):
    text = page.PAGE.read_text()
    assert page.updated(text) == text, "make docs brings docs/pipeline.md up to date"


@pytest.mark.full
def test_picture_is_that_of_a_run(page):
    picture = page.PICTURE.read_text()
    assert page.picture(page.pipeline(), page.PRODUCER, page.CONSUMER) == picture
    assert ElementTree.fromstring(picture).tag.endswith("svg")


@pytest.mark.full
def test_an_operand_is_snooped(page):
    """The example of the page: of three operands one is snooped while others are read."""
    producer, consumer = (page.pipeline().lives[k] for k in (page.PRODUCER, page.CONSUMER))
    assert consumer.pending == 0b001
    assert page.sources(consumer)[0] == producer.rd
    assert consumer.collected < producer.done < consumer.dispatched


@pytest.mark.full
def test_steps_are_in_order(page):
    steps = list(page.steps(page.pipeline()))
    assert [step.cycle for step in steps] == sorted({step.cycle for step in steps})
    assert {life.number for life in page.pipeline().lives} > {page.PRODUCER, page.CONSUMER}


def modules_of(verilog):
    """Return signals and instances of each module of a design."""
    signals, instances, module = defaultdict(set), defaultdict(dict), ""
    for line in verilog.splitlines():
        if match := re.match(r"module (\S+?) ?\(", line):
            module = match[1]
        elif match := re.match(r"  (?:input|output|wire|reg) (?:\[\S+ )?(\w+)(?:[ ;,]|$)", line):
            signals[module].add(match[1])
        elif match := re.match(r"  (\S+) +(\S+) +\($", line):
            instances[module][match[2]] = match[1]
    return signals, instances


@pytest.mark.full
def test_signals_are_those_of_the_emitted_verilog(page):
    signals, instances = modules_of(emit_cached(page.CONFIG, "cores", kind=Cores).verilog)
    names = {name for step in page.steps(page.pipeline()) for name in step.signals}
    assert len(names) > 20
    for name in names:
        module = "cores"
        *path, signal = name.split(".")
        for instance in path:
            module = instances[module][instance]
        assert signal in signals[module], name


def waveform(text):
    """Return the value of each signal in each cycle, and the identifiers of each name."""
    scopes, names, now, samples = [], {}, {}, []
    for line in text.splitlines():
        match line.split():
            case ["$scope", _, scope, "$end"]:
                scopes.append(scope)
            case ["$upscope", "$end"]:
                scopes.pop()
            case ["$var", "wire", _, identifier, name, "$end"]:
                names[".".join([*scopes[2:], name])] = identifier
            case [value, identifier] if value[0] == "b":
                now[identifier] = int(value[1:], 2)
            case [change] if change[0] in "01":
                if change == "1" + names["core0_clk"]:
                    samples.append(dict(now))
                now[change[1:]] = int(change[0])
    return names, samples


@pytest.mark.slow
@pytest.mark.full
def test_signals_are_those_of_the_page(page, tmp_path):
    records = page.run("amaranth", str(tmp_path / "wave.vcd"))
    names, samples = waveform((tmp_path / "wave.vcd").read_text())
    for step in page.steps(records):
        for name, value in step.signals.items():
            # Ports of the top have two underscores in their names before emission.
            signals = [
                known for known in names if known.replace("__", "_") == name.replace("__", "_")
            ]
            assert signals, name
            # The harness starts a cycle before the cores.
            assert {samples[step.cycle + 1][names[one]] for one in signals} == {value}, (step, name)


def test_command_of_the_page_parses(page):
    (line,) = re.findall(r"^spica (run .*)$", page.PAGE.read_text(), re.M)
    command, _, ignored = app.parse_args(shlex.split(line), exit_on_error=False, print_error=False)
    assert command.__name__ == "run"
    assert ignored == {}
