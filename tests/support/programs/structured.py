"""Random structured programs: SPICA_IF, SPICA_WHILE and uniform statements, in C and in Python.

Each program is a function of a thread's number and words of memory. The generator writes it in two
languages at once. The C function runs in all threads of a warp, which take different ways. The
Python function computes the value of one thread alone.

Conditions that differ between threads are in SPICA_IF and SPICA_WHILE only. The compiler makes
selections of some arithmetic too, and RV32IMF has only branches for them: of a product of a
constant and a bit, and of two comparisons with a common operand. Programs have neither.
"""

from dataclasses import dataclass, field
from random import Random

__all__ = ["CELLS", "UNIFORMS", "Structured", "structured"]

#: Words of memory of each thread, and uniform words that all threads read.
CELLS, UNIFORMS = 4, 4
MASK = 0xFFFF_FFFF
VARIABLES = ("v0", "v1", "v2", "v3")
#: Ways of a function to be in another one: inlined always, as the compiler likes, never.
LINKAGES = ("SPICA_INLINE", "static", "static __attribute__((noinline))")
DEEPEST = 3


@dataclass
class Structured:
    """A program: its name, its definitions in C, and in Python."""

    name: str
    c: str
    python: str


@dataclass
class Text:
    """Lines of a function in C and in Python."""

    c: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    depth: int = 1

    def both(self, c: str, python: str) -> None:
        """Append a line in each language; "" appends none."""
        if c:
            self.c.append("    " * self.depth + c)
        if python:
            self.python.append("    " * self.depth + python)


class Generator:
    """Generator of a program's functions.

    Parameters
    ----------
    random : Random
        Source of all choices.
    name : str
        Name of the program's function.

    """

    def __init__(self, random: Random, name: str):
        self.random = random
        self.name = name
        self.text = Text()
        self.locals = 0
        self.budget = 0
        self.helpers: list[str] = []
        self.done: list[Text] = []

    def choose(self, *choices):
        """Return one of the choices."""
        return self.random.choice(choices)

    def variable(self) -> str:
        """Return a variable."""
        return self.random.choice(VARIABLES)

    def local(self, letter: str) -> str:
        """Return a new name."""
        self.locals += 1
        return f"{letter}{self.locals}"

    def operand(self) -> str:
        """Return an operand, equal in both languages."""
        if self.random.random() < 0.7:
            return self.variable()
        return self.choose(
            "i", "u0", str(self.random.randrange(8)), hex(self.random.getrandbits(16))
        )

    def value(self) -> tuple[str, str]:
        """Return an expression in both languages."""
        left, right = self.operand(), self.operand()
        kind = self.random.randrange(8)
        if kind == 0:
            cell = f"m[{left} & {CELLS - 1}]"
            return cell, cell
        if kind == 1:
            amount = self.random.randrange(1, 9)
            shift = self.choose("<<", ">>")
            return f"((uint32_t){left} {shift} {amount})", f"({left} {shift} {amount} & {MASK})"
        if kind == 2:
            return left, left
        sign = self.choose("+", "-", "^", "&", "|")
        return f"({left} {sign} {right})", f"({left} {sign} {right} & {MASK})"

    def test(self) -> str:
        """Return a condition that differs between threads, equal in both languages."""
        one = self.choose(
            f"({self.variable()} & {1 << self.random.randrange(4)}) != 0",
            f"{self.variable()} {self.choose('<', '>=', '==', '!=')} {self.operand()}",
            f"(i & {self.random.randrange(1, 8)}) {self.choose('==', '!=')} "
            f"{self.random.randrange(4)}",
        )
        if self.random.random() < 0.2:
            return f"({one}) {self.choose('&', '|')} ((({self.variable()} ^ i) & 2) != 0)"
        return one

    def uniform_test(self) -> tuple[str, str]:
        """Return a condition that is equal in all threads, in both languages."""
        one = f"u{self.random.randrange(1, UNIFORMS)} {self.choose('<', '>', '!=')} "
        one += str(self.random.randrange(4))
        if self.random.random() < 0.3:
            return f"u0 > 1 {self.choose('&&', '||')} {one}", ""
        return one, one

    def assign(self) -> None:
        """Write an assignment of a variable or of a word of memory."""
        c, python = self.value()
        target = self.variable()
        if self.random.random() < 0.15:
            target = f"m[{self.operand()} & {CELLS - 1}]"
        if self.random.random() < 0.25:
            c = python = str(self.random.randrange(9))
        self.text.both(f"{target} = {c};", f"{target} = {python}")

    def block(self, depth: int, *last: tuple[str, str]) -> None:
        """Write statements one level deeper, then the given ones."""
        self.text.depth += 1
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth)
        for c, python in last:
            self.text.both(c, python)
        self.text.depth -= 1

    def branch(self, depth: int) -> None:
        """Write a SPICA_IF."""
        test = self.test()
        self.text.both(f"SPICA_IF ({test}) {{", f"if {test}:")
        self.block(depth)
        if self.random.random() < 0.5:
            self.text.both("} SPICA_ELSE {", "else:")
            self.block(depth)
        self.text.both("} SPICA_END_IF", "")

    def loop(self, depth: int) -> None:
        """Write a SPICA_WHILE of at most 7 iterations; the compiler may know that it is one."""
        k = self.local("k")
        most = self.choose(1, 1, 3, 7) if depth < 2 else self.choose(1, 3)
        start = self.choose(f"({self.variable()} & {most})", f"(i & {most})", str(most))
        self.text.both(f"uint32_t {k} = {start};", f"{k} = {start}")
        test = f"{k} != 0"
        if self.random.random() < 0.4:
            test = f"({test}) & ({self.test()})"
        c = python = test
        if self.random.random() < 0.1:
            c, python = f"u0 != 0 && ({test})", f"u0 != 0 and ({test})"
        step = self.choose(f"{k} = {k} - 1", f"{k} = {k} >> 1", f"{k} = 0")
        self.text.both(f"SPICA_WHILE ({c}) {{", f"while {python}:")
        before = self.random.random() < 0.5
        if before:
            self.text.depth += 1
            self.text.both(f"{step};", step)
            self.text.depth -= 1
        flag = f"{self.variable()} = 1"
        flags = [flag] if self.random.random() < 0.4 else []
        last = flags if before else [*flags, step]
        self.block(depth, *((f"{line};", line) for line in last))
        self.text.both("} SPICA_END_WHILE", "")

    def uniform_loop(self, depth: int) -> None:
        """Write a plain loop whose count is equal in all threads."""
        q = self.local("q")
        end = self.choose("2", "3", f"u{self.random.randrange(UNIFORMS)}")
        self.text.both(
            f"for (uint32_t {q} = 0; {q} < {end}; {q}++) {{", f"for {q} in range({end}):"
        )
        self.block(depth, (f"v1 = v1 + {q};", f"v1 = v1 + {q} & {MASK}"))
        if self.random.random() < 0.3:
            self.text.depth += 1
            self.text.both("if (u1 > 2) break;", "if u1 > 2: break")
            self.text.depth -= 1
        self.text.both("}", "")

    def uniform_branch(self, depth: int) -> None:
        """Write a plain if with a condition that is equal in all threads."""
        c, python = self.uniform_test()
        python = python or c.replace("&&", "and").replace("||", "or")
        self.text.both(f"if ({c}) {{", f"if {python}:")
        self.block(depth)
        self.text.both("} else {", "else:")
        self.block(depth)
        self.text.both("}", "")

    def switch(self, depth: int) -> None:
        """Write a switch on a value that is equal in all threads."""
        uniform = f"u{self.random.randrange(UNIFORMS)}"
        self.text.both(f"switch ({uniform}) {{", "")
        for case in range(3):
            label = f"case {case}:" if case < 2 else "default:"
            test = ("if", "elif")[case > 0] + f" {uniform} == {case}:" if case < 2 else "else:"
            self.text.both(f"{label} {{", test)
            self.block(depth)
            self.text.both("} break;", "")
        self.text.both("}", "")

    def call(self, _: int) -> None:
        """Write two calls of a helper."""
        if not self.helpers:
            return self.assign()
        helper = self.random.choice(self.helpers)
        for _ in range(2):
            target, arguments = self.variable(), f"i, {self.operand()}, {self.operand()}, u, m"
            self.text.both(
                f"{target} = {helper}({arguments});", f"{target} = {helper}({arguments})"
            )
        return None

    def statement(self, depth: int) -> None:
        """Write a statement; `depth` constructs are around it."""
        self.budget -= 1
        if depth >= DEEPEST or self.budget < 0:
            return self.assign()
        kinds = (self.branch, self.loop, self.uniform_loop, self.uniform_branch, self.switch)
        weights = (6, 6, 2, 1, 1)
        chance = self.random.random()
        if chance < 0.35:
            return self.assign()
        if chance < 0.45:
            return self.call(depth)
        (kind,) = self.random.choices(kinds, weights)
        return kind(depth + 1)

    def function(self, name: str, budget: int, linkage: str) -> None:
        """Write a function of a thread's number, two operands, uniform words and memory."""
        self.text = Text()
        self.budget = budget
        words = "const uint32_t *u, uint32_t *m"
        self.text.c.append(
            f"{linkage} uint32_t {name}(uint32_t i, uint32_t v0, uint32_t v1, {words})"
        )
        self.text.c.append("{")
        self.text.python.append(f"def {name}(i, v0, v1, u, m):")
        self.text.both("uint32_t v2 = 0, v3 = v0 ^ i;", "v2, v3 = 0, v0 ^ i")
        for number in range(UNIFORMS):
            self.text.both(f"uint32_t u{number} = u[{number}];", f"u{number} = u[{number}]")
        for _ in range(self.random.randrange(2, 6)):
            self.statement(0)
        result = "v0 + (v1 << 5) + (v2 << 9) + (v3 << 14)"
        self.text.both(f"return {result};", f"return {result} & {MASK}")
        self.text.c.append("}")
        self.done.append(self.text)

    def program(self) -> Structured:
        """Return a program with up to two helpers."""
        for number in range(self.random.randrange(3)):
            name = f"{self.name}_helper{number}"
            self.function(name, 4, self.random.choice(LINKAGES))
            self.helpers.append(name)
        self.function(self.name, 14, LINKAGES[1])
        c = "\n".join("\n".join(text.c) for text in self.done)
        python = "\n".join("\n".join(text.python) for text in self.done)
        return Structured(self.name, c, python)


def structured(seed: int) -> Structured:
    """Return the program of a seed."""
    return Generator(Random(seed), f"program_{seed}").program()
