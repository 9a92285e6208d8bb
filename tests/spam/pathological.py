"""Kinds of messages that are made to cost time, each a function of its size in bytes."""

import base64
import codecs
import encodings.aliases
import quopri

HEAD = b"From: a@example.org\nSubject: x\n"
HTML = HEAD + b"Content-Type: text/html\n\n"
INNER = b"Content-Type: message/rfc822\n\n"


def filled(unit, size):
    """Return a unit repeated up to a size."""
    return (unit * (size // len(unit) + 1))[:size]


def of(before, unit, after=b""):
    """Make a kind of message in which a unit is repeated."""
    return lambda size: before + filled(unit, size) + after


def header(name, unit, after=b""):
    """Make a kind of message in which a header repeats a unit, and goes on in the headers of attached messages."""

    def make(size):
        line = name + b": " + filled(unit, min(size // 4, 60_000)) + after + b"\n"
        return line + attached(line, 3 * size // 4)

    return make


def attached(lines, size, boundary=b"b"):
    """Return parts that are messages with these headers, up to a size."""
    part = b"--" + boundary + b"\n" + INNER + lines + b"\nx\n"
    count = max(1, size // len(part))
    return b"Content-Type: multipart/mixed; boundary=" + boundary + b"\n\n" + part * count + b"--" + boundary + b"--\n"


def lines(*names):
    """Make a kind of message with many short headers of these names, within attached messages too."""

    def make(size):
        some = b"".join(b"%b: v%d\n" % (name, number) for number in range(30) for name in names)
        return some + attached(some, size)

    return make


def nested(size, depth=None):
    """Return a tree of multiparts."""
    depth = depth or size // 60
    opening = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (i, i) for i in range(depth))
    return HEAD + opening[:size] + b"\nx"


def encoded(before, encode, unit):
    return lambda size: before + encode(filled(unit, size * 3 // 4))


def charset(name, unit):
    return of(HEAD + b"Content-Type: text/plain; charset=" + name.encode() + b"\n\n", unit)


def url_encoded(raw):
    return b"".join(b"%%%02x" % byte for byte in raw)


KINDS = {
    # the text
    "words": of(HEAD + b"\n", b"some words of a letter "),
    "one word": of(HEAD + b"\n", b"a"),
    "digits": of(HEAD + b"\n", b"1"),
    "one digit each": of(HEAD + b"\n", b"1 "),
    "one letter each": of(HEAD + b"\n", b"a b "),
    "spaced letters": of(HEAD + b"\n", b"f.r.e.e."),
    "spaced by turns": of(HEAD + b"\n", b"a b.c d-e_f "),
    "almost spaced": of(HEAD + b"\n", b"a.b.c.dd"),
    "dotted word": of(HEAD + b"\n", b"a."),
    "apostrophes": of(HEAD + b"\n", b"a'b-c,"),
    "exclamations": of(HEAD + b"\n", b"a!"),
    "only signs": of(HEAD + b"\n", b"!$%+-"),
    "spaces": of(HEAD + b"\n", b" "),
    "tabs": of(HEAD + b"\n", b"\t"),
    "empty lines": of(HEAD + b"\n", b"\n"),
    "carriage returns": of(HEAD + b"\n", b"\r"),
    "line ends by turns": of(HEAD + b"\n", b"\r\n\n\r"),
    "null bytes": of(HEAD + b"\n", b"\0"),
    "high bytes": of(HEAD + b"\n", b"\xff\xfe\x81"),
    "long words": of(HEAD + b"\n", b"a" * 300 + b" "),
    "distinct words": lambda size: HEAD + b"\n" + b" ".join(b"%x" % (i * 2654435761) for i in range(size // 12)),
    "dollars": of(HEAD + b"\n", b"$"),
    "disguises": of(HEAD + b"\n", b"v1@gr@ "),
    "underscores": of(HEAD + b"\n", b"_"),
    # other alphabets
    "zero width": of(HEAD + b"\n", "a\u200b".encode()),
    "combining marks": of(HEAD + b"\n", "\u0301\u0323".encode()),
    "marks to sort": of(HEAD + b"\n", "a\u0301\u0327\u0323\u0345".encode()),
    "expanding": of(HEAD + b"\n", "\ufdfa".encode()),
    "ligatures": of(HEAD + b"\n", "\ufb03".encode()),
    "ideographs": of(HEAD + b"\n", "漢字".encode()),
    "jamo": of(HEAD + b"\n", "\u1100\u1161\u11a8".encode()),
    "look-alikes": of(HEAD + b"\n", "vi\u0430gra ".encode()),
    "one word of two alphabets": of(HEAD + b"\n", "a\u0430".encode()),
    "right to left": of(HEAD + b"\n", "\u202e\u05d0".encode()),
    "full width": of(HEAD + b"\n", "ｆｒｅｅ".encode()),
    "emoji": of(HEAD + b"\n", "👩‍👩‍👧".encode()),
    "euro signs": of(HEAD + b"\n", "€a".encode()),
    "thai": of(HEAD + b"\n", "กำ".encode()),
    # links
    "links": of(HEAD + b"\n", b"http://www.example.com/a "),
    "one link": of(HEAD + b"\nhttp://", b"a/"),
    "www": of(HEAD + b"\n", b"www."),
    "schemes": of(HEAD + b"\n", b"http:"),
    "slashes": of(HEAD + b"\nhttp:", b"/"),
    "users": of(HEAD + b"\nhttp://", b"a@"),
    "escapes in links": of(HEAD + b"\nhttp://a/", b"%41"),
    "distinct links": lambda size: HEAD + b"\n" + b" ".join(b"http://%x.example/" % i for i in range(size // 22)),
    "mailto": of(HTML, b"<a href=mailto:a@b.example>"),
    # HTML
    "openings": of(HTML, b"<"),
    "closings": of(HTML, b"</b>"),
    "unclosed tag": of(HTML + b"<a ", b"x"),
    "unclosed tags": of(HTML, b"<a x"),
    "tags": of(HTML, b"<b>x</b>"),
    "deep tags": of(HTML, b"<div>"),
    "deep styles": of(HTML, b"<div style='color:red;background:blue'>"),
    "deep styles, closed": lambda size: HTML
    + b"".join(b"<i%d style=display:none>" % i for i in range(120))
    + filled(b"</x>", size),
    "closed in another order": of(HTML, b"<b style='background:#111'><i style='background:#222'></b></i>"),
    "unclosed comment": of(HTML + b"<!--", b"x -"),
    "comments": of(HTML, b"<!--x-->"),
    "comment openings": of(HTML, b"<!--"),
    "comment in comment": of(HTML, b"<!-- <!-- --"),
    "declarations": of(HTML, b"<!x"),
    "unclosed script": of(HTML, b"<script>"),
    "scripts": of(HTML, b"<script></script>"),
    "styles": of(HTML, b"<style></style"),
    "almost closed styles": of(HTML + b"<style>", b"</styl"),
    "attributes": of(HTML + b"<p ", b"a=b ", b">x"),
    "attribute of spaces": of(HTML + b"<p href", b" ", b"=x>"),
    "hrefs": of(HTML + b"<p ", b"href ", b">x"),
    "hrefs with values": of(HTML + b"<p ", b"href=x ", b">x"),
    "style of spaces": of(HTML + b"<p style='display", b" ", b":none'>x"),
    "colours": of(HTML + b"<p style='", b"color:rgb(1,1,1);", b"'>x"),
    "colour of digits": of(HTML + b"<p style='color:rgb(", b"1", b")'>x"),
    "backgrounds": of(HTML + b"<p style='", b"background:#fff;", b"'>x"),
    "font sizes": of(HTML + b"<p style='", b"font-size:0", b"'>x"),
    "zero size": of(HTML + b"<p style='font-size:", b"0", b"'>x"),
    "opacities": of(HTML + b"<p style='", b"opacity:0.", b"'>x"),
    "hidden": of(HTML + b"<p ", b"hidden ", b">x"),
    "hidden words": of(HTML + b"<p hidden>", b"words "),
    "images": of(HTML, b"<img src=http://a.example/b.gif>"),
    # character references
    "references": of(HTML, b"&amp;"),
    "ampersands": of(HTML, b"&"),
    "decimal reference": of(HTML + b"&#", b"9"),
    "zeros in a reference": of(HTML + b"&#", b"0"),
    "hexadecimal reference": of(HTML + b"&#x", b"f"),
    "references by number": of(HTML, b"&#97;"),
    "long references": of(HTML, b"&#00000000097;"),
    "unfinished references": of(HTML, b"&#"),
    "names of no character": of(HTML, b"&notanentityofanylengthatallwhatsoever"),
    "spaces by reference": of(HTML + b"a", b"&#32;", b"b"),
    "line ends by reference": of(HTML + b"a", b"&#10;&#32;", b"b"),
    "tabs by reference": of(HTML + b"a", b"&#9;&#9;&#10;x", b"b"),
    # headers
    "labels of 63 letters": header(b"Received", b"a" * 63 + b"."),
    "labels of one letter": header(b"Received", b"a."),
    "labels of 64 and a dash": header(b"Received", b"a" * 64 + b"-."),
    "hosts": header(b"Received", b"from mail.example.org by mx.example.com "),
    "numbers of hosts": header(b"Received", b"1.2.3.4."),
    "one label": header(b"Received", b"a"),
    "dots": header(b"Received", b"."),
    "addresses": header(b"To", b"a@b.example, "),
    "one local part": header(b"From", b"a"),
    "local parts": header(b"From", b"a" * 70 + b"@"),
    "ats": header(b"To", b"@"),
    "domains": header(b"Cc", b"a@" + b"b." * 20),
    "domain of long labels": header(b"Reply-To", b"a@" + b"b" * 63 + b"."),
    "angles": header(b"From", b"<"),
    "quotes": header(b"From", b'" '),
    "quotes and angles": header(b"From", b'"<'),
    "spaces in a sender": header(b"From", b" ", b"x"),
    "spaces of encoded words": header(b"From", b"=?utf-8?q?____________________?= "),
    "spaces and a quote": header(b"From", b"=?utf-8?q?__________?= ", b'"'),
    "spaces before an angle": header(b"From", b" ", b'" <'),
    "subject": header(b"Subject", b"word "),
    "encoded words": header(b"Subject", b"=?utf-8?q?a?= "),
    "unfinished encoded words": header(b"Subject", b"=?utf-8?q?a"),
    "long encoded word": header(b"Subject", b"=?utf-8?q?" + b"a" * 1990),
    "encoded words of base64": header(b"Subject", b"=?utf-8?b?" + b"QUJD" * 100 + b"?= "),
    "question marks": header(b"Subject", b"=?"),
    "folds": header(b"Subject", b"a\n "),
    "folds of spaces": header(b"Subject", b"\n" + b" " * 500),
    "spaces of a fold": header(b"Subject", b" ", b"x"),
    "message ids": header(b"Message-ID", b"<a@b>"),
    "dates": header(b"Date", b"Mon, 1 Jan 2024 00:00:00 +0000 "),
    "mailers": header(b"X-Mailer", b"Mail 1.0 "),
    "boundary of spaces": header(b"Content-Type", b"; boundary = "),
    "parameters": header(b"Content-Type", b"; a=b"),
    "parameters of spaces": header(b"Content-Type", b";  "),
    "file names": header(b"Content-Disposition", b"; filename=a%20b"),
    "short headers": lines(b"A", b"X-Long"),
    "subjects": lines(b"Subject"),
    "senders": lines(b"From", b"To", b"Reply-To"),
    "stamps": lines(b"X-Suffice-Status", b"X-Spam-Status"),
    "stamp of folds": of(b"X-Suffice-Status: a", b"\n b", b"\n\nx"),
    "stamp of returns": of(b"X-Suffice-Status: a", b"\r b", b"\n\nx"),
    "stamps by turns": of(b"", b"X-Suffice-a\nb\r", b"\n\nx"),
    "no header": of(b"", b"a" * 99),
    "header without end": of(b"A: ", b"x: y\n"),
    "colons": of(b"", b":"),
    "header names": of(b"", b"a" * 50 + b":\n", b"\n\nx"),
    "From lines": of(b"", b"From a\n"),
    # MIME
    "multiparts": nested,
    "parts": lambda size: HEAD + attached(b"A: b\n", size),
    "empty parts": of(HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n", b"--b\n"),
    "closed parts": of(HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n", b"--b--\n"),
    "no boundaries": of(HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n", b"--c\n"),
    "long boundaries": of(HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n", b"--" + b"c" * 500 + b"\n"),
    "dashes": of(HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n", b"-"),
    "boundaries of dashes": of(HEAD + b"Content-Type: multipart/mixed; boundary=--\n\n", b"----\n"),
    "boundary of spaces, used": of(HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n--b", b" ", b"\nx"),
    "messages in messages": of(HEAD, INNER),
    "messages with a subject": of(HEAD, b"Subject: s\n" + INNER),
    "message types without end": of(HEAD, b"Content-Type: message/rfc822\n"),
    "alternatives": of(
        HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n",
        b"--b\nContent-Type: text/html\n\n<p>x\n--b\nContent-Type: multipart/alternative; boundary=c\n\n--c\n",
    ),
    "same boundary": of(HEAD, b"Content-Type: multipart/mixed; boundary=b\n\n--b\n"),
    # transfer encodings
    "base64": encoded(HEAD + b"Content-Transfer-Encoding: base64\n\n", base64.encodebytes, b"words and "),
    "equals signs": of(HEAD + b"Content-Transfer-Encoding: base64\n\n", b"="),
    "base64 ends": of(HEAD + b"Content-Transfer-Encoding: base64\n\n", b"QQ=="),
    "no base64": of(HEAD + b"Content-Transfer-Encoding: base64\n\n", b"*"),
    "base64 of HTML": encoded(
        HEAD + b"Content-Type: text/html\nContent-Transfer-Encoding: base64\n\n", base64.encodebytes, b"<b"
    ),
    "quoted": encoded(HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n", quopri.encodestring, b"\xc3\xa9 "),
    "soft line ends": of(HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n", b"=\n"),
    "almost quoted": of(HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n", b"=3"),
    "spaces at line ends": of(HEAD + b"Content-Transfer-Encoding: quoted-printable\n\n", b" " * 200 + b"\n"),
    "uuencoded": of(HEAD + b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n", b"%:&5L;&\\\n"),
    "begins": of(HEAD + b"Content-Transfer-Encoding: x-uuencode\n\n", b"begin "),
    "attachment": of(HEAD + b"Content-Type: application/pdf; name=a.pdf\n\n", b"%PDF"),
    # character sets that keep a state
    "utf-7": charset("utf-7", b"+AGEA-"),
    "unfinished utf-7": charset("utf-7", b"+"),
    "utf-16": charset("utf-16", b"a\0"),
    "utf-32": charset("utf-32", b"a\0\0\0"),
    "iso-2022": charset("iso-2022-jp", b"\x1b$B$\"\x1b(B"),
    "escapes of iso-2022": charset("iso-2022-jp-2", b"\x1b$(D"),
    "hz": charset("hz", b"~{<:~}"),
    "half characters": charset("gb18030", b"\x81"),
    "big5": charset("big5-hkscs", b"\x88\x62\x88"),
    "shift-jis": charset("shift_jis_2004", b"\x81"),
    "johab": charset("johab", b"\xd8"),
    "punycode": charset("punycode", b"a-b"),
    "idna": charset("idna", b"xn--a."),
    "escapes of Python": charset("unicode_escape", b"\\N{DASH}"),
}  # fmt: skip


def codecs_of_mail():
    """Return the names of all codecs that there are."""
    found = set()
    for name in sorted(set(encodings.aliases.aliases.values())):
        try:
            found.add(codecs.lookup(name).name)
        except LookupError:
            continue
    return sorted(found)


KINDS |= {f"charset {name}": charset(name, b"\xe9\x81\x40~+\x1b") for name in codecs_of_mail()}
