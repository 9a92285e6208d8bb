# The spam filter's daemon: spamc and clients of rspamd ask it on port 783.
#
#   docker build -t suffice-spam .
#   docker run -v suffice:/var/lib/suffice -v ~/Mail:/mail:ro suffice-spam train --spam /mail/Junk --ham /mail/INBOX
#   docker run -v suffice:/var/lib/suffice -p 127.0.0.1:783:783 suffice-spam
#
# Whoever reaches the port may ask: publish it on this machine only.
FROM python:3.13-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
COPY pyproject.toml setup.py LICENSE /source/
COPY docs/spam-mail.md /source/docs/
COPY tools/spam_package.py /source/tools/
COPY src /source/src
RUN python /source/tools/spam_package.py /package && pip wheel --no-cache-dir --wheel-dir /wheels /package

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels suffice-spam && rm -rf /wheels \
    && useradd --system --create-home --home-dir /var/lib/suffice --shell /usr/sbin/nologin suffice
USER suffice
ENV SUFFICE_SPAM_STORE=/var/lib/suffice/spam.sqlite
VOLUME /var/lib/suffice
EXPOSE 783
ENTRYPOINT ["suffice", "spam"]
CMD ["daemon", "--listen", "inet:783@0.0.0.0", "--allow-remote"]
