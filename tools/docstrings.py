"""python tools/docstrings.py: check the docstrings of all public names by numpydoc's rules; exit status 1 if some fail.

It reads the docstrings of the imported package, because those of estimators are completed when their class is made
(`suffice.estimators.settings`). A method is checked where it is first defined: what overrides it is documented there.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from numpydoc.validate import validate

import suffice

MODULES = ("suffice", "suffice.dropin", "suffice.spam")
#: a parameter is documented, exists, has a type and a meaning; what is returned or yielded is said; layout of sections
RULES = ("GL06", "GL07", "GL10", "SS03", "PR01", "PR02", "PR04", "PR05", "PR06", "PR07", "PR10", "RT01", "RT03", "YD01")

#: the methods of a family that a user calls; the others are its formulas, for who adds a family (docs/extending.md)
OF_FAMILIES = ("fit", "posterior")


def public() -> Iterator[tuple[str, Any]]:
    """Yield every public class and function, and the public methods that they define, each once."""
    seen = set()
    for module in MODULES:
        for name in import_module(module).__all__:
            found = getattr(import_module(module), name)
            if not (inspect.isclass(found) or inspect.isfunction(found)) or found in seen:
                continue
            seen.add(found)
            yield f"{module}.{name}", found
            if inspect.isclass(found):
                for owner, method in methods(found):
                    if (owner, method) not in seen:
                        seen.add((owner, method))
                        yield f"{owner.__module__}.{owner.__qualname__}.{method}", owner.__dict__[method]


def methods(cls: type) -> Iterator[tuple[type, str]]:
    """Yield the public methods of a class, each with the class of the library that defines it first."""
    for name in sorted(dir(cls)):
        owners = [base for base in cls.__mro__ if name in vars(base) and base.__module__.startswith("suffice.")]
        if owners and not name.startswith("_") and (name in OF_FAMILIES or not issubclass(cls, suffice.Family)):
            method = inspect.unwrap(getattr(vars(owners[-1])[name], "__func__", vars(owners[-1])[name]))
            if inspect.isfunction(method):
                yield owners[-1], name


def faults(name: str, found: Any) -> Iterator[str]:
    """Yield what is wrong with the docstring of a public name."""
    doc = inspect.getdoc(found) or ""
    summary = doc.partition("\n\n")[0]
    for rule, message in validate(name)["errors"]:
        if rule == "RT01" and re.search(r"\breturn\b", summary, flags=re.IGNORECASE):
            continue  # "Return the sum of each row, (n,)." says what is returned
        if rule == "YD01" and inspect.signature(found).return_annotation == "Iterator[None]":
            continue  # a context manager
        if rule == "PR01" and inspect.isclass(found) and documented_as_attributes(doc, found):
            continue
        if rule in RULES:
            yield f"{name}: {rule} {message}"


def documented_as_attributes(doc: str, cls: type) -> bool:
    """Return whether all parameters of a class are described as its attributes, as those of a result are."""
    section = doc.partition("Attributes\n----------\n")[2]
    named = re.findall(r"^(\w[\w, ]*) :", section, flags=re.MULTILINE)
    return set(inspect.signature(cls).parameters) <= {name for names in named for name in names.split(", ")}


if __name__ == "__main__":
    wrong = [fault for name, found in public() for fault in faults(name, found)]
    print(*wrong, sep="\n")
    print(f"{len(wrong)} faults in the docstrings of {sum(1 for _ in public())} public names")
    sys.exit(bool(wrong))
