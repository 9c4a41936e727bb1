"""Tests that saves are complete: every mutable member of every class with an archive."""

import re
from pathlib import Path

import pytest

from spica.sim.engine import verilator_model as verilated
from spica.sim.iss import library

#: Folders of the classes, and prefixes of their names.
FOLDERS = {verilated.NATIVE: "", Path(library.__file__).with_name("native"): "iss "}
#: Members fixed at construction: a restored object is constructed with the same ones.
MADE = {
    "AxiPort": {"name_", "p_", "beat_bytes_", "write_capacity_"},
    "Channel": {"p_", "write_capacity_", "beat_cost_"},
    "ClusterCores": {"events_"},
    "ClusterRecorder": {"slowest_"},
    "Composition": {
        *("libraries_", "steps_", "sampled_", "busy_", "input_widths_", "input_words_"),
    },
    "CoreImage": {"console_base_", "console_bytes_"},
    "Harness": {"lone", "cluster", "mirrored", "dma_"},
    "Host": {"access_cycles_"},
    "Memory": {"base_", "end_"},
    "Mirror": {"shared_"},
    "Profile": {"first_"},
    "Recorder": {"core_", "warp_width_", "first_", "end_", "limit_"},
    "Repetition": {"threads_"},
    "Lockstep": {"mirror_"},
    "Warp": {"number"},
    "iss Machine": {"devices", "saved"},
    "iss Memory": {"shared_bytes_"},
    "iss Warp": {"threads_"},
}
#: Classes that must be among those checked.
REQUIRED = {
    *("Host", "Harness", "Lockstep", "Warp", "Sent", "Recorder", "ActivityRecorder", "Profile"),
    *("AxiPort", "Channel", "Mirror", "DmaWrites", "Burst", "ClusterCores", "Traffic"),
    *("LoadLatency", "CoreMonitor", "CoreMemory", "Cores", "iss Regions", "Track"),
}
#: Types found by port name, or owned by another object.
PORTS = re.compile(r"\b(Field|AddressFields|\w+Ports|PortTable)\b")
CLASS = re.compile(r"\b(?:class|struct) (\w+)(?: final)?(?: : public [\w:, ]+)? \{")
VALUE = re.compile(r" ?= ?[\w:~]+(?:<\w+>)?(?:\(\w+\))?|(?: ?= ?)?\{\}")
NO_MEMBER = (
    *("using ", "friend ", "static ", "return ", "enum ", "template", "explicit ", "virtual "),
    "const ",
)


def text_of(path):
    """Return a source without comments and strings."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)


def block(text, start):
    """Return the text between the brace before `start` and its closing brace."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    raise AssertionError("a brace is not closed")


def without_blocks(text):
    """Return a class without nested bodies; initial values stay as `{}`."""
    depth, outside = 0, []
    for letter in text:
        depth -= letter == "}"
        if depth == 0:
            outside.append(letter)
        depth += letter == "{"
    return "".join(outside)


def members_of(body):
    """Yield the names of the mutable members of a class."""
    flat = re.sub(r"(?:class|struct|enum class) \w+[^;{]*\{\}\s*(?=;|\w)", "", without_blocks(body))
    flat = re.sub(r"\b(?:public|private|protected):", "", flat)
    flat = re.sub(r"\)[^;{]*\{\}", ");", flat)  # functions
    for statement in (" ".join(part.split()) for part in flat.split(";")):
        bare = re.sub(VALUE, "", statement)
        if not bare or bare.startswith(NO_MEMBER) or any(mark in bare for mark in "(&"):
            continue
        if PORTS.search(bare):
            continue
        while bare != (bare := re.sub(r"<[^<>]*>", "", bare)):
            pass
        first, *others = bare.split(",")
        for name in (first.rpartition(" ")[2], *others):
            yield re.sub(r"\[.*|\*", "", name).strip()


def archived_classes():
    """Yield name, members, and archive text of each class that has one."""
    head = r"void (?:\w+::)*{}archive\(Archive& archive\)(?: override)?"
    for folder, prefix in FOLDERS.items():
        sources = "\n".join(text_of(path) for path in sorted(folder.rglob("*.cpp")))
        for path in sorted(folder.rglob("*.hpp")):
            text = text_of(path)
            for head_match in CLASS.finditer(text):
                body = block(text, head_match.end())
                for own in re.finditer(head.format("") + r"(?P<end>;| \{)", body):
                    # An archive in a nested class belongs to that class.
                    if body[: own.start()].count("{") != body[: own.start()].count("}"):
                        continue
                    if own["end"] == ";":
                        source = sources
                        own = re.search(head.format(f"{head_match[1]}::") + r" \{", sources)
                        assert own, head_match[1]
                    else:
                        source = body
                    yield prefix + head_match[1], list(members_of(body)), block(source, own.end())


CLASSES = list(archived_classes())


def test_the_classes_that_matter_are_observed():
    names = {name for name, *_ in CLASSES}
    assert names >= REQUIRED
    assert names >= set(MADE)
    members = {name: set(member_names) for name, member_names, _ in CLASSES}
    assert {"errors_", "data_pending_", "dropped_"} < members["Host"]
    assert {"commands_", "bytes_", "has_ended_", "refusals_"} < members["Lockstep"]
    assert {"faults", "awaits_counter"} < members["Warp"]
    assert {"expected", "seen"} <= members["Sent"]
    assert {"offers_", "slots_seen_"} < members["Recorder"]
    assert {"base_", "tracks_"} < members["ActivityRecorder"]
    assert {"start_", "dma_response_"} < members["Harness"]


@pytest.mark.parametrize(("name", "members", "archive"), CLASSES, ids=[row[0] for row in CLASSES])
def test_every_member_that_may_change_is_saved(name, members, archive):
    named = set(re.findall(r"\w+", archive))
    made = MADE.get(name, set())
    assert set(members) - named - made == set()
    # Exceptions must exist and must not be saved.
    assert made <= set(members) - named
