"""Renders all pages with search and the Python interface: build/site.

python docs/website.py [--output build/site], or make docs-site. The pages, and the files that they
link to, are staged as they lie in the tree, so links between them hold; the navigation is that of
docs/README.md. A broken link or anchor fails the build.
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from posixpath import normpath

import yaml

ROOT = Path(__file__).parents[1]
STAGED = ROOT / "build" / "site-pages"
INDEX = Path("docs/README.md")
API = Path("docs/api.md")
#: Script of the pages with diagrams. The theme's own breaks the search of a page without network.
DIAGRAMS = Path("docs/diagrams.js")
OUTER = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
#: Names of the public interface, in the order of their page.
NAMES = ("Machine", "Run", "Dram", "Attention", "Unwritten", "sweep", "compare", "Comparison")
NAMED = re.compile(r"^(```\w+) ([\w.]+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


def pages() -> list[Path]:
    """Return the pages, by their paths from the root of the tree."""
    folders = [path.relative_to(ROOT) for path in sorted(ROOT.glob("docs/*.md"))]
    return [*map(Path, OUTER), *folders, Path("examples/README.md")]


def linked(page: Path) -> set[Path]:
    """Return the paths from the root of the files that a page links to."""
    text = (ROOT / page).read_text()
    return {Path(normpath(page.parent / target)) for target in LINK.findall(text)}


def api_page() -> str:
    """Return the page of the Python interface, whose contents are the docstrings."""
    entries = "".join(f"## {name}\n\n::: spica.api.{name}\n\n" for name in NAMES)
    return f"# Python interface\n\n`import spica`; see [programming](programming.md).\n\n{entries}"


def stage() -> None:
    """Copy pages and linked files to the folder of staged files."""
    shutil.rmtree(STAGED, ignore_errors=True)
    targets = {target for page in pages() for target in linked(page)}
    for path in {*pages(), *targets, DIAGRAMS}:
        if (ROOT / path).is_file():
            (STAGED / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, STAGED / path)
    for page in pages():  # files that blocks of code name are their titles
        text = NAMED.sub(r'\1 title="\2"', (ROOT / page).read_text())
        (STAGED / page).write_text(text)
    (STAGED / API).write_text(api_page())


def title(page: Path) -> str:
    """Return the first heading of a page."""
    return next(
        line[2:] for line in (ROOT / page).read_text().splitlines() if line.startswith("# ")
    )


def navigation() -> list[dict]:
    """Return the sections of the navigation, in the order of the index."""
    text = (ROOT / INDEX).read_text()
    sections: list[dict] = [{"Spica": "README.md"}]
    for heading, entries in re.findall(r"^(.+):\n\n((?:- .*\n)+)", text, re.MULTILINE):
        targets = [Path(normpath(INDEX.parent / target)) for target in LINK.findall(entries)]
        listed = [page for page in dict.fromkeys(targets) if page.suffix == ".md"]
        sections.append({heading: [{title(page): page.as_posix()} for page in listed]})
    sections[1]["Using Spica"].append({"Python interface": API.as_posix()})
    others = [Path(name) for name in OUTER[1:]]
    index = {"All pages": INDEX.as_posix()}
    sections.append({"Project": [index, *({title(page): page.as_posix()} for page in others)]})
    return sections


def settings(output: Path) -> dict:
    """Return the configuration of MkDocs."""
    fences = [{"name": "mermaid", "class": "diagram"}]
    for fence in fences:
        fence["format"] = "tag:yaml.org,2002:python/name:pymdownx.superfences.fence_code_format"
    docstrings = {
        "docstring_style": "numpy",
        "members_order": "source",
        "show_source": False,
        "show_root_heading": False,
        "heading_level": 3,
    }
    return {
        "site_name": "Spica",
        "docs_dir": str(STAGED),
        "site_dir": str(output),
        "use_directory_urls": False,
        "theme": {
            "name": "material",
            "font": False,
            "features": ["navigation.sections", "content.code.copy", "search.highlight"],
        },
        "extra_javascript": [DIAGRAMS.as_posix()],
        "plugins": [
            "search",
            {"mkdocstrings": {"handlers": {"python": {"options": docstrings}}}},
        ],
        "markdown_extensions": [
            "tables",
            "attr_list",
            {"toc": {"permalink": True}},
            {"pymdownx.superfences": {"custom_fences": fences}},
        ],
        "validation": {"links": {"anchors": "warn", "unrecognized_links": "warn"}},
        "nav": navigation(),
    }


def configuration(output: Path) -> str:
    """Return the configuration as YAML, with the tag of the function that keeps diagrams."""
    text = yaml.safe_dump(settings(output), sort_keys=False, allow_unicode=True)
    return re.sub(r"'?tag:yaml.org,2002:(python/name:[\w.]+)'?", r"!!\1 ''", text)


def main() -> int:
    """Stage the pages and render them; return the exit code of MkDocs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    output = parser.parse_args().output.resolve()
    stage()
    path = STAGED.with_suffix(".yml")
    path.write_text(configuration(output))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", str(path)]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
