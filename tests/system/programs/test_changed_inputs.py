"""Tests that a program follows every change of what its compilation reads."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import pytest

from spica.base.errors import UserError
from spica.base.zig import zig_environment
from spica.hw.presets import PRESETS
from spica.kernels import object_files
from spica.kernels.compile import compile_program
from spica.kernels.object_files import SourceFile
from spica.kernels.program import Program

CORE = PRESETS["core"]
MAIN = "extern volatile int value;\nint main(void) { return value; }\n"
VALUE = f"{MAIN}volatile int value = VALUE;\n"
#: A word from a file, in assembly.
IN_ASSEMBLY = '.data\n.globl value\nvalue: .incbin "{}/v.bin"\n'


def in_c(directive: str) -> str:
    """Return a definition of the value by an assembly directive in C."""
    return (
        f'__asm__(".pushsection .data\\n.globl value\\nvalue:\\n" {directive} "\\n.popsection");\n'
    )


def word(value: int) -> str:
    """Return a word as text, the contents of a file."""
    return value.to_bytes(4, "little").decode()


@dataclass(frozen=True, kw_only=True)
class Change:
    """Change of files or of the environment between two compilations.

    The value of a program is 1 before it and 2 after it.
    """

    files: dict[str, str]
    changed: dict[str, str | None]
    sources: tuple[str, ...] = ("a.c",)
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    links: dict[str, tuple[str, str]] = field(default_factory=dict)


ONE, TWO = "#define VALUE 1\n", "#define VALUE 2\n"


def of_header(
    text: str, others=MappingProxyType({}), *, first="v.h", second="", **options
) -> Change:
    """Return a change of the header that has the value; a second one may come before it."""
    files = {"a.c": f"{text}\n{VALUE}", first: ONE, **others}
    return Change(files=files, changed={second or first: TWO}, **options)


def of_binary(main: str, others=MappingProxyType({}), **options) -> Change:
    """Return a change of the file that has the value as a word."""
    sources = ("a.c", "b.S") if "b.S" in others else ("a.c",)
    files = {"a.c": main, "v.bin": word(1), **others}
    return Change(files=files, changed={"v.bin": word(2)}, sources=sources, **options)


CHANGES = {
    "header": of_header('#include "v.h"'),
    "header of a header": of_header('#include "o.h"', {"o.h": '#  include "v.h"\n'}),
    "header named by a macro": of_header('#define NAME "v.h"\n#include NAME'),
    "header named by a define": of_header("#include NAME", defines=('NAME="v.h"',)),
    "header composed of parts": of_header(
        "#define TEXT(x) #x\n#define NAME(x) TEXT(x.h)\n#include NAME(v)"
    ),
    "header in a comment's place": of_header('#/**/include/**/"v.h"'),
    "header over two lines": of_header('#inc\\\nlude "v.h"'),
    "header that appears": Change(
        files={"a.c": f'#if __has_include("v.h")\n{TWO}#else\n{ONE}#endif\n{VALUE}'},
        changed={"v.h": ""},
    ),
    "header that vanishes": Change(
        files={"a.c": f'#if __has_include("v.h")\n{ONE}#else\n{TWO}#endif\n{VALUE}', "v.h": ""},
        changed={"v.h": None},
    ),
    "header that shadows another": of_header(
        "#include <v.h>",
        {"one/o.h": ""},
        first="two/v.h",
        second="one/v.h",
        includes=("one", "two"),
    ),
    "header that shadows a folder's": of_header(
        '#include "v.h"', first="one/v.h", second="v.h", includes=("one",)
    ),
    "header that shadows the compiler's": Change(
        files={"a.c": f"#define VALUE (sizeof(int8_t))\n#include <stdint.h>\n{VALUE}", "one/o": ""},
        changed={"one/stdint.h": "typedef short int8_t;\n"},
        includes=("one",),
    ),
    "next header": of_header(
        *("#include <v.h>", {"one/v.h": "#include_next <v.h>\n"}),
        **{"first": "two/v.h", "includes": ("one", "two")},
    ),
    "embedded file": Change(
        files={
            "a.c": f'#define NAME "v.bin"\n{MAIN}volatile int value =\n#embed NAME\n;\n',
            "v.bin": "\1",
        },
        changed={"v.bin": "\2"},
    ),
    "file of .incbin": of_binary(MAIN, {"b.S": IN_ASSEMBLY}),
    "file of .include": Change(
        files={
            "a.c": MAIN,
            "b.S": '.data\n.globl value\n.include "{}/v.inc"\n',
            "v.inc": "value: .word 1\n",
        },
        changed={"v.inc": "value: .word 2\n"},
        sources=("a.c", "b.S"),
    ),
    "file of a directive in capitals": of_binary(
        MAIN, {"b.S": IN_ASSEMBLY.replace("incbin", "INCBIN")}
    ),
    "file of a macro of the assembler": of_binary(
        MAIN,
        {"b.S": '.macro m n\n.inc\\n "{}/v.bin"\n.endm\n.data\n.globl value\nvalue: m bin\n'},
    ),
    "file of .incbin in C": of_binary(MAIN + in_c(r'".incbin \"{}/v.bin\""')),
    "file of .incbin in parts in C": of_binary(MAIN + in_c(r'".inc" "\x62in \"{}/v.bin\""')),
    "file of .incbin in a header": of_binary(
        f'#include "a.h"\n{MAIN}', {"a.h": in_c(r'".incbin \"{}/v.bin\""')}
    ),
    "folder of the environment": of_header(
        "#include <v.h>", first="one/v.h", environment={"CPATH": "{}/one"}
    ),
    "folder of C in the environment": of_header(
        "#include <v.h>", first="one/v.h", environment={"C_INCLUDE_PATH": "{}/one"}
    ),
    "link to a header": Change(
        files={"a.c": f'#include "v.h"\n{VALUE}', "one.h": ONE, "two.h": TWO},
        changed={},
        links={"v.h": ("one.h", "two.h")},
    ),
    "link to a source": Change(
        files={"one.c": ONE + VALUE, "two.c": TWO + VALUE},
        changed={},
        links={"a.c": ("one.c", "two.c")},
    ),
    "source of the same name": Change(
        files={"one/v.c": MAIN, "two/v.c": "volatile int value = 1;\n"},
        changed={"two/v.c": "volatile int value = 2;\n"},
        sources=("one/v.c", "two/v.c"),
    ),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Return a cache without programs; the compiler's own libraries are there."""
    return tmp_path_factory.mktemp("cache"), zig_environment()["ZIG_GLOBAL_CACHE_DIR"]


@pytest.fixture
def separate_cache(cache, monkeypatch):
    monkeypatch.setenv("SPICA_CACHE", str(cache[0]))
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", cache[1])


def write(folder: Path, files: Mapping[str, str | None]) -> None:
    """Write files, with the folder in place of braces, or remove them."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text.replace("{}", str(folder)))


def link(folder: Path, links: dict[str, tuple[str, str]], state: int) -> None:
    """Set links to their first or second targets."""
    for name, targets in links.items():
        (folder / name).unlink(missing_ok=True)
        os.symlink(folder / targets[state], folder / name)


def value_of(path: Path) -> int:
    """Return the word at the symbol ``value`` of a program."""
    program = Program.load(path)
    place = program.symbols["value"]
    (data,) = [
        data[place - address : place - address + 4]
        for address, data in program.segments
        if address <= place < address + len(data)
    ]
    return int.from_bytes(data, "little")


def built(folder: Path) -> Path:
    """Return the program of ``a.c``."""
    return compile_program([folder / "a.c"], CORE)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.quick(8)
def test_a_changed_input_is_built_again(name, tmp_path, monkeypatch, separate_cache):
    change = CHANGES[name]
    for variable, value in change.environment.items():
        monkeypatch.setenv(variable, value.replace("{}", str(tmp_path)))

    def build() -> int:
        return value_of(
            compile_program(
                [tmp_path / source for source in change.sources],
                CORE,
                includes=[tmp_path / folder for folder in change.includes],
                defines=change.defines,
            )
        )

    write(tmp_path, change.files)
    link(tmp_path, change.links, 0)
    assert build() == 1
    write(tmp_path, change.changed)
    link(tmp_path, change.links, 1)
    assert build() == 2
    for path in {*change.changed} - {*change.files}:
        (tmp_path / path).unlink()
    write(tmp_path, change.files)
    link(tmp_path, change.links, 0)
    assert build() == 1


def test_a_removed_header_is_missed(tmp_path, separate_cache):
    write(tmp_path, {"a.c": f'#include "v.h"\n{VALUE}', "v.h": ONE})
    built(tmp_path)
    write(tmp_path, {"v.h": None})
    with pytest.raises(UserError, match=r"'v\.h' file not found"):
        built(tmp_path)


def test_the_working_folder_of_an_assembler_file(tmp_path, monkeypatch, separate_cache):
    write(tmp_path, {"a.c": MAIN, "b.S": IN_ASSEMBLY.replace("{}/", "")})
    for value in (1, 2):
        write(tmp_path, {f"{value}/v.bin": word(value)})
        monkeypatch.chdir(tmp_path / str(value))
        assert value_of(compile_program([tmp_path / "a.c", tmp_path / "b.S"], CORE)) == value


def test_variables_of_the_compiler_change_nothing(tmp_path, monkeypatch, separate_cache):
    write(tmp_path, {"a.c": f"#ifndef VALUE\n{ONE}#endif\n{VALUE}"})
    first = built(tmp_path)
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "+-DVALUE=2")
    assert built(tmp_path) == first
    write(tmp_path, {"a.c": f"#ifndef VALUE\n{ONE}#endif\n{VALUE}int more;\n"})
    assert value_of(built(tmp_path)) == 1


def test_the_runtime_searches_no_folder_of_the_environment(tmp_path, monkeypatch, separate_cache):
    write(tmp_path, {"a.c": ONE + VALUE, "one/stdint.h": "#error searched\n"})
    monkeypatch.setenv("CPATH", str(tmp_path / "one"))
    assert compile_program([tmp_path / "a.c"], PRESETS["tiny"])


def test_a_change_during_a_compilation_is_not_kept(tmp_path, monkeypatch, separate_cache):
    """The object has the changed header; its key is that of the text before."""
    write(tmp_path, {"a.c": f'#include "v.h"\n{VALUE}', "v.h": ONE})
    compiled = SourceFile.object

    def changed(self, text, folder):
        write(tmp_path, {"v.h": TWO})
        return compiled(self, text, folder)

    monkeypatch.setattr(object_files.SourceFile, "object", changed)
    assert value_of(built(tmp_path)) == 2
    monkeypatch.undo()
    write(tmp_path, {"v.h": ONE})
    assert value_of(built(tmp_path)) == 1


def test_a_source_that_only_differs_in_form_is_not_built_again(tmp_path, separate_cache):
    write(tmp_path, {"a.c": f'#include "v.h"\n{VALUE}', "v.h": ONE})
    first = built(tmp_path)
    write(tmp_path, {"v.h": f"/* one */ {ONE}"})
    assert built(tmp_path) == first


def test_libraries_of_a_pragma_are_refused(tmp_path, separate_cache):
    write(tmp_path, {"a.c": f'#pragma comment(lib, "{{}}/b.o")\n{ONE}{VALUE}', "b.o": ""})
    with pytest.raises(UserError, match=r"leave out #pragma comment\(lib\)"):
        built(tmp_path)


@pytest.mark.parametrize("macro", ["__DATE__", "__TIME__", "__TIMESTAMP__"])
def test_macros_of_the_time_are_refused(macro, tmp_path, separate_cache):
    write(tmp_path, {"a.c": f"const char *text = {macro};\n{ONE}{VALUE}"})
    with pytest.raises(UserError, match="date or time macro is not reproducible"):
        built(tmp_path)
