"""Hosts and addresses in the values of headers, found in time linear in the text.

A regular expression that tries every length of every label takes thousands of steps per character on an adversarial
text. Here the text is split into runs of letters once, and only the surroundings of a dot or an @ are examined.
"""

from __future__ import annotations

import re
from itertools import accumulate

#: limits: length of a label of a host, length of the local part of an address, number of labels of a host
LABEL, LOCAL, LABELS = 64, 64, 10

_RUN = re.compile(r"[\w.-]+")
_TOP = re.compile(r"[a-z]{2,20}|\d{1,3}")
_DOMAIN = re.compile(r"@[\w-]{1,64}+(?:\.[\w-]{1,64}+){0,8}+")
_LOCAL_REVERSED = re.compile(r"[\w.+=&'-]+")


def hosts(text: str) -> list[str]:
    """Return the names and numeric addresses of hosts in a text in lower case.

    A host has 2 to 10 labels of up to 64 characters, the last of which is of 2 to 20 letters or 1 to 3 digits.

    Examples
    --------
    >>> from suffice.spam.names import hosts
    >>> hosts("from mail.example.org (unknown [192.0.2.1]) by mx-1.example.com with smtp")
    ['mail.example.org', '192.0.2.1', 'mx-1.example.com']
    """
    found = []
    for run in _RUN.findall(text):
        if "." not in run:
            continue
        labels = run.split(".")
        if len(run) <= LABEL and len(labels) <= LABELS and all(labels) and _TOP.fullmatch(labels[-1]):
            found.append(run)
        else:
            found += _hosts_of(labels)
    return found


def _hosts_of(labels: list[str]) -> list[str]:
    """Return the hosts in a run of labels, from the left, each as long as possible."""
    count = len(labels)
    # for each position, the index of the last label up to it that can end a host
    tops = [place if _TOP.fullmatch(label) else -1 for place, label in enumerate(labels)]
    last_top = list(accumulate(tops, max))
    # for each position, the index of the first label from there on that cannot be part of a host
    end = [count] * (count + 1)
    for place in range(count - 1, -1, -1):
        end[place] = end[place + 1] if 0 < len(labels[place]) <= LABEL else place
    found = []
    first = 0
    while first < count - 1:
        last = last_top[min(first + LABELS, end[first + 1], count) - 1]
        if labels[first] and last > first:
            found.append(".".join([labels[first][-LABEL:], *labels[first + 1 : last + 1]]))
            first = last
        first += 1
    return found


def addresses(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each address in a text.

    Examples
    --------
    >>> from suffice.spam.names import addresses
    >>> text = "Ann <ann@example.org>, bob@example.net"
    >>> [text[start:end] for start, end in addresses(text)]
    ['ann@example.org', 'bob@example.net']
    """
    found = []
    before = 0
    for domain in _DOMAIN.finditer(text):
        at = domain.start()
        local = _LOCAL_REVERSED.match(text[max(before, at - LOCAL) : at][::-1])
        if local:
            before = domain.end()
            found.append((at - local.end(), before))
    return found
