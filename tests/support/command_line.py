"""Command lines as users write them: exit codes and error messages."""

import shlex

from spica.cli.main import main

__all__ = ["message_of", "refused", "run_spica"]


def run_spica(command: str) -> int:
    """Run the command line `spica` with these words; return its exit code."""
    return main(shlex.split(command))


def message_of(capsys, command: str) -> str:
    """Run a command that must be bad input; return what it writes to standard error."""
    assert run_spica(command) == 2
    return capsys.readouterr().err


def refused(capsys, command: str) -> str:
    """Run a command that must be refused by one sentence, without output; return the sentence."""
    assert run_spica(command) == 2
    out, sentence = capsys.readouterr()
    assert out == ""
    assert sentence.startswith("spica: ") and sentence.count("\n") == 1
    return sentence.removeprefix("spica: ").strip()
