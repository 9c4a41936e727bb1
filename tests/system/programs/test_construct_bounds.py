"""Tests of the bounds of SPICA_IF and SPICA_WHILE: ways out of them, copies, accepted programs."""

import re
from pathlib import Path

import pytest

from spica.base.errors import UserError
from spica.hw.presets import PRESETS
from spica.kernels import toolchain
from spica.kernels.compile import compile_program
from spica.kernels.divergence.check import first_crossing
from spica.kernels.divergence.records import Kind, records_of
from spica.kernels.program import Program
from support.programs.source_run import read_words, run_source

CORE = PRESETS["core"]
DATA, COUNT = 0x9000_0000, 16
UNIFORM = 5
#: Each thread has x, a number n of 0 to 3, and u, equal in all threads.
BEGIN = (
    "#include <spica.h>\n"
    "static void task(uint32_t i, void *argument) {\n"
    f"uint32_t *a = argument, x = i * 3, n = i & 3, u = a[{COUNT}];\n"
)
END = "a[i] = x;\n}\nint main(void) { vx_spawn_tasks(16, task, (void *)0x90000000u); return 0; }\n"


def source(tmp_path: Path, body: str, before: str = "", suffix: str = ".c") -> Path:
    path = tmp_path / f"program{suffix}"
    path.write_text(BEGIN.replace("static void task", before + "static void task", 1) + body + END)
    return path


#: Statements, the line of the construct, and the line that leaves or enters it; the body's first
#: line is 4.
CROSSINGS = {
    "break": ("SPICA_WHILE (n) {\nn--;\nif (u)\nbreak;\nx++;\n} SPICA_END_WHILE\n", 4, 7),
    "break at the end": ("SPICA_WHILE (n) {\nn--;\nx++;\nbreak;\n} SPICA_END_WHILE\n", 4, 7),
    "break in a branch": (
        "SPICA_WHILE (n) {\nSPICA_IF (x & 1) {\nbreak;\n} SPICA_END_IF\nn--;\n} SPICA_END_WHILE\n",
        *(4, 6),
    ),
    "continue in a branch": (
        "SPICA_WHILE (n) {\nn--;\nSPICA_IF (x & 1) {\ncontinue;\n} SPICA_END_IF\nx++;\n"
        "} SPICA_END_WHILE\n",
        *(6, 7),
    ),
    "break of a plain loop": (
        "for (int k = 0; k < 4; k++) {\nSPICA_IF (x & 1) {\nx++;\nbreak;\n} SPICA_END_IF\nx += k;\n"
        "}\n",
        *(5, 7),
    ),
    "continue of a plain loop": (
        "for (int k = 0; k < u; k++) {\nSPICA_IF (x & 1) {\nx++;\ncontinue;\n} SPICA_END_IF\n"
        "x += k;\n}\n",
        *(5, 7),
    ),
    "break of a switch": (
        "switch (u) {\ncase 5:\nSPICA_IF (n) {\nbreak;\n} SPICA_END_IF\nx++;\n}\n",
        *(6, 7),
    ),
    "return": ("SPICA_IF (n) {\na[i] = 1;\nreturn;\n} SPICA_END_IF\n", 4, 6),
    "return in the other side": (
        "SPICA_IF (n) {\nx++;\n} SPICA_ELSE {\na[i] = 1;\nreturn;\n} SPICA_END_IF\n",
        *(4, 8),
    ),
    "return in a loop": ("SPICA_WHILE (n) {\nn--;\nif (u)\nreturn;\n} SPICA_END_WHILE\n", 4, 7),
    "goto out": ("SPICA_IF (n) {\nx = 1;\ngoto out;\n} SPICA_END_IF\nx += 2;\nout:;\n", 4, 6),
    "goto back": ("back:;\nSPICA_IF (n) {\nn--;\ngoto back;\n} SPICA_END_IF\n", 5, 7),
    "goto into": (
        "if (u)\ngoto in;\nSPICA_IF (n) {\nx = 1;\nin:\nx++;\n} SPICA_END_IF\n",
        *(6, 7),
    ),
    "case in a branch": (
        "switch (u) {\ncase 5:\nSPICA_IF (n) {\nx = 1;\ncase 6:\nx++;\n} SPICA_END_IF\n}\n",
        *(6, 7),
    ),
}


@pytest.mark.parametrize("optimize", [0, 3])
@pytest.mark.parametrize("name", CROSSINGS)
@pytest.mark.quick(3)
def test_way_out_of_a_construct(tmp_path, name, optimize):
    body, construct, path = CROSSINGS[name]
    kind = "SPICA_WHILE" if body.splitlines()[construct - 4].startswith("SPICA_W") else "SPICA_IF"
    with pytest.raises(UserError) as error:
        compile_program([source(tmp_path, body)], CORE, optimize=optimize)
    assert str(error.value) == (
        f"{kind} must be left through {kind.replace('SPICA_', 'SPICA_END_')} alone; the one of "
        f"program.c:{construct} in task is left or entered otherwise at program.c:{path} in task: "
        "replace break, continue, goto, return or case there by a flag in conditions"
    )


def test_computed_goto_in_a_function_with_a_construct(tmp_path):
    body = (
        "static void *const labels[] = {&&one, &&two};\ngoto *labels[u & 1];\n"
        "one:\nSPICA_IF (n) {\nx = 1;\ntwo:\nx++;\n} SPICA_END_IF\n"
    )
    with pytest.raises(UserError, match=r"SPICA_IF must be left .* program\.c:7 in task"):
        compile_program([source(tmp_path, body)], CORE)


def test_return_of_an_inlined_function(tmp_path):
    helper = "SPICA_INLINE uint32_t help(uint32_t y) { SPICA_IF (y & 1) { return 3; } SPICA_END_IF "
    helper += "return y; }\n"
    with pytest.raises(UserError, match=r"the one of program\.c:2 in "):
        compile_program([source(tmp_path, "x += help(x) + help(n);\n", helper)], CORE)


#: Statements, a function before the task, and the value of a thread.
SOUND = {
    "first iteration sets a flag": (
        "uint32_t any = 0;\nSPICA_WHILE (n > 0) { n--; any = 1; } SPICA_END_WHILE\nx = any;\n",
        "",
        lambda i, n: int(n > 0),
    ),
    "one iteration": (
        "SPICA_WHILE (n != 0) { x += n; n = 0; } SPICA_END_WHILE\nx += n;\n",
        "",
        lambda i, n: 3 * i + n,
    ),
    "last iteration differs": (
        "uint32_t last = 7;\nSPICA_WHILE (n > 0) { n--; last = n == 0; x += last; }"
        " SPICA_END_WHILE\nx += last;\n",
        "",
        lambda i, n: 3 * i + (2 if n else 7),
    ),
    "exit": ("SPICA_IF (n) { if (u == 9) exit(3); x++; } SPICA_END_IF\n", "", None),
    "abort": ("SPICA_IF (n) { n = 0; if (u == 9) abort(); x++; } SPICA_END_IF\n", "", None),
    "continue of the loop itself": (
        "SPICA_WHILE (n) { n--; x += 2; if (u == 5) continue; x++; } SPICA_END_WHILE\n",
        "",
        lambda i, n: 3 * i + 2 * n,
    ),
    "ways out of a loop inside": (
        "SPICA_WHILE (n) { n--; for (uint32_t k = 0; k < 9; k++) { if (k == u) break;\n"
        "if (u == 4) continue; x++; } } SPICA_END_WHILE\n",
        "",
        lambda i, n: 3 * i + 5 * n,
    ),
    "switch": (
        "SPICA_IF (n) { switch (u) { case 0: x++; break; case 1: x = 5; break; case 2: x = n;\n"
        "break; case 3: x ^= 3; break; case 5: x += 9; break; case 6: x *= 7; break; default:\n"
        "x = 0; } } SPICA_END_IF\n",
        "",
        lambda i, n: 3 * i + (9 if n else 0),
    ),
    "recursion": (
        "x = depth(n);\n",
        "static uint32_t depth(uint32_t n) { uint32_t d = 0; SPICA_IF (n) { d = 1 + depth(n - 1);"
        " } SPICA_END_IF return d; }\n",
        lambda i, n: n,
    ),
    "equal copies in two uniform branches": (
        "if (u == 5) x = help(x, n); else x = help(x, n);\nif (u == 4) x = help(n, x);\n"
        "else { x++; x = help(x, n); }\n",
        "SPICA_INLINE uint32_t help(uint32_t y, uint32_t n) { SPICA_IF (n & 1) { y += 4; }\n"
        "SPICA_ELSE { y += 2; } SPICA_END_IF SPICA_WHILE (n) { n--; y++; } SPICA_END_WHILE\n"
        "return y; }\n",
        lambda i, n: 3 * i + 1 + 2 * (n + (4 if n & 1 else 2)),
    ),
    "unrolled": (
        "for (uint32_t k = 0; k < 4; k++) { SPICA_IF (n > k) { x += k + 1; } SPICA_END_IF }\n",
        "",
        lambda i, n: 3 * i + n * (n + 1) // 2,
    ),
    "call through a pointer": (
        "SPICA_IF (n & 1) { x = function(x); } SPICA_END_IF\n",
        "static uint32_t one(uint32_t y) { return y + 1; }\n"
        "static uint32_t (*volatile function)(uint32_t) = one;\n",
        lambda i, n: 3 * i + (n & 1),
    ),
    "volatile": (
        "volatile uint32_t v = 0;\nSPICA_WHILE (v < n) { v = v + 1; x += v; } SPICA_END_WHILE\n",
        "",
        lambda i, n: 3 * i + n * (n + 1) // 2,
    ),
    "condition of several parts": (
        "uint32_t k = 0;\nSPICA_WHILE ((k < n) & ((x & 1) == 0) | (k < 1)) { k++; x += k & 2; }"
        " SPICA_END_WHILE\nx += k;\n",
        "",
        lambda i, n: several_parts(3 * i, n),
    ),
}


def several_parts(x: int, n: int) -> int:
    k = 0
    while (k < n and not x & 1) or k < 1:
        k += 1
        x += k & 2
    return x + k


def values(path: Path, optimize: int, count: int = COUNT) -> list[int]:
    data = {DATA + 4 * count: UNIFORM.to_bytes(4, "little")}
    iss, _ = run_source(path, CORE, data=data, optimize=optimize)
    return read_words(iss, DATA, count).tolist()


@pytest.mark.parametrize("optimize", range(4))
def test_value_of_each_thread(tmp_path, optimize):
    """All tasks in one program, each with its own words of the result."""
    count = COUNT * len(SOUND)
    text, expected = "#include <spica.h>\n", {}
    for index, (name, (body, before, value)) in enumerate(SOUND.items()):
        begin = BEGIN.replace("#include <spica.h>\n", "").replace(f"a[{COUNT}]", f"a[{count}]")
        begin += f"a += {COUNT * index};\n"
        task = before + begin + body + END[: END.index("int main")]
        text += re.sub(r"\b(task|help)\b", rf"\g<1>{index}", task)
        value = value or (lambda i, n: 3 * i + (n > 0))
        expected[name] = [value(i, i & 3) for i in range(COUNT)]
    launches = [f"vx_spawn_tasks({COUNT}, task{k}, (void *){DATA:#x}u);" for k in range(len(SOUND))]
    path = tmp_path / "program.c"
    path.write_text(text + "int main(void) { " + " ".join(launches) + " return 0; }\n")
    words = values(path, optimize, count)
    for index, name in enumerate(SOUND):
        assert words[COUNT * index :][:COUNT] == expected[name], name


def test_constructs_in_cpp(tmp_path):
    body, _, value = SOUND["first iteration sets a flag"]
    before = "template <typename T> SPICA_INLINE T help(T y) { SPICA_IF (y > 3) { y = 3; } "
    before += "SPICA_END_IF return y; }\n"
    path = source(tmp_path, body + "x += help(i) + help(x);\n", before, ".cpp")
    path.write_text(path.read_text().replace("*a = argument", "*a = (uint32_t *)argument"))
    expected = [value(i, i & 3) + min(i, 3) + min(value(i, i & 3), 3) for i in range(COUNT)]
    assert values(path, 3) == expected


def test_one_record_for_each_instruction_and_inlined_copy(tmp_path):
    body, before, _ = SOUND["equal copies in two uniform branches"]
    program = Program.load(compile_program([source(tmp_path, body, before)], CORE))
    records = records_of(program)
    own = [record for pc, record in records.items() if pc not in program.runtime]
    kinds = [record.kind for record in own]
    assert {kinds.count(kind) for kind in Kind} == {4}
    assert len(set(own)) == 4
    assert first_crossing(program) is None


@pytest.mark.parametrize("optimize", [1, 3])
@pytest.mark.quick(1)
def test_compiler_that_copies_a_first_iteration_is_an_error(tmp_path, monkeypatch, optimize):
    """Without its flag the compiler peels loops; the proof must find the second pred."""
    left_out = ("-mllvm", "-unroll-peel-max-count=0")
    flags = tuple(flag for flag in toolchain.FLAGS if flag not in left_out)
    monkeypatch.setattr(toolchain, "FLAGS", flags)
    path = source(tmp_path, SOUND["first iteration sets a flag"][0])
    with pytest.raises(UserError) as error:
        compile_program([path], CORE, optimize=optimize)
    assert str(error.value).startswith(
        f"the compiler must keep SPICA_WHILE in one piece; at -O{optimize} it does not in "
        "program.c:5 in task: compile with --optimize 0"
    )


#: A second join, a second pred, a join of another construct, a pred whose branch is elsewhere.
BROKEN = {
    "two joins": "{split0} if (u) {{ {join0} }} else {{ x++; {join0} }}",
    "two splits": "if (u) {{ {split0} }} else {{ x++; {split0} }} {join0}",
    "another join": "{split0} {join1}",
    "no join": "{split0} x++;",
    "no split": "x++; {join0}",
    "crossed": "{split0} {split1} {join0} {join1}",
    "pred without a branch": "{mask0} {pred0}",
    "pred without a mask": "x++; {pred0}",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.quick(2)
def test_broken_pairs(tmp_path, name):
    kinds = ("split", "join", "mask", "pred")
    instructions = {
        f"{kind}{identity}": (
            f'__asm__ volatile(SPICA_RECORDED_({number}, "nop") : : [construct] "i"({identity}));'
        )
        for number, kind in enumerate(kinds)
        for identity in range(2)
    }
    with pytest.raises(UserError, match=r"^SPICA_\w+ must be left .* program\.c:\d+ in task"):
        compile_program([source(tmp_path, BROKEN[name].format(**instructions) + "\n")], CORE)
