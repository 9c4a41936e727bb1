"""Tests of the interface that Python reads from C++."""

import ctypes

import numpy as np
import pytest

from spica.base.compiler import compile_all, find_compiler, link
from spica.base.native_interface import NativeInterface, NativeLibrary

HEADER = """
#pragma once
#include <array>
#include <cstdint>

namespace test {

extern "C" enum class Colour : uint8_t { kRed, kGreen = 4, kBlue };

extern "C" {

// Not a number: 3.
constexpr uint32_t kSize = 1 + 2, kNone = ~0u;

struct Point {
    static constexpr uint32_t kSize = 2;
    uint16_t x, y = 7;
    std::array<uint32_t, kSize> z{};
    double length() const { return x; }
};

}  // extern "C"

extern "C" struct Line {
    Colour colour;
    Point ends[Point::kSize];
    uint64_t weights[kSize - 1];
    int (*measure)(const Point* point, uint32_t scale);
};

class Hidden {
    int number;
};

}  // namespace test
"""
SOURCE = """
#include "lines.hpp"
using namespace test;

namespace {
Hidden hidden;
}

int plural() { return 2; }

extern "C" {

Line line_of(uint16_t x, uint16_t y) {
    Line line{};
    line.colour = Colour::kBlue;
    line.ends[1] = {x, y, {1, 2}};
    return line;
}

int line_measured(const Line* line) { return line->measure(&line->ends[1], 10); }

Hidden* hidden_of() { return &hidden; }
int is_hidden(Hidden* other) { return other == &hidden; }

#if 1
uint32_t sum_of(const uint32_t* words, uint64_t count) {
    uint32_t sum = 0;
    for (uint64_t k = 0; k < count; k++) sum += words[k];
    return sum;
}
#endif

}  // extern "C"

extern "C" const char* name_of(const uint8_t* bytes) { return bytes[0] == 'a' ? "one" : "two"; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lines")
    (folder / "lines.hpp").write_text(HEADER)
    (folder / "lines.cpp").write_text(SOURCE)
    compiler = find_compiler()
    flags = ["-std=c++20", "-fPIC", "-w", *compiler.flags(0)]
    compile_all(compiler, [(folder / "lines.cpp", folder / "lines.o", flags)])
    link(compiler, [folder / "lines.o"], folder / "lines.so")
    return NativeLibrary(folder / "lines.so", NativeInterface(folder))


def read(tmp_path, text):
    """Return the interface of a header."""
    (tmp_path / "header.hpp").write_text(text)
    return NativeInterface(tmp_path / "header.hpp")


def test_constants_and_enumerations(library):
    interface = library.interface
    names = ("kSize", "kNone", "Point::kSize")
    assert [interface.constant(name) for name in names] == [3, 0xFFFF_FFFF, 2]
    assert {member.name: member.value for member in interface.enumeration("Colour")} == {
        "kRed": 0, "kGreen": 4, "kBlue": 5,
    }  # fmt: skip


def test_functions_take_and_return_structures(library):
    line = library.line_of(3, 4)
    assert line.colour == library.interface.enumeration("Colour").kBlue
    assert (line.ends[1].x, line.ends[1].y, list(line.ends[1].z)) == (3, 4, [1, 2])
    assert len(line.weights) == 2
    measured = library.interface.structure("Line")(
        ends=line.ends, measure=lambda point, scale: scale * point[0].x + point[0].y
    )
    assert library.line_measured(measured) == 34


def test_objects_of_classes_are_addresses(library):
    assert library.is_hidden(library.hidden_of())
    assert not library.is_hidden(None)


def test_arrays_and_bytes_are_passed_as_they_are(library):
    words = np.arange(12, dtype=np.uint32).reshape(3, 4)
    assert library.sum_of(words, 12) == 66
    assert library.sum_of((ctypes.c_uint32 * 2)(5, 6), 2) == 11
    assert [library.name_of(text) for text in (b"a", b"b")] == [b"one", b"two"]
    with pytest.raises(ctypes.ArgumentError, match="must be contiguous"):
        library.sum_of(words[:, ::2], 6)
    with pytest.raises(ctypes.ArgumentError, match="an array of c_uint must not be of uint64"):
        library.sum_of(words.astype(np.uint64), 12)


def test_a_function_must_be_declared(library):
    with pytest.raises(AttributeError):
        library.line_missing()
    with pytest.raises(LookupError, match='no declaration of _Z6pluralv is extern "C"'):
        library._Z6pluralv()


@pytest.mark.parametrize("fields", ["uint8_t a; uint64_t b;", "uint64_t b; uint8_t a;"])
def test_the_header_decides_the_order_of_fields(tmp_path, fields):
    structure = read(tmp_path, f'extern "C" struct Pair {{\n{fields}\n}};\n').structure("Pair")
    names = [field[0] for field in structure._fields_]
    assert names == [part.split()[1] for part in fields.split(";")[:-1]]
    assert getattr(structure, names[0]).offset == 0
    assert getattr(structure, names[1]).offset == 8


def test_wrong_fields_are_refused(tmp_path):
    interface = read(tmp_path, 'extern "C" struct Pair {\nuint8_t a; std::string name;\n};\n')
    expected = "Pair::name must be a number, or a structure .*, not std::string"
    with pytest.raises(TypeError, match=expected):
        interface.structure("Pair")
    interface = read(tmp_path, 'extern "C" struct Pair {\nuint8_t a[kCount];\n};\n')
    with pytest.raises(LookupError, match="no declaration of kCount"):
        interface.structure("Pair")
    interface = read(tmp_path, 'extern "C" struct Pair {\nuint8_t a, b;\n};\n')
    with pytest.raises(TypeError, match="Pair has no field 'c'"):
        interface.structure("Pair")(a=1, c=2)
