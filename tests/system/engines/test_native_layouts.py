"""Tests that Python reads our C++ as its compiler does: layouts, numbers, types of functions."""

import ctypes

import pytest

from spica.base.compiler import find_compiler
from spica.base.native_interface import NativeInterface
from spica.base.tools import run_tool
from spica.base.zig import zig_environment
from spica.sim.harness.interface import HARNESS, NATIVE
from spica.sim.harness.stop_reason import StopReason
from spica.sim.iss import native_types
from spica.sim.iss.coefficients import special_header
from spica.sim.iss.memory_check import KINDS
from spica.sim.iss.native_types import ISS, SUMS
from spica.sim.iss.races import ADVICE
from spica.sim.iss.table import header
from spica.synth.energy.evaluator import EVALUATOR

INTERFACES = {"harness": HARNESS, "iss": ISS, "evaluator": EVALUATOR}
#: Sources that need the headers of a Verilated model, and what only they declare.
OF_MODELS = ("verilated_state.hpp", "model.cpp", "block.cpp")
ONLY_THERE = {"model_vectors", "block_functions"}
BEFORE = "#include <algorithm>\n#include <cstddef>\nnamespace spica::iss {}\n"
AFTER = """
using namespace spica;
using namespace spica::iss;
template <typename Result, typename... Arguments>
constexpr bool has_sizes(Result (*)(Arguments...), std::initializer_list<size_t> expected) {
    size_t result = 0;
    if constexpr (!std::is_void_v<Result>) result = sizeof(Result);
    size_t found[] = {result, sizeof(Arguments)...};
    return std::equal(std::begin(found), std::end(found), expected.begin(), expected.end());
}
"""


def size_of(kind):
    return 0 if kind is None else ctypes.sizeof(kind)


def facts(interface):
    """Yield the conditions under which Python reads an interface as its compiler does."""
    for name, declared in interface.declarations.items():
        if hasattr(declared, "parameters"):
            sizes = ", ".join(str(size_of(kind)) for kind in interface.signature(declared, name))
            yield f"has_sizes(&{name}, {{{sizes}}})"
        elif hasattr(declared, "class_decl"):
            structure = interface.structure(name)
            yield f"sizeof({name}) == {ctypes.sizeof(structure)}"
            for field, _ in structure._fields_:
                place = getattr(structure, field)
                yield f"offsetof({name}, {field}) == {place.offset}"
                yield f"sizeof({name}::{field}) == {place.size}"
        elif hasattr(declared, "values"):
            for member in interface.enumeration(name):
                yield f"static_cast<uint64_t>({name}::{member.name}) == {member.value}"
        elif hasattr(declared, "value"):
            yield f"{name} == {interface.constant(name)}"


def refused(interface, conditions, folder):
    """Return the errors of a compiler about assertions behind all sources of an interface."""
    (folder / "table.hpp").write_text(header())
    (folder / "special_tables.hpp").write_text(special_header())
    included = "".join(f'#include "{path}"\n' for path in interface.files)
    asserted = "".join(f"static_assert({condition});\n" for condition in conditions)
    test = folder / "test.cpp"
    test.write_text(f"{BEFORE}{included}{AFTER}{asserted}")
    paths = [f"-I{path}" for path in (folder, NATIVE, native_types.NATIVE)]
    compiler, result = find_compiler(), str(folder / "test.o")
    # Compiled as all sources are: a check of the syntax alone would build the C++ library.
    command = [*compiler.command, *compiler.flags(0), "-std=c++20", "-w", "-c", *paths, str(test)]
    return run_tool([*command, "-o", result], env=zig_environment()).stderr


@pytest.mark.parametrize("library", INTERFACES)
@pytest.mark.quick("iss")
def test_a_compiler_agrees(library, tmp_path):
    whole = INTERFACES[library]
    interface = NativeInterface(*(path for path in whole.files if path.name not in OF_MODELS))
    assert whole.declarations.keys() - interface.declarations.keys() <= ONLY_THERE
    conditions = list(facts(interface))
    errors = refused(interface, [*conditions, f"!({conditions[-1]})"], tmp_path)
    assert errors.count("error: static assertion failed") == errors.count("error:") == 1, errors


def test_names_in_python_are_those_of_the_cpp():
    stops = {f"k{''.join(map(str.capitalize, stop.name.split('_')))}": stop for stop in StopReason}
    assert stops == dict(HARNESS.enumeration("StopReason").__members__)
    assert set(KINDS) == set(ISS.enumeration("Mishap").__members__)
    assert {"None", *ADVICE} == set(ISS.enumeration("Lack").__members__)
    assert {"Fused", *SUMS.values()} == set(ISS.enumeration("Sum").__members__)
