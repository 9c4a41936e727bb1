"""Names of modules in emitted Verilog: the class, and what distinguishes blocks of one class."""

import dataclasses
import enum
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Set
from typing import Any

from .writer.variables.names import KEYWORDS

__all__ = ["Fields", "distinct_names", "fields_of", "with_names"]

Fields = tuple[tuple[tuple[str, ...], Any], ...]

#: Longest text of the fields that distinguish blocks; a longer one gives way to the hash.
MOST = 24
#: Most fields of a config whose numbers need no names.
FEW = 4
#: Where a text names a module: its head, and its instances.
PLACES = re.compile(r"^(module |  )(\w+?)((?:__\w+)?(?: \w+)? \()$", re.M)


def fields_of(config: Any) -> Fields:
    """Return the path and value of each field of a config, and of configs in it."""
    return tuple(leaves(config, ()))


def leaves(config: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the path and value of each field of a config, and of configs in it."""
    if dataclasses.is_dataclass(config) and not isinstance(config, type):
        for field in dataclasses.fields(config):
            yield from leaves(getattr(config, field.name), (*path, field.name))
    elif isinstance(config, tuple | list):
        for number, part in enumerate(config):
            yield from leaves(part, (*path, str(number)))
    else:
        yield path, config


def label(values: Mapping[tuple[str, ...], Any], paths: list[tuple[str, ...]]) -> str:
    """Return the text of the fields that distinguish a block.

    Numbers of a config with few fields are joined by ``x``; others follow their field's name.
    """
    numbers = [values.get(path) for path in paths]
    are_numbers = all(isinstance(value, int) and not isinstance(value, bool) for value in numbers)
    if are_numbers and len(values) <= FEW:
        return "x".join(str(value) for value in numbers)
    parts = []
    for path, value in zip(paths, numbers, strict=True):
        name = next((part for part in reversed(path) if not part.isdigit()), "")
        if isinstance(value, bool):
            parts.append(name if value else f"no_{name}")
        elif isinstance(value, enum.Enum):
            parts.append(value.name)
        elif isinstance(value, int):
            parts.append(f"{name}{value}")
        else:
            parts.append(f"no_{name}" if value is None else str(value))
    return re.sub(r"\W+", "_", "_".join(parts)).strip("_").lower()


def distinguishing(
    fields: Mapping[str, Mapping[tuple[str, ...], Any]],
) -> list[tuple[str, ...]]:
    """Return few fields in which all blocks differ: the first that tell most of them apart."""
    paths = list(dict.fromkeys(path for values in fields.values() for path in values))

    def kinds(chosen: list[tuple[str, ...]]) -> int:
        return len({str([values.get(path) for path in chosen]) for values in fields.values()})

    chosen: list[tuple[str, ...]] = []
    while kinds(chosen) < len(fields):
        best = max(paths, key=lambda path: kinds([*chosen, path]))
        if kinds([*chosen, best]) == kinds(chosen):
            break
        chosen.append(best)
    return sorted(chosen, key=paths.index)


def distinct_names(
    blocks: Mapping[str, tuple[str, Fields]], used: Collection[str] = ()
) -> dict[str, str]:
    """Return a name for each module.

    A module has the name of its class; modules of one class add the fields in which their configs
    differ. Where this is long or not distinct they keep their own name, which ends in a hash. So
    names do not depend on the files that define the classes.

    Parameters
    ----------
    blocks : mapping of str to (str, Fields)
        Class in lower case, and `fields_of` the config, of each module by its own name.
    used : collection of str
        Names of other modules of the design, which no block gets; nor does it get a keyword.

    """
    groups: dict[str, list[str]] = defaultdict(list)
    for module, (stem, _) in blocks.items():
        groups[stem].append(module)
    names: dict[str, str] = {}
    for stem, modules in groups.items():
        if len(modules) == 1:
            names[modules[0]] = stem
            continue
        fields = {module: dict(blocks[module][1]) for module in modules}
        paths = distinguishing(fields)
        labels = {module: label(values, paths) for module, values in fields.items()}
        texts = list(labels.values())
        for module, text in labels.items():
            is_good = 0 < len(text) <= MOST and texts.count(text) == 1
            names[module] = f"{stem}_{text}" if is_good else module
    return unique(names, {*names, *used} | KEYWORDS)


def unique(names: dict[str, str], used: Set[str]) -> dict[str, str]:
    """Return names in which modules keep their own if they share the new one or it is `used`."""
    counts = Counter(names.values())
    return {
        module: name if counts[name] == 1 and name not in used else module
        for module, name in names.items()
    }


def with_names(verilog: str, names: Mapping[str, str]) -> str:
    """Return a text in which modules, those below them and their instances have new names."""
    return PLACES.sub(lambda place: f"{place[1]}{names.get(place[2], place[2])}{place[3]}", verilog)
