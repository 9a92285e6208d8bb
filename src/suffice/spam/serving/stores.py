"""Which store a message is scored with: the shared one, or that of its only recipient."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from suffice.spam.serving.private import held

# Neither can hold a separator, begin with a dot or be empty, so that neither can leave the folder of the pattern.
_USER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}", re.ASCII)
_DOMAIN = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?", re.ASCII)


@dataclass(frozen=True)
class Stores:
    """Finds the store for a recipient.

    Attributes
    ----------
    shared : path
        The store for messages with several recipients, and for recipients without a store of their own.
    pattern : str, optional
        Where the store of a recipient is, with {user} and, if wanted, {domain} in it.
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
        assert self.trusted  # as it is now: what is put there later may be a link

    @cached_property
    def trusted(self) -> Path:
        """The folder of the site that users' stores are below: links in its own path were put there by the site."""
        return Path(os.path.realpath(self._before))

    @property
    def _before(self) -> Path:
        """The part of the pattern before the first name in it that depends on the recipient."""
        return Path((self.pattern or os.sep).partition("{")[0] + "x").parent

    def of(self, recipient: bytes) -> Path:
        """Return the store for a recipient as it was given in SMTP; nothing that it holds can lead elsewhere.

        A recipient's own store is used if no part of its path below the folder of the site is a link, and all of that
        belongs to one owner.

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
        """Return where a recipient's own store would be; None where the pattern has no place for it."""
        if self.pattern is None:
            return None
        address = recipient.decode("latin-1").removeprefix("<").removesuffix(">")
        user, _, domain = address.rpartition("@")
        user = user.partition("+")[0]  # ann+lists@… is ann
        if not _USER.fullmatch(user) or not _DOMAIN.fullmatch(domain):
            return None
        names = {"{user}": user.lower(), "{domain}": domain.lower()}
        path = Path(re.sub(r"\{user\}|\{domain\}", lambda match: names[match[0]], self.pattern))
        return self.trusted / path.relative_to(self._before)
