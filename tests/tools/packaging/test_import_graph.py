"""Import graph of files and folders: no circles, and every import points down the layers."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

import pytest

from formal.sources import ROOMS

ROOT = Path(__file__).parents[3]
#: Each room with the rooms that it may import.
ROOM_IMPORTS = {
    "base": set(),
    "hw": {"base"},
    "kernels": {"base", "hw"},
    "sim": {"base", "hw", "kernels"},
    "synth": {"base", "hw"},
    "explore": {"base", "hw", "kernels", "sim", "synth"},
    "api": {"base", "hw", "kernels", "sim", "synth", "explore"},
    "cli": {"base", "hw", "kernels", "sim", "synth", "explore", "api"},
}
#: Layers of rooms, the lowest first; folders of one layer do not import each other.
LAYERS = {
    "hw": (
        *(("isa",), ("config",), ("emit",), ("lib",), ("arith",), ("memory", "matrix")),
        *(("styles",), ("core",), ("cluster",), ("machine",), ("presets",)),
    ),
    "explore": (
        *(("energy",), ("work",), ("points",), ("sweep",)),
        *(("tables",), ("charts",), ("reproduce",)),
    ),
}
RANKS = {
    room: {folder: rank for rank, layer in enumerate(layers) for folder in layer}
    for room, layers in LAYERS.items()
}
#: Files of a folder, a C++ header and its source being one.
CROWDED = 22

SOURCES = {
    path.relative_to(ROOT).as_posix(): path
    for room in ROOM_IMPORTS
    for path in sorted((ROOT / room).rglob("*"))
    if path.suffix in {".py", ".c", ".cpp", ".h", ".hpp"}
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def module_file(parts):
    """Return the source of a module, given the parts of its name; None if there is none."""
    name = "/".join(parts)
    return next((file for file in (f"{name}.py", f"{name}/__init__.py") if file in SOURCES), None)


def imported_files(file, text):
    """Yield the sources that a Python file imports, wherever in it."""
    package = PurePosixPath(file).parent.parts
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1]
        base += tuple(node.module.split(".")) if node.module else ()
        for alias in node.names:
            imported = module_file((*base, alias.name)) or module_file(base)
            if imported is None and base:
                raise AssertionError(f"{file}: nothing is called {'.'.join(base)}.{alias.name}")
            if imported is not None:
                yield imported


def included_files(file, text):
    """Yield the sources that a C or C++ file includes."""
    for name in INCLUDE.findall(text):
        near = PurePosixPath(file).parent / name
        ends = [near.as_posix()] if near.as_posix() in SOURCES else []
        ends = ends or [other for other in SOURCES if other.endswith(f"/{name}")]
        yield from ends[:1]


def import_graph():
    """Return the sources that each source imports or includes."""
    graph = {}
    for file, path in SOURCES.items():
        find = imported_files if path.suffix == ".py" else included_files
        graph[file] = set(find(file, path.read_text())) - {file}
    return graph


GRAPH = import_graph()
FOLDERS = sorted({str(parent) for file in SOURCES for parent in PurePosixPath(file).parents})


def circle_of(graph):
    """Return a circle of a graph, empty if it has none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def children_graph(graph, folder):
    """Return the graph of a folder's direct children: files, and subfolders as a whole."""
    prefix = "" if folder == "." else f"{folder}/"

    def child(file):
        return file.removeprefix(prefix).partition("/")[0]

    inside = {}
    for file, imported in graph.items():
        if file.startswith(prefix):
            below = {child(other) for other in imported if other.startswith(prefix)}
            inside.setdefault(child(file), set()).update(below - {child(file)})
    return inside


def test_files_have_no_circle():
    assert circle_of(GRAPH) == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_children_of_a_folder_have_no_circle(folder):
    assert circle_of(children_graph(GRAPH, folder)) == []


def wrong_arrows(graph):
    """Yield every import against the direction of rooms and of their layers."""
    for file, imported in graph.items():
        room, _, inside = file.partition("/")
        for other in imported:
            other_room, _, other_inside = other.partition("/")
            if room != other_room:
                if other_room not in ROOM_IMPORTS[room]:
                    yield file, other
            elif room in RANKS and "/" in inside and "/" in other_inside:
                here, there = inside.partition("/")[0], other_inside.partition("/")[0]
                if here != there and RANKS[room][here] <= RANKS[room][there]:
                    yield file, other


def test_imports_point_down_the_layers():
    assert sorted(wrong_arrows(GRAPH)) == []


def test_every_room_has_its_imports():
    assert set(ROOM_IMPORTS) == set(ROOMS)


@pytest.mark.parametrize("room", LAYERS)
def test_every_folder_of_a_layered_room_has_a_layer(room):
    folders = {PurePosixPath(file).parts[1] for file in SOURCES if re.match(rf"{room}/\w+/", file)}
    assert folders == set(RANKS[room])


def test_every_module_of_explore_is_on_a_layer():
    """Its root has no modules: they would belong to no layer."""
    loose = [file for file in SOURCES if re.fullmatch(r"explore/\w+\.py", file)]
    assert loose == ["explore/__init__.py"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_folder_is_not_crowded(folder):
    stems = {
        PurePosixPath(file).stem for file in SOURCES if str(PurePosixPath(file).parent) == folder
    } - {"__init__"}
    assert len(stems) <= CROWDED, sorted(stems)


def test_a_circle_and_a_wrong_arrow_would_be_found():
    """The checks above see a planted circle and a planted wrong arrow."""
    planted = {file: set(imported) for file, imported in GRAPH.items()}
    for room, low_layer, high_layer in (("hw", "emit", "cluster"), ("explore", "work", "sweep")):
        low = next(file for file in planted if file.startswith(f"{room}/{low_layer}/"))
        high = next(file for file in planted if file.startswith(f"{room}/{high_layer}/"))
        planted[low].add(high)
        assert (low, high) in set(wrong_arrows(planted))
        assert circle_of(children_graph(planted, room))
    first, second = "hw/config/core.py", "hw/config/checks.py"
    planted[second].add(first)
    assert circle_of(planted)
