"""Messages, help texts and outputs of the program are in the standard words of the field; see CONTRIBUTING.md."""

import ast
import re
from pathlib import Path

import pytest
from typer.main import get_command

from suffice.cli.app import app

SOURCES = sorted((Path(__file__).parents[2] / "src" / "suffice").rglob("*.py"))
#: words and phrases that a reader has to guess, each with the standard one
PRIVATE = {
    r"\bholes?\b": "missing values",
    r"\brounds\b": "iterations",
    r"\bleaps?\b": "extrapolation step",
    r"\btwins?\b": "fallback",
    r"\b(an?|one|\d+) letter\b(?! of| in)|\bletters? that": "message",
    r"\b(label|number|share|weight|threshold|cell|nat|row|line|message|column|probabilit)(s|ies|y)? an? "
    r"(row|class|component|column|message|second)\b": "per",
    r"\bso many\b|\bhow many\b.*\bso many\b": "the number",
    r"version and leave\b": "and exit",
    r"\blooked into\b|\bto look at\b": "checked, evaluated",
    r"\bfor want of\b": "because there is not enough",
    r"\banew\b": "again",
    r"\bcannot be told\b": "undefined",
    r"\bwithout itself\b|\bwithout themselves\b": "by leave-one-out",
    r"(?<!here )\bis no (?!longer)": "is not a",
    r"\b[Ss]ay (so|missing_label|which|how)\b": "pass",
}
#: modules whose strings are data: slots of synthetic messages, signatures of kernels
EXCEPT = ("demo/templates.py", "compiled/signatures.py")


def of(tree):
    """Yield the line and text of each string of a module, without docstrings; an expression in an f-string is {}."""
    inside = set()
    for node in ast.walk(tree):  # parents before children
        if isinstance(node, ast.Expr):
            inside.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            yield node.lineno, "".join(p.value if isinstance(p, ast.Constant) else "{}" for p in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value


ANY = re.compile("|".join(PRIVATE))


def private(text):
    if not ANY.search(text):
        return []
    return [f"{found[0]!r} (say {word!r})" for pattern, word in PRIVATE.items() if (found := re.search(pattern, text))]


def commands(command, path):
    yield path, command
    for name, part in getattr(command, "commands", {}).items():
        yield from commands(part, f"{path} {name}")


COMMANDS = dict(commands(get_command(app), "suffice"))


def test_strings_of_the_program_are_in_plain_words():
    wrong = [
        f"{path.name}:{line}: {word} in {text!r}"
        for path in SOURCES
        if not path.as_posix().endswith(EXCEPT)
        for line, text in of(ast.parse(path.read_text(encoding="utf-8")))
        if " " in text
        for word in private(text)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_in_plain_words_and_every_value_has_a_name(name):
    command = COMMANDS[name]
    for text in (command.help or "", command.epilog or "", *(getattr(p, "help", None) or "" for p in command.params)):
        assert not private(text), text
    for param in command.params:
        assert param.help, param.name
        is_flag = getattr(param, "is_flag", False)
        assert is_flag or (param.metavar or "").strip("[]. ").replace(" ", "").isupper() or "=" in param.metavar, (
            param.name
        )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_no_types_of_python(name, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit):
        app([*name.split()[1:], "--help"], prog_name="suffice")
    shown = capsys.readouterr().out
    assert "Usage: suffice" in shown
    assert not re.search(r"<\w+|\[\[|list\[|TEXT|INTEGER|BOOLEAN", shown), shown


def test_private_words_are_noticed():
    tree = ast.parse('"""One label a row: a docstring."""\nraise ValueError(f"{n} rounds, one label a row")')
    assert [word for _, text in of(tree) for word in private(text)] == [
        "'rounds' (say 'iterations')",
        "'label a row' (say 'per')",
    ]
