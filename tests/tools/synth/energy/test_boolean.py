"""Boolean expressions of Liberty files: precedence, notations, and refused texts."""

from itertools import product

import pytest

from spica.synth.energy.boolean import evaluate, names_in, parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", lambda a, b, c: a),
        ("!A", lambda a, b, c: not a),
        ("A'", lambda a, b, c: not a),
        ("(A B)'", lambda a, b, c: not (a and b)),
        ("A*B+C", lambda a, b, c: (a and b) or c),
        ("A+B*C", lambda a, b, c: a or (b and c)),
        ("A | B & C", lambda a, b, c: a or (b and c)),
        ("A B C'", lambda a, b, c: a and b and not c),
        ("A^B*C", lambda a, b, c: (a ^ b) and c),
        ("A*B^C", lambda a, b, c: a and (b ^ c)),
        ("!(A^B)", lambda a, b, c: a == b),
        ("!A ^ B", lambda a, b, c: a == b),
        ("((A & !C) | (B&C))", lambda a, b, c: b if c else a),
        ("!!A''", lambda a, b, c: a),
        ("A * 1 + B * 0", lambda a, b, c: a),
    ],
)
def test_values(text, expected):
    expression = parse(text)
    states = list(product((0, 1), repeat=3))
    for a, b, c in states:
        assert evaluate(expression, {"A": a, "B": b, "C": c}) == bool(expected(a, b, c))
    # The same for all states at once, one bit each.
    bits = {
        name: sum(state[k] << n for n, state in enumerate(states)) for k, name in enumerate("ABC")
    }
    together = evaluate(expression, bits, (1 << len(states)) - 1)
    assert together == sum(bool(expected(*state)) << n for n, state in enumerate(states))


def test_names():
    assert list(names_in(parse("(A1 & !S0) | (A1 ^ B[3])"))) == ["A1", "S0", "A1", "B[3]"]


@pytest.mark.parametrize("text", ["", "A &", "& A", "(A", "A)", "A ? B", "!", "A ^", "'A", "2"])
def test_refused_texts(text):
    with pytest.raises(ValueError, match="must be a Boolean expression"):
        parse(text)
