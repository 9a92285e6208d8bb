"""The choice of the store for a message: the shared one, or that of its only recipient."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from suffice.spam.serving.private import held

# Neither can hold a path separator, begin with a dot or be empty, so the path stays in the folder of the pattern.
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", re.ASCII)
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class Stores:
    """The rule for the store of a recipient.

    Attributes
    ----------
    shared : path
        The store for messages with several recipients, and for recipients without a store of their own.
    pattern : str, optional
        Path of a recipient's store, with the placeholders {user} and optionally {domain}.
    """

    shared: Path
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.pattern is None:
            return
        if "{user}" not in self.pattern or not os.path.isabs(self.pattern):
            raise ValueError(
                f"the pattern for stores of users must be an absolute path with {{user}} in it, but it is "
                f"{self.pattern!r}; give one such as /var/lib/suffice/{{domain}}/{{user}}.sqlite"
            )
        assert self.trusted  # resolved now: links created later must not change it

    @cached_property
    def trusted(self) -> Path:
        """The site's folder that contains the users' stores; links in its own path were created by the site."""
        return Path(os.path.realpath(self._before))

    @property
    def _before(self) -> Path:
        """The folder in the pattern above the first name that depends on the recipient."""
        return Path((self.pattern or os.sep).partition("{")[0] + "x").parent

    def of(self, recipient: bytes) -> Path:
        """Return the store for a recipient as given in SMTP, whose text cannot lead to another folder.

        A recipient's own store is used if no part of its path below the site's folder is a link, and all parts have the
        same owner.

        Examples
        --------
        >>> from pathlib import Path
        >>> from suffice.spam.serving.stores import Stores
        >>> print(Stores(Path("/shared"), "/users/{user}").of(b"<../ann@example.org>"))
        /shared
        """
        path = self.own(recipient)
        if path is None:
            return self.shared
        with held(path, self.trusted) as store:
            return self.shared if store is None else path

    def own(self, recipient: bytes) -> Path | None:
        """Return the path of a recipient's own store; None if there is no pattern or the recipient does not fit it."""
        if self.pattern is None:
            return None
        address = recipient.decode("latin-1").removeprefix("<").removesuffix(">")
        user, _, domain = address.rpartition("@")
        user = user.partition("+")[0]  # ann+lists@… belongs to ann
        if not _USER.fullmatch(user) or not _DOMAIN.fullmatch(domain):
            return None
        names = {"{user}": user.lower(), "{domain}": domain.lower()}
        path = Path(re.sub(r"\{user\}|\{domain\}", lambda match: names[match[0]], self.pattern))
        return self.trusted / path.relative_to(self._before)
