"""Templates of letters, which are text files beside this module, and the lists that fill their slots."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from importlib.resources import files


@dataclass(frozen=True)
class Letter:
    """A template: who writes, about what, and how it is made. All but the choices may hold slots.

    Attributes
    ----------
    sender, to, subject, text : str
        As a reader sees them; the first two with addresses.
    program : str
        What wrote it, a name of `envelopes.PROGRAMS`.
    form : str
        "plain", "alternative" (plain beside HTML), "html" alone, "image" (a picture alone), or "hidden" (HTML with text
        that is not shown).
    encoding : str
        How a text is sent: "7bit", "8bit", "quoted-printable" or "base64".
    link : str
        Where the HTML leads; plain text ends with it.
    hidden : str
        What the form "hidden" does not show.
    disguise : str
        What is done to words so that a program does not know them: "zero-width", "look-alike", "spaced" or nothing.
    attachment : str
        The name of a file that comes with it.
    """

    sender: str
    subject: str
    text: str
    to: str = "Clara Benning <clara@benning.example.org>"
    program: str = "desk"
    form: str = "plain"
    encoding: str = "7bit"
    link: str = ""
    hidden: str = ""
    disguise: str = ""
    attachment: str = ""


#: what the slots of templates are filled with
LISTS: dict[str, tuple[str, ...]] = {
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "tag": ("Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag"),
    "jour": ("lundi", "mardi", "mercredi", "jeudi", "samedi"),
    "time": ("9:15", "10:30", "11:00", "14:30", "16:45", "18:00"),
    "month": ("March", "April", "May", "June"),
    "price": ("12.40", "18.90", "27.50", "34.00", "46.75", "59.95"),
    "large": ("4,500,000", "850,000", "2,750,000", "12,000,000", "1,200,000"),
    "sum": ("389.00", "742.15", "1,290.00", "458.90", "2,164.30"),
    "number": ("20417", "31985", "48260", "57713", "60924", "73351", "86608"),
    "code": ("482913", "605724", "917350", "238461", "760195"),
    "percent": ("60", "70", "75", "80", "85"),
    "gain": ("300", "450", "900", "1200"),
    "dish": ("lentil soup", "plum cake", "mushroom risotto", "leek tart", "potato salad"),
    "book": ("The Salt Road", "A Map of Small Rivers", "Winter Orchards", "The Lamplighter's Atlas", "Nine Bridges"),
    "chapter": ("two", "four", "five", "seven", "nine"),
    "first": ("Alan", "Bertha", "Colin", "Dora", "Edwin", "Freda", "Godfrey", "Hester"),
    "last": ("Ashcombe", "Brindle", "Carraway", "Dunmore", "Eastlake", "Fenwick", "Garland"),
    # strangers are of all three domains, as friends are: a domain says nothing
    "host": ("mail4.example.net", "relay.example.com", "web-12.example.org", "out3.example.com", "s77.example.net"),
    "site": ("best-deal.example.com", "go.example.net", "click-here.example.org", "offer24.example.net"),
    # and what comes later comes from other places
    "new_host": ("mta9.example.org", "smtp.example.net", "v22.example.com", "cloud.example.org", "post8.example.net"),
    "new_site": ("top-value.example.org", "visit.example.com", "shop24.example.net", "now.example.com"),
    "user": ("info", "office", "contact", "service", "team", "desk"),
}


class Slots(dict[str, str]):
    """Slots that are filled when a template asks for them, and stay the same within a letter."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self._rng = rng

    def __missing__(self, name: str) -> str:
        self[name] = self._rng.choice(LISTS[name])
        return self[name]


def letters(name: str) -> list[Letter]:
    """Return the templates of a file such as "ham-taught": blocks behind lines of "=====", with headers and a text."""
    content = (files("suffice.spam.demo") / f"{name}.txt").read_text(encoding="utf-8")
    return [_letter(block) for block in content.split("\n=====\n")[1:]]


def filled(letter: Letter, rng: random.Random) -> Letter:
    """Return a letter with its slots filled."""
    slots = Slots(rng)
    return Letter(**{field.name: getattr(letter, field.name).format_map(slots) for field in fields(letter)})


def _letter(block: str) -> Letter:
    head, _, text = block.partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.strip().split("\n"))
    values = {("sender" if name == "From" else name.lower()): value for name, value in headers.items()}
    return Letter(text=text.strip("\n"), **values)
