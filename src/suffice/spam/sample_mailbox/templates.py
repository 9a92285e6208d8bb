"""Templates of messages, in text files beside this module, and the lists that fill their slots."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from importlib.resources import files


@dataclass(frozen=True)
class Template:
    """A template of a message: sender, subject, text and format. All attributes except the choices may hold slots.

    Attributes
    ----------
    sender, to, subject, text : str
        As shown to a reader; the first two with addresses.
    program : str
        The mail program that wrote it, a name of `envelopes.PROGRAMS`.
    form : str
        "plain", "alternative" (plain and HTML), "html" only, "image" (a picture only), or "hidden" (HTML with hidden
        text).
    encoding : str
        The transfer encoding: "7bit", "8bit", "quoted-printable" or "base64".
    link : str
        The target of the link in HTML; plain text ends with it.
    hidden : str
        The hidden text of the form "hidden".
    disguise : str
        How words are disguised from programs: "zero-width", "look-alike", "spaced" or "".
    attachment : str
        The name of an attached file.
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


#: values for the slots of templates
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
    # strangers use all three domains, as friends do, so that the domain is no evidence
    "host": ("mail4.example.net", "relay.example.com", "web-12.example.org", "out3.example.com", "s77.example.net"),
    "site": ("best-deal.example.com", "go.example.net", "click-here.example.org", "offer24.example.net"),
    # messages that arrive later come from other hosts
    "new_host": ("mta9.example.org", "smtp.example.net", "v22.example.com", "cloud.example.org", "post8.example.net"),
    "new_site": ("top-value.example.org", "visit.example.com", "shop24.example.net", "now.example.com"),
    "user": ("info", "office", "contact", "service", "team", "desk"),
}


class Slots(dict[str, str]):
    """Slots that are filled on first use, and keep their value within a message."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__()
        self._rng = rng

    def __missing__(self, name: str) -> str:
        self[name] = self._rng.choice(LISTS[name])
        return self[name]


def templates(name: str) -> list[Template]:
    """Return the templates of a file such as "ham-taught": blocks after lines of "=====", with headers and a text."""
    content = (files("suffice.spam.sample_mailbox") / f"{name}.txt").read_text(encoding="utf-8")
    return [_template(block) for block in content.split("\n=====\n")[1:]]


def filled(template: Template, rng: random.Random) -> Template:
    """Return a template with its slots filled."""
    slots = Slots(rng)
    return Template(**{field.name: getattr(template, field.name).format_map(slots) for field in fields(template)})


def _template(block: str) -> Template:
    head, _, text = block.partition("\n\n")
    headers = dict(line.split(": ", 1) for line in head.strip().split("\n"))
    values = {("sender" if name == "From" else name.lower()): value for name, value in headers.items()}
    return Template(text=text.strip("\n"), **values)
