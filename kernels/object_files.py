"""Objects of source files, found again by the preprocessed text, all that a compilation reads."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.build_cache import cached, digest, scratch_folder
from ..base.build_step import build_step
from ..base.progress import Progress
from ..base.zig import compiler_version
from . import toolchain
from .entries import dropped_saves
from .toolchain import LANGUAGES, TARGET, environment

__all__ = ["SourceFile", "object_of"]

OBJECT, TEXT, ASSEMBLY, WARNINGS = "source.o", "source.i", "source.s", "warnings.txt"
#: Header whose users contain functions that threads enter.
PARALLEL_HEADER = b"spica_parallel.h"
#: File and place of the lines that follow in preprocessed text.
MARKER = re.compile(rb'# \d+ "((?:[^"\\]|\\.)*)"')
ASM = re.compile(rb"\b(?:asm|__asm|__asm__)\b")
#: Directives that read a file, and those that may compose the name of one.
READS_FILES = re.compile(rb"\.(?:include|incbin|macro|irpc?|altmacro)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """Source file and the options of its compilation.

    Parameters
    ----------
    path : Path
        C, C++ or assembly, by its suffix.
    optimize : int
        Level, 0 to 3.
    folders : tuple of Path
        Folders of headers of the user, searched first.
    library : tuple of Path
        Folders of headers of the library.
    defines : tuple of str
        Macros, as ``NAME`` or ``NAME=VALUE``.
    more : tuple of str
        Further flags of C and C++.
    is_own : bool
        Whether it is the user's: the environment's folders of headers are searched.

    """

    path: Path
    optimize: int
    folders: tuple[Path, ...] = ()
    library: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    is_own: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of its language and level."""
        language = LANGUAGES[self.path.suffix][1]
        more = self.more if language else ()
        return (*toolchain.FLAGS, *language, *more, f"-O{self.optimize}")

    def translate(self, *step: str, to: Path) -> list[str]:
        """Run the compiler up to a step: ``-E``, ``-S`` or ``-c``; return its warnings."""
        folders = [f"-I{folder}" for folder in (*self.folders, *self.library)]
        macros = [f"-D{define}" for define in self.defines]
        arguments = [*self.flags, *macros, *folders, "-fno-color-diagnostics", *step]
        return toolchain.tool(
            LANGUAGES[self.path.suffix][0],
            [*arguments, str(self.path), "-o", str(to)],
            f"{self.path.name} does not compile",
            environment(searched=self.is_own, private=to.with_name("zig")),
        )

    def preprocessed(self, folder: Path) -> bytes:
        """Return its text with the text of every file that it includes."""
        self.translate("-E", to=folder / TEXT)
        return (folder / TEXT).read_bytes()

    def object(self, text: bytes, folder: Path) -> tuple[bytes, list[str]]:
        """Return its object, and warnings of the compiler; `text` is its preprocessed text."""
        if self.path.suffix == ".S" or PARALLEL_HEADER not in text:
            warnings = self.translate("-c", to=folder / OBJECT)
        else:
            assembly = folder / ASSEMBLY
            warnings = self.translate("-S", to=assembly)
            assembly.write_text(dropped_saves(assembly.read_text()))
            toolchain.tool(
                "cc",
                [*TARGET, "-c", str(assembly), "-o", str(folder / OBJECT)],
                f"{self.path.name} does not compile",
                environment(private=folder / "zig"),
            )
        return (folder / OBJECT).read_bytes(), warnings

    def reads_files(self, text: bytes, folder: Path) -> bool:
        """Return whether the assembler may read further files for its preprocessed text."""
        if self.path.suffix == ".S":
            return bool(READS_FILES.search(text))
        if not has_assembly(text, self.library):
            return False
        # The compiler's own assembler would replace the directives by what they read.
        self.translate("-S", "-fno-integrated-as", to=folder / ASSEMBLY)
        return bool(READS_FILES.search((folder / ASSEMBLY).read_bytes()))


class NotKeptError(Exception):
    """An object that its key does not determine.

    Attributes
    ----------
    made : tuple of (bytes, list of str)
        The object, and warnings.

    """

    def __init__(self, made: tuple[bytes, list[str]]):
        super().__init__("an object depends on more than its key")
        self.made = made


def object_of(source: SourceFile, progress: Progress | None) -> tuple[bytes, list[str]]:
    """Return the object of a source file, and warnings; compile it unless it is cached.

    Its key is the preprocessed text, made anew each time: this follows each file that is changed,
    removed, or found in another folder than before. An object is not kept if its assembly may
    read files of its own, or if a file was changed meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix="spica-") as folder:
        text = source.preprocessed(Path(folder))

    def build(entry: Path) -> None:
        size, variant = source.path.stat().st_size, f"-O{source.optimize}"
        with (
            build_step(progress, "compiling the program", size=size, variant=variant),
            scratch_folder() as folder,
        ):
            contents, warnings = source.object(text, folder)
            if source.reads_files(text, folder) or source.preprocessed(folder) != text:
                raise NotKeptError((contents, warnings))
            (entry / OBJECT).write_bytes(contents)
            (entry / WARNINGS).write_text("\n".join(warnings))

    passes = Path(__file__).with_name("entries.py").read_bytes()
    key = digest([compiler_version(), *source.flags, passes, WARNINGS, text])
    try:
        entry = cached("object", key, build, progress)
    except NotKeptError as outcome:
        return outcome.made
    return (entry / OBJECT).read_bytes(), (entry / WARNINGS).read_text().splitlines()


def has_assembly(text: bytes, library: Sequence[Path]) -> bool:
    """Return whether preprocessed text has assembly outside the headers of the library."""
    trusted = tuple(str(folder).encode() + b"/" for folder in library)
    is_trusted = False
    for line in text.splitlines():
        if marker := MARKER.match(line):
            is_trusted = marker[1].startswith(trusted)
        elif not is_trusted and ASM.search(line):
            return True
    return False
