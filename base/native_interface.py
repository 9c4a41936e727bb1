"""Interface of C++ for Python: the structures, constants and functions of its C ABI.

The C++ is the definition: whatever its sources declare as ``extern "C"`` is read from them.
"""

import ctypes
import enum
import functools
import re
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

__all__ = ["NativeInterface", "NativeLibrary", "NativeStructure"]

#: A block, or a single declaration. Both end with a line, as the sources are formatted.
EXPORTED = re.compile(
    r'^extern "C" (?:\{\n(.*?)^\}  // extern "C"|((?!\{)[^{;]*(?:;|\{[^\n]*\};?|\{\n.*?^\};?)$))',
    re.M | re.S,
)
NUMBERS: dict[str, Any] = {
    **{"bool": ctypes.c_bool, "int": ctypes.c_int, "unsigned": ctypes.c_uint},
    **{"char": ctypes.c_char, "double": ctypes.c_double, "size_t": ctypes.c_size_t},
    **{f"int{width}_t": getattr(ctypes, f"c_int{width}") for width in (8, 16, 32, 64)},
    **{f"uint{width}_t": getattr(ctypes, f"c_uint{width}") for width in (8, 16, 32, 64)},
}


#: Base of all functions of ctypes.
FUNCTION: Any = ctypes.CFUNCTYPE(None).__base__


class NativeStructure(ctypes.Structure):
    """Base of the structures: fields by name, also pointers to functions of Python or C++."""

    kinds: ClassVar[dict[str, Any]] = {}  #: types of the fields

    def __init__(self, **values: Any):
        for name, value in values.items():
            if name not in self.kinds:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            if isinstance(value, FUNCTION):
                value = ctypes.cast(value, self.kinds[name])
            elif callable(value):
                value = self.kinds[name](value)
            setattr(self, name, value)


class NativeInterface:
    """Structures, constants and functions that C++ exports.

    Parameters
    ----------
    *paths : Path
        Sources and headers, and folders of these.

    """

    def __init__(self, *paths: Path):
        self.paths = paths

    @property
    def files(self) -> list[Path]:
        """All sources and headers."""
        paths = [file for path in self.paths for file in (path, *sorted(path.rglob("*.?pp")))]
        return [path for path in paths if path.is_file()]

    @functools.cached_property
    def declarations(self) -> dict[str, Any]:
        """All that is exported, by name; a constant of a structure is ``Structure::kName``."""
        # Few commands need a library, and so the parser.
        from cxxheaderparser.simple import parse_string

        text = "".join(path.read_text() for path in self.files)
        text = "".join(block or single + "\n" for block, single in EXPORTED.findall(text))
        scope = parse_string(re.sub(r"^#.*\n", "", text, flags=re.M)).namespace
        exported: dict[str, Any] = {
            last(declared.typename): declared for declared in scope.forward_decls
        }
        exported |= {last(declared.typename): declared for declared in scope.enums}
        exported |= {
            last(declared.name): declared for declared in (*scope.functions, *scope.variables)
        }
        for declared in scope.classes:
            name = last(declared.class_decl.typename)
            constants = (field for field in declared.fields if field.static)
            exported |= {name: declared, **{f"{name}::{field.name}": field for field in constants}}
        return exported

    def declaration(self, name: str) -> Any:
        """Return what has a name."""
        if name not in self.declarations:
            raise LookupError(f'no declaration of {name} is extern "C"')
        return self.declarations[name]

    @functools.cache  # noqa: B019  an interface is used until the process ends
    def constant(self, name: str) -> int:
        """Return a constant; the name of one in a structure is ``Structure::kName``."""
        declared = self.declaration(name)
        number = self.number(declared.value.format(), name.rpartition("::")[0])
        return self.kind(declared.type, name)(number).value

    def number(self, text: str, scope: str) -> int:
        """Return the value of an expression of numbers and constants, in a structure `scope`."""

        def value(match: re.Match[str]) -> str:
            parts = [scope, *match[0].split("::")]
            names = ("::".join(parts), "::".join(parts[-2:]), parts[-1])
            return str(self.constant(next(filter(self.declarations.get, names), parts[-1])))

        plain = re.sub(r"\b(0x[\da-fA-F]+|\d+)[uUlL]*\b|\s", r"\1", text)
        return eval(re.sub(r"\b[A-Za-z_][\w:]*", value, plain), {})

    @functools.cache  # noqa: B019  as above
    def enumeration(self, name: str) -> Any:
        """Return an enumeration, with the names of the C++ for its members."""
        values: dict[str, int] = {}
        for constant in self.declaration(name).values:
            following = max(values.values(), default=-1) + 1
            values[constant.name] = (
                self.number(constant.value.format(), name) if constant.value else following
            )
        return enum.IntEnum(name, values)

    @functools.cache  # noqa: B019  as above
    def structure(self, name: str) -> type[NativeStructure]:
        """Return the class of a structure."""
        fields = [
            (field.name, self.kind(field.type, f"{name}::{field.name}"))
            for field in self.declaration(name).fields
            if not field.static
        ]
        return type(name, (NativeStructure,), {"_fields_": fields, "kinds": dict(fields)})

    def kind(self, declared: Any, where: str) -> Any:
        """Return the type of a declaration, None for ``void``; `where` names it in messages."""
        from cxxheaderparser.types import Array, FunctionType, Pointer, Type

        def array(element: Any, size: Any) -> Any:
            return self.kind(element, where) * self.number(size.format(), where.rpartition("::")[0])

        if isinstance(declared, Array):
            return array(declared.array_of, declared.size)
        if isinstance(declared, Pointer):
            target = declared.ptr_to
            if isinstance(target, FunctionType):
                return ctypes.CFUNCTYPE(*self.signature(target, where))
            name = last(target.typename) if isinstance(target, Type) else ""
            if name == "char":
                return ctypes.c_char_p
            # Bytes are passed as such, and objects of classes belong to the C++.
            is_typed = name != "uint8_t" and (name in NUMBERS or name in self.declarations)
            return ctypes.POINTER(self.kind(target, where)) if is_typed else ctypes.c_void_p
        name = last(declared.typename)
        if name == "void" or name in NUMBERS:
            return NUMBERS.get(name)
        if name == "array":
            element, size = declared.typename.segments[-1].specialization.args
            return array(element.arg, size.arg)
        if hasattr(declaration := self.declarations.get(name), "class_decl"):
            return self.structure(name)
        if base := getattr(declaration, "base", None) or getattr(declaration, "enum_base", None):
            return NUMBERS[last(base)]
        raise TypeError(
            f'{where} must be a number, or a structure or enumeration that is extern "C", '
            f"or a pointer or an array of these, not {declared.format()}"
        )

    def signature(self, declared: Any, where: str) -> list[Any]:
        """Return the types of a function's result and of its parameters."""
        types = (declared.return_type, *(parameter.type for parameter in declared.parameters))
        return [self.kind(parameter, where) for parameter in types]


class NativeLibrary(ctypes.CDLL):
    """Shared library whose functions have the types of their C++.

    An array, a structure or bytes may be passed for a pointer.

    Parameters
    ----------
    path : Path
        The library.
    interface : NativeInterface
        Its sources.

    """

    def __init__(self, path: Path, interface: NativeInterface):
        super().__init__(str(path))
        self.interface = interface

    def __getattr__(self, name: str) -> Any:
        function = super().__getattr__(name)
        declared = self.interface.declaration(name)
        function.restype, *arguments = self.interface.signature(declared, name)
        function.argtypes = [argument(parameter) for parameter in arguments]
        return function


def last(name: Any) -> str:
    """Return a name of the parser without the namespaces around it."""
    return name.segments[-1].name


@functools.cache
def argument(kind: Any) -> Any:
    """Return the type of an argument, which accepts arrays for pointers."""
    element: Any = getattr(kind, "_type_", None)
    if not issubclass(kind, ctypes._Pointer | ctypes.c_void_p | ctypes.c_char_p):
        return kind

    class Argument:
        @staticmethod
        def from_param(value: Any) -> Any:
            if not isinstance(value, np.ndarray):
                return kind.from_param(value)
            if not value.flags.c_contiguous:
                raise TypeError("an array for C++ must be contiguous")
            if element in NUMBERS.values() and ctypes.sizeof(element) != value.itemsize:
                raise TypeError(f"an array of {element.__name__} must not be of {value.dtype}")
            return value.ctypes

    return Argument
