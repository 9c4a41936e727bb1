"""Lines of Verilog of at most `WIDTH` characters."""

__all__ = ["WIDTH", "wrapped"]

WIDTH = 110
#: A line is broken after at least this many characters, if it can be.
LEAST = 60


def wrapped(text: str, indent: str = "  ") -> str:
    """Return a statement in lines, with its continuation indented.

    Lines end where the fewest brackets are open, at a comma if there is one, as late as possible.
    """
    line = indent + text
    if len(line) <= WIDTH:
        return line
    lines, following, depth = [], indent + "    ", 0
    while len(line) > WIDTH:
        place, depth = best_place(line, len(following), depth)
        if place < 0:
            break
        lines.append(line[:place])
        line = following + line[place + 1 :]
    return "\n".join([*lines, line])


def best_place(line: str, start: int, depth: int) -> tuple[int, int]:
    """Return the best space to break a line at, and the depth of brackets there; -1 if none."""
    best, place, at = (-1 << 30, 0, 0), -1, depth
    for number in range(start, len(line)):
        character = line[number]
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
        elif character == " ":
            if number > WIDTH and place >= 0:
                break
            if number < LEAST and len(line) - number > WIDTH - start:
                rank = (-(1 << 20), 0, number)
            else:
                rank = (-depth, int(line[number - 1] == ","), number)
            if rank > best or number > WIDTH:
                best, place, at = rank, number, depth
    return place, at
