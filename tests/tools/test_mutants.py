"""Tests of planted faults: each fits the sources once, whatever their locals are called."""

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from bench.mutate import mutants
from formal import faults
from formal.proof import FAULTS as PROVEN

MUTANTS = mutants()

ROOT = Path(__file__).parents[2]


@cache
def renamed(text: str) -> str:
    """Return a source with other names of all arguments and local variables of its functions."""
    tree = ast.parse(text)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        nodes = list(ast.walk(function))
        stored = {
            node.id
            for node in nodes
            if isinstance(getattr(node, "ctx", 0), ast.Store) and isinstance(node, ast.Name)
        }
        local = (stored | {node.arg for node in nodes if isinstance(node, ast.arg)}) - {"self"}
        for node in nodes:
            if isinstance(node, ast.Name) and node.id in local:
                node.id = f"local_{node.id}"
            elif isinstance(node, ast.arg) and node.arg in local:
                node.arg = f"local_{node.arg}"
    return ast.unparse(tree)


@pytest.mark.parametrize("fault", [*MUTANTS, *PROVEN], ids=lambda fault: fault.what)
def test_a_fault_fits_the_sources_whatever_their_locals_are_called(fault):
    path, text = faults.planted(fault)
    source = (ROOT / path).read_text()
    assert text != source
    if path.suffix == ".py":
        assert ast.dump(ast.parse(text)) != ast.dump(ast.parse(source))
        assert len(list(faults.edits(fault, path, renamed(source)))) == 1


def test_mutants_have_names_of_their_own_and_tests():
    names = [mutant.what.partition(": ")[0] for mutant in MUTANTS]
    assert len(set(names)) == len(names) > 100
    for path, _, test in (guard.partition("::") for mutant in MUTANTS for guard in mutant.guards):
        assert f"def {test.partition('[')[0]}" in (ROOT / path).read_text(), f"{path}::{test}"


def test_a_fault_that_does_not_fit_once_is_refused():
    fault = replace(PROVEN[0], where="Queue.elaborate", old="$no.such")
    with pytest.raises(ValueError, match=r"must match once in Queue.elaborate, not 0 times: '\$no"):
        faults.planted(fault)
    (message,) = faults.misfits([replace(fault, old="$store")])
    assert "must match once in Queue.elaborate, not " in message
