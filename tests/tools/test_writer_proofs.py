"""Tests of the proofs of written Verilog: real conversions, and planted faults of each kind."""

import json
import re
from dataclasses import replace

import pytest

from formal.writer import __main__ as main
from formal.writer import prover
from formal.writer.conversions import Collector, subject_of
from formal.writer.prover import prove
from formal.writer.session import Session, YosysError
from spica.hw.emit.amaranth_patches import patched_amaranth
from spica.hw.emit.module_ports import signature_ports
from spica.hw.emit.writer.conversion import Conversion
from support.netlist_faults import faults_of, planted
from support.writer_sample import WriterSample


class SampleCollector(Collector):
    """Collector that keeps the netlist of the sample."""

    def conversion(self, built, name, component):
        self.arguments = built, name, component
        return super().conversion(built, name, component)


@pytest.fixture(scope="module")
def session():
    with Session() as session:
        yield session


@pytest.fixture(scope="module")
def sample():
    """Return the collector of the sample and its subject."""
    top = WriterSample()
    collector = SampleCollector()
    collector.top = top
    with patched_amaranth():
        collector.convert(top, list(signature_ports(top, "_")), "sample")
    (subject,) = (one for one in collector.subjects if one.name == "sample")
    return collector, subject


def faulty(sample, index, change):
    """Return the subject whose text is that of a netlist with a fault."""
    collector, subject = sample
    built, *names = collector.arguments
    with planted(built.netlist, index, change), patched_amaranth():
        other = subject_of(Conversion(built, *names))
    return replace(other, reference=subject.reference)


def test_the_text_of_every_kind_of_cell_is_proven(sample, session):
    for subject in sample[0].subjects:
        finding = prove(subject, session)
        assert (finding.status, finding.detail) == ("proven", "")
        assert finding.bits


def test_a_fault_is_found_with_values_of_inputs(sample, session):
    netlist = sample[0].arguments[0].netlist
    fault = next(fault for fault in faults_of(netlist) if "operands of - are" in fault[1])
    finding = prove(faulty(sample, fault[0], fault[2]), session)
    assert finding.status == "different"
    assert re.match(
        r"7 bits: output wide_1\[1\], .*; for example, only these inputs are high: ", finding.detail
    )


#: Edits of the text, and the begin of the finding.
EDITS = {
    "a latch": (r"    chosen_0 = a;\n", "", "latch"),
    "two drivers": (r"(  assign results_3 = )", r"  assign results_3 = a == b;\n\1", "bit"),
    "no initial value": (r"    stored_1 = 8'h2d;\n", "", "register stored_1[0]: reset"),
    "another initial value": (
        "stored_1 = 8'h2d",
        "stored_1 = 8'h2c",
        "register stored_1[0] has the",
    ),
    "no reset": (r"(stored_3 <= )8'd0;", r"\1stored_1;", "register stored_3[0]: reset"),
    "another width": (
        r"output (reg )?\[7:0\] stored_3",
        r"output \1[6:0] stored_3",
        "port stored_3 is no output of 8 bits",
    ),
    "another size": (r"memory \[0:7\]", "memory [0:6]", "memory memory is"),
    "no word": (r"    memory\[1\] = 8'd0;\n", "", "memory memory has other initial contents"),
    "no instance": (r"  box_\w+ box_1 \((.*\n)+?  \);\n", "", "instance box_1 is on one side"),
    "an input less": (r"    \.left\(a\[4:1\]\),\n", "", "instance box_1 has other ports: ['left']"),
    "a narrow input": (r"\.left\(a\[4:1\]\)", ".left(a[3:1])", "instance box_1.left has 3 bits"),
    "a register more": (
        r"endmodule\n",
        "reg more;\nassign results_19 = more;\nalways @(posedge clk) more <= a[0];\nendmodule\n",
        "bit",
    ),
    "no Verilog": (r"endmodule\n\Z", "", "ERROR"),
}


@pytest.mark.parametrize(("old", "new", "begin"), EDITS.values(), ids=EDITS)
def test_an_edit_of_the_text_is_found(sample, session, old, new, begin):
    subject = sample[1]
    text, count = re.subn(old, new, subject.text, count=1)
    assert count == 1
    finding = prove(replace(subject, text=text), session)
    assert finding.status == "different"
    assert begin in finding.detail


@pytest.mark.full
@pytest.mark.parametrize(
    "kind",
    [
        "Operator",
        "AssignmentList",
        "Matches",
        "Part",
        "FlipFlop",
        "Memory",
        "SyncWritePort",
        "SyncReadPort",
        "AsyncReadPort",
        "Instance",
        "Top",
    ],
)
def test_a_fault_of_each_kind_of_cell_is_found(sample, session, kind):
    """The slow test below has the faults of all cells."""
    faults = [
        fault for fault in faults_of(sample[0].arguments[0].netlist) if fault[1].startswith(kind)
    ]
    by_words = {re.sub(r"\d+:", "", words): (index, change) for index, words, change in faults}
    assert by_words
    for words, (index, change) in list(by_words.items())[:3]:
        assert prove(faulty(sample, index, change), session).status == "different", words


@pytest.mark.slow
def test_the_faults_of_all_cells_are_found(sample, session):
    faults = faults_of(sample[0].arguments[0].netlist)
    assert len(faults) > 100
    statuses = {
        words: prove(faulty(sample, index, change), session).status
        for index, words, change in faults
    }
    assert {words for words, status in statuses.items() if status != "different"} == set()


def test_a_proof_is_stored_and_depends_on_the_text(sample, session, tmp_path, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(tmp_path))
    subject = sample[0].subjects[0]
    first = prove(subject, session, is_cached=True)
    monkeypatch.setattr(Session, "run", None)
    assert prove(subject, session, is_cached=True) == first
    commented = replace(subject, text=f"// A comment\n{subject.text}")
    assert prove(commented, session, is_cached=True) == first
    with pytest.raises(TypeError):
        prove(replace(subject, text=subject.text.replace("left", "right")), session, is_cached=True)


def test_a_proof_that_takes_too_long_is_given_up(sample, session, monkeypatch):
    original = Session.run

    def short(self, script, results, timeout):
        original(self, script, results, 0 if script == prover.SWEEP else timeout)

    monkeypatch.setattr(Session, "run", short)
    finding = prove(sample[1], session)
    assert (finding.status, finding.detail) == ("unproven", "not decided in 0 s")


def test_a_script_must_write_its_results(session):
    with pytest.raises(YosysError, match=r"Yosys must write nothing\.txt and did not"):
        session.run("log without a result\n", ("nothing.txt",), 60)


@pytest.mark.full
def test_all_blocks_of_a_preset_are_proven(tmp_path, capsys):
    out = tmp_path / "out.json"
    assert main.main(["tiny_matrix", "--json", str(out)]) == 0
    rows = json.loads(out.read_text())
    assert {row["status"] for row in rows} == {"proven"}
    assert {row["form"] for row in rows} == {"synthesis", "simulation", "macros"}
    assert "tiny_matrix" in {row["name"] for row in rows}
    assert "not proven" in capsys.readouterr().out


@pytest.mark.slow
def test_all_blocks_of_all_presets_are_proven():
    assert main.main([]) == 0
