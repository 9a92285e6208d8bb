"""A session with an IMAP server: connecting, encryption, login, and the translation of errors."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from suffice.spam.imap.account import Account
from suffice.spam.mailboxes import MESSAGE_LIMIT, MailboxError
from suffice.spam.plain import one_line

try:
    from imapclient import IMAPClient, SocketTimeout
    from imapclient.exceptions import (
        CapabilityError,
        IMAPClientAbortError,
        IMAPClientError,
        IMAPClientReadOnlyError,
        LoginError,
    )
except ImportError as missing:
    raise ImportError("reading IMAP needs imapclient; install it with: pip install 'suffice[spam]'") from missing

# errors are raised; additional log messages, such as on a non-ASCII name, should not go to standard error
logging.getLogger("imapclient").addHandler(logging.NullHandler())

#: time limits in seconds for connecting and for an answer
CONNECT_TIMEOUT, READ_TIMEOUT = 30.0, 60.0
#: limit of one piece of an answer in bytes; above that of a message, since servers may be wrong about its size
LITERAL_LIMIT = MESSAGE_LIMIT * 5 // 4
#: codes of a server that temporarily cannot log in anyone (RFC 5530)
_LATER = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]", "[SERVERBUG]")


class DisconnectedError(OSError):
    """The server could not be reached, closed the connection or sent nonsense; a later attempt may succeed."""


class RefusedError(MailboxError):
    """The server refused a command."""


@contextmanager
def explained(account: Account, doing: str, remedy: str = "") -> Iterator[None]:
    """Translate errors to DisconnectedError, after which a retry makes sense, or RefusedError."""
    host = f"{account.host}:{account.port}"
    try:
        yield
    except MailboxError:
        raise
    except ssl.SSLCertVerificationError as error:
        raise DisconnectedError(
            f"the certificate of {host} is not valid: {error.verify_message}; if it is self-signed, "
            "set SSL_CERT_FILE to it"
        ) from error
    except CapabilityError as error:
        raise RefusedError(f"{host} cannot do what is needed for {doing}: {error}{remedy}") from error
    except IMAPClientReadOnlyError as error:  # a subclass of abort, but the connection is still open
        raise RefusedError(f"{host} allows only reading a folder while {doing}: {_said(error)}") from error
    except (IMAPClientAbortError, OSError) as error:
        raise DisconnectedError(f"no connection to {host} ({doing}): {_said(error)}{remedy}") from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError) as error:
        # raised by the client for a malformed answer
        raise DisconnectedError(
            f"{host} gave an invalid answer while {doing}: {_said(error) or type(error).__name__}"
        ) from error
    except (IMAPClientError, ValueError) as error:
        raise RefusedError(f"{host} refused something while {doing}: {_said(error)}") from error


def _said(error: BaseException) -> str:
    return one_line(str(error), 500)


def logged_in(account: Account, password: str) -> IMAPClient:
    """Connect, with TLS as set in the account and the certificate verified, and log in.

    The password is sent by AUTHENTICATE PLAIN, which allows any character, if the server supports it, else by LOGIN.

    Raises
    ------
    DisconnectedError
        If the server cannot be reached, has no trusted certificate, or temporarily cannot log in anyone.
    MailboxError
        If it refuses the user or the password, or has no TLS.
    """
    context = None if account.security == "none" else ssl.create_default_context()
    encrypted = account.security == "tls"
    with explained(account, "connecting", "; check the host, the port, and whether the server uses TLS from the start"):
        timeout = SocketTimeout(CONNECT_TIMEOUT, READ_TIMEOUT)
        first = context if encrypted else None
        client = IMAPClient(account.host, account.port, ssl=encrypted, ssl_context=first, timeout=timeout)
        _limit_literals(client)
    try:
        if account.security == "starttls":
            with explained(account, "starting TLS", "; try TLS from the start, on port 993"):
                client.starttls(context)
        with explained(account, "logging in"):
            _login(client, account, password)
    except BaseException:
        with suppress(Exception):
            client.shutdown()
        raise
    return client


def _login(client: IMAPClient, account: Account, password: str) -> None:
    try:
        if client.has_capability("AUTH=PLAIN"):
            client.plain_login(account.user, password)
        else:
            client.login('"' + account.user.replace("\\", "\\\\").replace('"', '\\"') + '"', password)
    except LoginError as error:
        answer = _said(error)
        # in the state "AUTH" the login succeeded, but the next command of imaplib was not answered
        is_in = client._imap.state == "AUTH"
        if is_in or isinstance(error.__context__, IMAPClientAbortError) or any(code in answer for code in _LATER):
            raise IMAPClientAbortError(answer) from error
        raise MailboxError(
            f"{account.host} refused to log in {account.user!r}: {answer}; check the user and the password"
        ) from error


def _limit_literals(client: IMAPClient) -> None:
    """Limit the memory for one piece of an answer, since the server announces its length, which is then allocated."""
    read = client._imap.read

    def limited(size: int) -> bytes:
        if size > LITERAL_LIMIT:
            raise IMAPClientAbortError(f"an answer must have at most {LITERAL_LIMIT:,} bytes, but one of {size:,} came")
        found: bytes = read(size)
        return found

    client._imap.read = limited
