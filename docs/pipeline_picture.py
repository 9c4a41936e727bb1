"""Picture of the pipeline stages of a few instructions, as SVG."""

from collections.abc import Iterator

from spica.hw.core.issue.stall_reason import StallReason
from spica.hw.isa.assembly import disassemble
from spica.sim.trace.pipeline.life import STAGES, Life, Pipeline, held_up, stages_of

__all__ = ["picture"]

NAMES = {letter: meaning.partition(":")[0] for letter, meaning in STAGES.items()}
STYLE = """
text { font: 12px ui-monospace, monospace; fill: #1b1f24; }
.dim { fill: #69707a; } .line { stroke: #d4d8de; }
.F { fill: #e4e6e9; } .B { fill: #c9cdd3; } .I { fill: #a9b0b9; } .C { fill: #a8dcc0; }
.X { fill: #57c28a; } .W { fill: #2f9460; } .hold { fill: none; stroke: #d1242f; stroke-width: 2; }
.snoop { fill: none; stroke: #0b62d6; stroke-width: 2; } .told { font-weight: bold; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7eb; } .dim { fill: #9aa2ad; } .line { stroke: #343b44; }
  .snoop { stroke: #6cb0ff; } }
.on { fill: #1b1f24; }
""".strip()
LEFT, WIDTH, HEIGHT, TOP = 250, 18, 26, 30


def picture(recorded: Pipeline, producer: int, consumer: int) -> str:
    """Return the picture as SVG: a row for each instruction, a column for each cycle.

    `consumer`, the next instruction, captures the result of `producer` from a bus.
    """
    end = max(life.done or 0 for life in recorded.lives) + 2
    width, height = LEFT + WIDTH * end + 8, TOP + HEIGHT * len(recorded.lives) + 54
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">',
        f"<style>\n{STYLE}\n</style>",
    ]
    for cycle in range(0, end, 5):
        x = LEFT + WIDTH * cycle
        parts.append(f'<line class="line" x1="{x}" y1="{TOP - 8}" x2="{x}" y2="{height - 50}"/>')
        parts.append(f'<text class="dim" x="{x + 3}" y="{TOP - 12}">{cycle}</text>')
    for row, life in enumerate(recorded.lives):
        is_marked = life.number in (producer, consumer)
        parts += drawn(recorded, life, TOP + HEIGHT * row, is_marked=is_marked)
    parts.append(snoop(recorded.lives[producer]))
    x = 8
    for letter, name in NAMES.items():
        parts.append(rectangle(letter, x, height - 32, 14, 18))
        parts.append(f'<text x="{x + 20}" y="{height - 18}">{letter} {name}</text>')
        x += 40 + 8 * (len(name) + 2)
    parts.append(rectangle("hold", x, height - 32, 14, 18))
    parts.append(f'<text x="{x + 20}" y="{height - 18}">stalled by a register</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def rectangle(kind: str, x: int, y: int, width: int, height: int) -> str:
    """Return a rectangle in the colour of `kind`."""
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}"/>'


def drawn(recorded: Pipeline, life: Life, y: int, *, is_marked: bool) -> Iterator[str]:
    """Yield the row of an instruction."""
    mark = ' class="told"' if is_marked else ""
    yield f'<text{mark} x="8" y="{y + 17}">{disassemble(life.word or 0)}</text>'
    for letter, start, end in stages_of(life, recorded.end):
        x, wide = LEFT + WIDTH * start, WIDTH * (end - start)
        yield rectangle(letter, x, y + 3, wide - 1, HEIGHT - 6)
        yield f'<text class="on" x="{x + 5}" y="{y + 17}">{letter}</text>'
    for name, start, end in held_up(recorded)[life.number]:
        if name == StallReason.SCOREBOARD.name.lower():
            x, wide = LEFT + WIDTH * start, WIDTH * (end - start)
            yield rectangle("hold", x, y + 3, wide - 1, HEIGHT - 6)


def snoop(producer: Life) -> str:
    """Return the arrow from the bus to the collector that captures a result."""
    assert producer.done is not None
    x, y = LEFT + WIDTH * producer.done + WIDTH // 2, TOP + HEIGHT * producer.number + HEIGHT - 5
    return (
        f'<path class="snoop" d="M {x} {y} v {HEIGHT - 14} m -4 -5 l 4 5 l 4 -5"/>'
        f'<text class="dim" x="{x + 14}" y="{y + 4}">over bus {producer.bus}</text>'
    )
