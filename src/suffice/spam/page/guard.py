"""Access control of the page, checked before any page is made, and the content security policy.

- The Host header must be ours, which prevents DNS rebinding.
- All pages are under a random path and need a cookie of that path, which the secret address printed at the start sets.
  Another user of the machine knows neither; and since cookies do not distinguish ports, the path also keeps the cookie
  from servers on other ports.
- Requests from pages of other sites are refused, and a POST must carry a token that only our pages hold.
- The content security policy allows only our own scripts and styles, nothing inline, and no address but ours.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 16_384
#: limit of form fields; a page of the list has fifty messages that may be selected
FIELD_LIMIT = 70
COOKIE = "suffice-spam"
TOKEN_FIELD, TOKEN_HEADER = "token", "x-suffice-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_REFUSED = "This page is for the person who started it: open the address that `suffice spam serve` printed.\n"
# Not a redirect: it would count as a request by the linking page, and strict cookies would not be sent.
_ENTER = (
    '<!doctype html><meta http-equiv="refresh" content="0;url={0}/"><title>Suffice</title>'
    '<link rel="icon" href="{0}/static/icon.svg"><a href="{0}/">Continue</a>'
)


def _secret() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Keys:
    """The secrets of one process."""

    key: str = field(default_factory=_secret)
    session: str = field(default_factory=_secret)
    token: str = field(default_factory=_secret)
    path: str = field(default_factory=lambda: "/" + secrets.token_urlsafe(16))


class Guard:
    """A wrapper of the application with checks; the body of an accepted request is under `form` in the scope.

    It holds the last value of each field; the numbers of all selected messages are under `picked`.
    """

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        self._app, self._keys = app, keys
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] == "http":
            answer = await self._refusal(scope, receive) or self._app
            await answer(scope, receive, send_with_headers)

    async def _refusal(self, scope: Scope, receive: Receive) -> Response | None:
        """Return the answer to a request that is refused; None if it may reach the application."""
        headers = Headers(scope=scope)
        if headers.getlist("host") not in [[host] for host in self._hosts]:
            return _refuse("the Host header is not this server's")
        if scope["path"] == "/" and scope["method"] == "GET":
            given = QueryParams(scope["query_string"]).get("key", "")
            return self._enter() if _same(given, self._keys.key) else _refuse()
        if not (scope["path"] + "/").startswith(self._keys.path + "/"):
            return _refuse()
        if not _has_cookie(headers, self._keys.session):
            return _refuse()
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return _refuse("the request comes from another site")
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return _refuse("only GET and POST are answered", 405)
        return await self._post_refusal(scope, receive, headers)

    async def _post_refusal(self, scope: Scope, receive: Receive, headers: Headers) -> Response | None:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        ours = f"http://{headers['host']}"
        # Without a referrer, browsers send the origin "null" for a form; then only the fetch metadata identify it.
        foreign = origin not in (None, "null", ours)
        if foreign or (origin != ours and site != "same-origin"):
            return _refuse("the request comes from another origin")
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":  # the number of a message may lack its last digit
                return _refuse("the form is incomplete", 400)
            body += message.get("body", b"")
            if len(body) > BODY_LIMIT:
                return _refuse("the form is too large", 413)
            if not message.get("more_body"):
                break
        try:
            fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=FIELD_LIMIT)
        except ValueError:
            return _refuse("the form has too many fields", 413)
        scope["form"] = {name: values[-1] for name, values in fields.items()}
        scope["picked"] = fields.get("number", [])
        given = headers.get(TOKEN_HEADER) or scope["form"].get(TOKEN_FIELD, "")
        return (
            None
            if _same(given, self._keys.token)
            else _refuse("the token of the form is missing or outdated; reload the page")
        )

    def _enter(self) -> Response:
        response = HTMLResponse(_ENTER.format(self._keys.path))
        response.set_cookie(COOKIE, self._keys.session, path=self._keys.path, httponly=True, samesite="strict")
        return response


def _refuse(reason: str = "", status: int = 403) -> Response:
    return PlainTextResponse(f"{reason[:1].upper()}{reason[1:]}.\n" if reason else _REFUSED, status)


def _has_cookie(headers: Headers, session: str) -> bool:
    # other servers on this host may set cookies of the same name, which must not hide ours
    pairs = (pair.partition("=") for pair in headers.get("cookie", "").split(";"))
    return any(_same(value.strip(), session) for name, _, value in pairs if name.strip() == COOKIE)


def _same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode("utf-8", "replace"), secret.encode())
