"""Tests of programs from elsewhere: ELF files that are cut, damaged, or not for the cores."""

import random
import struct
import subprocess
import sys

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels.compile import compile_program
from spica.kernels.inlining import CallChains
from spica.kernels.inspection import inspect_program
from spica.kernels.program import Program
from spica.sim.run.loading import is_file_name
from support.command_line import message_of, run_spica

SOURCE = "#include <spica.h>\nint main(void) { return (int)vx_thread_id(); }\n"
#: Offsets of fields in the header of the file, and in a segment's.
TYPE, MACHINE, ENTRY, SEGMENTS, SECTIONS, FLAGS, SECTION_COUNT = 16, 18, 24, 28, 32, 36, 48
SECTION_NAMES = 50
OFFSET, ADDRESS, IN_FILE, IN_MEMORY = 4, 12, 16, 20
RUN = "--preset tiny --engine iss"


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    source = tmp_path_factory.mktemp("source") / "program.c"
    source.write_text(SOURCE)
    return compile_program([source], PRESETS["tiny"]).read_bytes()


def changed(image, offset, value, size=4):
    """Return a file with an integer replaced."""
    return image[:offset] + value.to_bytes(size, "little") + image[offset + size :]


def segment_of(image):
    """Return the offset of the header of the first segment that is loaded."""
    first, size, count = (
        struct.unpack_from(form, image, at)[0] for form, at in (("<I", 28), ("<H", 42), ("<H", 44))
    )
    places = [first + number * size for number in range(count)]
    return next(at for at in places if struct.unpack_from("<I", image, at)[0] == 1)


def loaded(image, tmp_path):
    path = tmp_path / "program.elf"
    path.write_bytes(image)
    return Program.load(path)


HEADERS = {
    "no ELF": (0, 0, "a program must be an ELF file; program.elf is not"),
    "a relocatable object": (TYPE, 1, "must be an executable; program.elf is a relocatable"),
    "a shared object": (TYPE, 3, "must be an executable; program.elf is a shared object: link it"),
    "another machine": (
        MACHINE,
        62,
        "be for 32-bit RISC-V; program.elf is for 32-bit machine 62",
    ),
    "another entry": (
        ENTRY,
        0x8000_0100,
        "must begin at 0x80000000, where cores start; program",
    ),
    "segments beyond the file": (SEGMENTS, 1 << 20, "program.elf is cut: its segments are descr"),
}


#: Of a segment.
PARTS = {
    "offset": (
        OFFSET,
        1 << 24,
        r"is cut: its segment at 0x80000000 ends at byte 16,[\d,]+, and",
    ),
    "size": (IN_FILE, 1 << 20, "is damaged: its segment at 0x80000000 has 1,048,576 bytes in the"),
    "address": (ADDRESS, 0x1000, "segments must lie within 0x80000000 to 0xff000000; program.elf"),
    "no instructions": (ADDRESS, 0x8010_0000, "has no instructions at 0x80000000, where it begins"),
    "memory": (IN_MEMORY, 0x9000_0000, "has one from 0x80000000 to 0x110000000: link it to other"),
}


@pytest.mark.parametrize("name", [*HEADERS, *PARTS])
def test_headers_that_are_refused(image, tmp_path, name):
    offset, value, message = (HEADERS | PARTS)[name]
    size = 2 if name in HEADERS and offset in (TYPE, MACHINE) else 4
    first = segment_of(image) if name in PARTS else 0
    with pytest.raises(UserError, match=message):
        loaded(changed(image, first + offset, value, size), tmp_path)


@pytest.mark.parametrize(
    ("offset", "value", "remark"),
    [
        (
            *(24, 4),
            "Warning: the segment at 0x80000000, which runs first, is not marked executable",
        ),
        # Linkers place initial values in ROM, and start-up code copies them.
        (
            *(8, 0x8020_0000),
            "is linked for 0x80200000: a program that copies it there needs --allow-region",
        ),
    ],
)
def test_segments_that_run_with_a_remark(image, tmp_path, capsys, offset, value, remark):
    path = tmp_path / "program.elf"
    path.write_bytes(changed(image, segment_of(image) + offset, value))
    assert run_spica(f"run {path} {RUN}") == 0
    assert remark in " ".join(capsys.readouterr().out.split())


def test_the_flag_of_compressed_instructions_alone_is_no_reason(image, tmp_path):
    """A file has it if any of its parts allowed them."""
    program = loaded(changed(image, FLAGS, 3), tmp_path)
    assert inspect_program(program) == []


@pytest.mark.parametrize(
    ("name", "offset", "is_reached"), [("_start", 8, True), ("main", 0, True), ("abort", 8, False)]
)
def test_compressed_instructions_count_where_the_program_goes(
    image, tmp_path, name, offset, is_reached
):
    """The function `abort` has an `ebreak` before its third instruction."""
    address = loaded(image, tmp_path).symbols[name] + offset
    first = int.from_bytes(image[segment_of(image) + OFFSET :][:4], "little")
    broken = changed(changed(image, FLAGS, 3), first + address - 0x8000_0000, 0x4501_4501)
    if not is_reached:
        loaded(broken, tmp_path)
        return
    with pytest.raises(UserError, match=f"has compressed instructions, .*, at {address:#x}: comp"):
        loaded(broken, tmp_path)


@pytest.mark.parametrize("name", ["rv32ui-p-add", "program.out"])
def test_a_file_of_any_name_is_tried_as_elf(image, tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(image)
    assert run_spica(f"run {name} {RUN}") == 0
    assert f"PASS: {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("notes", "a program must be an ELF file; notes is not"),
        (
            "notes.txt",
            "a program file must end in .c, .cpp, .cc, .cxx, .S, .elf, not notes.txt, unless",
        ),
    ],
)
def test_a_file_that_is_no_program_is_refused(tmp_path, monkeypatch, capsys, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("words\n")
    assert message in message_of(capsys, f"run {name} {RUN}")


def test_a_kernel_is_not_a_file_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gemm").write_text("words\n")
    assert not is_file_name("gemm") and not is_file_name("n" * 5000)


def test_no_section_headers_at_all(image, tmp_path, capsys):
    bare = changed(changed(image, SECTIONS, 0), SECTION_COUNT, 0, 2)
    program = loaded(bare, tmp_path)
    assert program.text and not program.functions
    assert inspect_program(program) == []
    assert CallChains(program).at(program.entry) == []
    assert run_spica(f"run {tmp_path / 'program.elf'} {RUN}") == 0
    assert "PASS" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["iss", "verilator"])
@pytest.mark.quick("iss")
def test_no_section_headers_on_a_cluster(image, tmp_path, capsys, engine):
    """Profile and reports do without names."""
    bare = changed(changed(image, SECTIONS, 0), SECTION_COUNT, 0, 2)
    path = tmp_path / "program.elf"
    path.write_bytes(changed(bare, SECTION_NAMES, 0, 2))
    command = f"run {path} --preset tiny --engine {engine}"
    assert run_spica(f"{command} {'--profile' if engine == 'verilator' else ''}") == 0
    printed = capsys.readouterr().out
    assert "PASS" in printed and "None" not in printed


def test_damaged_sections_are_one_remark(image, tmp_path, capsys):
    program = loaded(changed(image, SECTIONS, len(image) - 8), tmp_path)
    assert CallChains(program).at(program.entry) == []
    notes = [line for line in inspect_program(program) if "cannot be read" in line]
    assert 1 <= len(notes) <= 2
    assert run_spica(f"run {tmp_path / 'program.elf'} {RUN}") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "cannot be read, so reports lack names or source lines" in printed


@pytest.mark.full
def test_no_damage_ends_in_another_error(image, tmp_path):
    rng, refused = random.Random(1), 0
    for number in range(90):
        if number % 3 == 0:
            broken = image[: rng.randrange(len(image))]
        else:
            broken = bytearray(image)
            near = 52 + 32 * 6 if number % 3 == 1 else len(image)
            for _ in range(rng.randint(1, 4)):
                broken[rng.randrange(near)] = rng.randrange(256)
        try:
            program = loaded(bytes(broken), tmp_path)
        except UserError as error:
            refused += 1
            assert "\n" not in str(error) and "program.elf" in str(error)
            continue
        inspect_program(program)
        CallChains(program).at(program.entry)
    assert 5 < refused < 85


def test_a_damaged_file_is_one_sentence_on_the_command_line(image, tmp_path):
    path = tmp_path / "program.elf"
    path.write_bytes(image[:40])
    command = f"{sys.executable} -m spica.cli run {path} {RUN}"
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "spica: program.elf is cut: an ELF header has 52 bytes, not 40\n"
