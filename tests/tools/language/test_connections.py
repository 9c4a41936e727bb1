"""Blocks of the hardware connect interfaces; attributes of a class are set in `__init__`."""

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
ROOMS = ("core", "memory", "matrix", "styles", "cluster", "machine")
#: Assignments to or from ports of submodules for each `connect`, in each file of these rooms.
ASSIGNMENTS_PER_CONNECT = 3
#: Functions that connect interfaces: Amaranth's, and the one for ports that only leave a block.
CONNECTS = ("connect", "relay")


def root_of(node):
    """Return the variable, or the attribute of `self`, that an expression is a member of."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
            return f"self.{node.attr}"
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def variables_of(target):
    """Return the variables and attributes of `self` that a target binds, also one in a tuple."""
    if isinstance(target, ast.Tuple | ast.List):
        return {name for element in target.elts for name in variables_of(element)}
    return {name for name in [root_of(target)] if name == ast.unparse(target)}


def is_submodule(target):
    """Return whether a target is a member of `m.submodules`."""
    return ast.unparse(target).startswith("m.submodules")


def elements_of(node):
    """Return the expressions that the values of an iteration come from."""
    if isinstance(node, ast.Call):
        parts = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
    elif isinstance(node, ast.Tuple | ast.List):
        parts = node.elts
    else:
        return {ast.unparse(node)}
    return {element for part in parts for element in elements_of(part)}


def pairs_of(node, functions):
    """Yield each pair of names that a statement binds, and expressions that they come from."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=False):
                yield variables_of(target), {ast.unparse(value)}
        case ast.Assign(targets=targets, value=value):
            names = {name for target in targets for name in variables_of(target)}
            if any(map(is_submodule, targets)):
                names |= {root_of(value)} - {None}
                yield names, {"m.submodules"}
            yield names, {ast.unparse(value)}
        case ast.For() | ast.comprehension():
            yield variables_of(node.target), elements_of(node.iter)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
            parameters = [name for name in functions.get(name, ()) if name != "self"]
            for parameter, argument in zip(parameters, arguments, strict=False):
                yield {parameter}, {ast.unparse(argument)}


def submodules_of(tree):
    """Return the variables and attributes of a file that are submodules, or collections of them.

    They are bound together with a member of `m.submodules`, are iterated over, or are arguments of
    a function of the same file.
    """
    functions = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }
    pairs = [pair for node in ast.walk(tree) for pair in pairs_of(node, functions)]
    submodules, known = set(), None
    while submodules != known:
        known = set(submodules)
        for names, sources in pairs:
            if sources & {*submodules, "m.submodules"}:
                submodules |= names
    return submodules


def touches(node, submodules):
    """Return whether an expression reads or drives a port of a submodule."""
    return any(
        isinstance(part, ast.Attribute) and root_of(part) in submodules for part in ast.walk(node)
    )


def connections_of(source):
    """Return how many assignments touch ports of submodules, and how many ports are connected."""
    tree = ast.parse(source)
    submodules, counts = submodules_of(tree), Counter()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Attribute) and node.func.attr == "eq":
            counts["assignments"] += touches(node, submodules)
        elif isinstance(node.func, ast.Name) and node.func.id in CONNECTS:
            counts["connects"] += 1
    return counts


def late_attributes(source):
    """Return the attributes of `self` that are set outside `__init__`."""
    return [
        f"{function.name}: self.{node.attr}"
        for function in ast.walk(ast.parse(source))
        if isinstance(function, ast.FunctionDef) and function.name != "__init__"
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    ]


def test_assignments_and_late_attributes_are_recognised():
    source = """
class Parent(Component):
    def __init__(self):
        self.early = 1

    def elaborate(self, platform):
        m.submodules.child = child = Child()
        connect(m, child.o, flipped(self.o))
        m.d.comb += [child.start.eq(self.start), self.done.eq(child.done), self.x.eq(self.y)]
        self.late = child
        self.add(m, child)

    def add(self, m, block):
        m.d.comb += block.clear.eq(1)
"""
    assert connections_of(source) == {"assignments": 3, "connects": 1}
    assert late_attributes(source) == ["elaborate: self.late"]


def test_blocks_exchange_interfaces():
    counts = {
        path.relative_to(ROOT).as_posix(): connections_of(path.read_text())
        for room in ROOMS
        for path in (ROOT / "hw" / room).rglob("*.py")
    }
    assert {
        path: count
        for path, count in counts.items()
        if count["assignments"] > ASSIGNMENTS_PER_CONNECT * count["connects"]
    } == {}


def test_attributes_of_blocks_are_set_in_init():
    late = {
        path.relative_to(ROOT).as_posix(): late_attributes(path.read_text())
        for room in ("hw", "synth/fpga/self_test")
        for path in (ROOT / room).rglob("*.py")
        if "emit" not in path.parts  # its classes are no blocks
    }
    assert {path: names for path, names in late.items() if names} == {}
