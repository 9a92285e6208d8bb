"""The work of a watch per folder: judge new mail, move spam and mail of buckets, learn from moves by the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

from suffice.spam.filter import SpamFilter
from suffice.spam.headers import subject_of
from suffice.spam.imap.connection import Connection, State
from suffice.spam.imap.events import Event
from suffice.spam.imap.folders import Folders
from suffice.spam.imap.place import FolderPlace, Known, Place
from suffice.spam.imap.session import DisconnectedError, RefusedError
from suffice.spam.isolation import UnreadableError, isolated, readable
from suffice.spam.message import identity as identity_of
from suffice.spam.plain import one_line
from suffice.spam.verdict import Verdict

#: number of broken connections after which a message is skipped
ATTEMPTS = 3
#: limit of characters shown of a subject
SUBJECT_SHOWN = 100
#: number of messages from which reading existing mail is announced
MANY = 200


class Watch:
    """The watch on the folders of one account.

    An interruption at any step can be completed at the next start: a message is learned before that is recorded, and
    learning it again changes nothing; a move is recorded before it is made.

    Parameters
    ----------
    spam_filter : SpamFilter
        The filter that judges and learns.
    place : Place
        The stored progress.
    folders : Folders
        The folders to watch.
    report : callable
        Called with an event for every decision.
    train_existing : bool
        At the first start, learn the messages in the folders: junk as spam, the inbox and folders for ham as ham, and
        folders of buckets as mail of these buckets.
    dry_run : bool
        Only report what would be done.
    is_stopping : callable
        Called after each message; the watch stops if it returns True.
    """

    def __init__(
        self,
        spam_filter: SpamFilter,
        place: Place,
        folders: Folders,
        report: Callable[[Event], object],
        *,
        train_existing: bool = False,
        dry_run: bool = False,
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.folders = folders
        self._filter = spam_filter
        self._place = place
        self._report = report
        self._train_existing = train_existing
        self._dry_run = dry_run
        self._is_stopping = is_stopping
        self._failures: Counter[tuple[str, int]] = Counter()

    def look(self, connection: Connection) -> None:
        """Check every folder once."""
        self._connection = connection
        for folder in self.folders.all:
            if self._is_stopping():
                return
            try:
                self._visit(folder)
            except DisconnectedError:
                self._failures.update(connection.fetching)
                raise

    @property
    def newest(self) -> int:
        """The UID up to which the inbox is processed."""
        place = self._place.folder(self.folders.inbox)
        return 0 if place is None else place.uid

    def _visit(self, folder: str) -> None:
        is_inbox = folder == self.folders.inbox
        place = self._place.folder(folder)
        # the inbox is always reopened, other folders only if there is something new
        if not is_inbox and place is not None and place.uid >= place.origin:
            state = self._connection.status(folder)
            if state.validity == place.validity and state.newest <= place.uid:
                return
        writing = is_inbox and not self._dry_run
        state = self._connection.select(folder, writing=writing)
        place = self._begun(folder, state, place)
        if is_inbox:
            self._finish_moves()
        uids = self._connection.uids(folder, after=place.uid)
        if sum(uid <= place.origin for uid in uids) >= MANY:
            self._report(Event("note", folder, text=f"reading the existing {len(uids)} messages"))
        given_up = [uid for uid in uids if self._failures[folder, uid] >= ATTEMPTS]
        for uid in given_up:
            self._cannot_read(folder, uid)
        learned: Counter[str] = Counter()
        alone = any(self._failures[folder, uid] for uid in uids)
        left = [uid for uid in uids if uid not in given_up]
        for uid, raw in self._connection.bodies(folder, left, writing=writing, alone=alone):
            try:
                learned.update(self._take(folder, uid, raw, place))
            except UnreadableError as error:  # it stays in its folder, and is not read again
                text = f"message {uid} is skipped: {error}"
                self._report(Event("failed", folder, label="error", subject=_subject(raw or b""), text=text))
                with self._place.transaction():
                    self._place.advance(folder, uid)
            if self._is_stopping():
                break
        else:
            with self._place.transaction():
                self._place.advance(folder, state.newest)
        for label, count in learned.items():
            text, bucket = f"existing messages, {count} of {len(uids)}", self.folders.bucket_of(folder)
            event = Event("learned", folder, label=label, bucket=bucket, text=text, count=count, is_dry=self._dry_run)
            self._report(event)

    def _take(self, folder: str, uid: int, raw: bytes | None, place: FolderPlace) -> list[str]:
        """Process a message, and return the class that it was learned as if it was there before the first start."""
        if raw is None:
            self._cannot_read(folder, uid)
            return []
        if uid <= place.origin:
            return self._existing(folder, uid, raw, place)
        if folder == self.folders.inbox:
            self._judge(uid, raw)
        elif folder in self.folders.held:
            self._arrive(folder, uid, raw)
        else:
            self._filed(folder, uid, raw)
        return []

    def _begun(self, folder: str, state: State, place: FolderPlace | None) -> FolderPlace:
        """Return the progress in a folder, which starts now if the folder is new or its UIDVALIDITY has changed."""
        if place is None or place.validity != state.validity:
            if place is not None:
                self._report(Event("note", folder, text="the server has renumbered its messages; starting over"))
            self._place.begin(folder, state.validity, state.newest, is_source=folder == self.folders.inbox)
        begun = self._place.folder(folder)
        assert begun is not None
        # In folders that messages are moved to, existing messages must be read, to notice when the user moves them
        # back.
        if folder not in self.folders.held and not (self._train_existing and begun.first):
            return begun._replace(uid=max(begun.uid, begun.origin))
        return begun

    def _existing(self, folder: str, uid: int, raw: bytes, place: FolderPlace) -> list[str]:
        """Record a message that was there before the first start, and return the class it was learned as, if any."""
        identity = readable(identity_of, raw)
        known = self._place.known(identity)
        label: Literal["spam", "ham"] = "spam" if folder == self.folders.junk else "ham"
        is_held = known is not None and known.state in ("moving", "held")
        is_ours = is_held and known is not None and known.folder == folder
        # a message that is also in a folder for spam, or was moved here by a verdict, is not evidence
        learn = self._train_existing and place.first and not is_held and folder != self.folders.unsure
        bucket = self.folders.bucket_of(folder)
        learned: list[str] = [label] if learn and self._train(raw, label, bucket) else []
        with self._place.transaction():
            if folder in self.folders.held and known is not None and is_ours:
                self._place.put(identity, known._replace(uid=uid))
            elif folder in self.folders.held:
                self._place.put(identity, Known("held", folder, uid, None))
            self._place.advance(folder, uid)
        return learned

    def _arrive(self, folder: str, uid: int, raw: bytes) -> None:
        """Record a message in a folder that messages are moved to; learn it as spam if the user moved it to Junk.

        A message that the user moved to the folder of a bucket is learned as mail of this bucket.
        """
        identity = readable(identity_of, raw)
        known = self._place.known(identity)
        moved = known is not None and known.state in ("moving", "held") and known.folder == folder and known.uid is None
        if not moved and folder == self.folders.junk:
            self._learn(folder, raw, "spam")
        elif not moved and (bucket := self.folders.bucket_of(folder)) is not None:
            self._learn(folder, raw, "ham", bucket)
        with self._place.transaction():
            if moved and known is not None:
                self._place.put(identity, known._replace(uid=uid))
            else:
                self._place.put(identity, Known("held", folder, uid, None))
            self._place.advance(folder, uid)

    def _filed(self, folder: str, uid: int, raw: bytes) -> None:
        """Learn a message that the user filed as ham."""
        self._learn(folder, raw, "ham")
        with self._place.transaction():
            self._place.put(readable(identity_of, raw), Known("returned", None, None, None))
            self._place.advance(folder, uid)

    def _judge(self, uid: int, raw: bytes) -> None:
        """Judge a new message in the inbox, and move it or leave it there."""
        inbox = self.folders.inbox
        identity = readable(identity_of, raw)
        known = self._place.known(identity)
        state = None if known is None else known.state
        if known is not None and state in ("moving", "held") and not self._is_held(identity, known):
            # a message that comes back from the folder of a bucket is removed from the bucket
            self._learn(inbox, raw, "ham", None if self.folders.bucket_of(known.folder) is None else "")
            state = "returned"
        if state in ("left", "returned"):  # each message is judged only once; now the user has put it here
            after = Known("returned" if state == "returned" else "left", None, None, None)
        else:
            label = self._filter.label_of(raw)
            verdict = self._filter.score(raw)
            if verdict.label == "error":
                raise UnreadableError(verdict.problem)
            said = verdict.label if label is None else label
            bucket = self._filter.buckets.of(raw) or verdict.bucket if said == "ham" else ""
            target = self._target(said, verdict, bucket)
            text = f"by the list, {verdict.listed}" if verdict.listed and label is None else ""
            if target is not None and not self._dry_run:
                self._move(identity, uid, target, raw, said, verdict.probability, text, bucket)
                return
            kind: Literal["left", "moved"] = "left" if target is None else "moved"
            self._decided(kind, raw, said, verdict.probability, target, text, bucket)
            after = Known("left", None, None, None)
        with self._place.transaction():
            self._place.put(identity, after)
            self._place.advance(inbox, uid)

    def _target(self, label: str, verdict: Verdict, bucket: str) -> str | None:
        """Return the folder that a message should be moved to, or None for the inbox."""
        if label == "spam":
            return self.folders.junk
        # Without any evidence, as in a filter that has learned nothing yet, a message is not moved, nor if the server
        # can only copy.
        if label == "unsure" and verdict.evidence and self._connection.can_move:
            return self.folders.unsure
        return self.folders.buckets.get(bucket) if bucket and self._connection.can_move else None

    def _is_held(self, identity: bytes, known: Known) -> bool:
        """Return whether a message is still in the folder it was moved to, so that the one in the inbox is a copy."""
        assert known.folder is not None
        try:
            if known.folder in self.folders.held:
                self._visit(known.folder)  # it may have arrived there only now
            now = self._place.known(identity)
            return now is not None and now.uid is not None and self._connection.has(known.folder, now.uid)
        except RefusedError:  # the folder is gone
            return False

    def _move(
        self,
        identity: bytes,
        uid: int,
        target: str,
        raw: bytes,
        label: str | None,
        probability: float | None,
        text: str,
        bucket: str,
    ) -> None:
        with self._place.transaction():
            self._place.put(identity, Known("moving", target, None, uid))
            self._place.advance(self.folders.inbox, uid)
        self._carry_out(identity, Known("moving", target, None, uid), raw, label, probability, text, bucket)

    def _carry_out(
        self,
        identity: bytes,
        move: Known,
        raw: bytes,
        label: str | None = None,
        probability: float | None = None,
        text: str = "",
        bucket: str = "",
    ) -> None:
        assert move.folder is not None
        assert move.source is not None
        try:
            self._connection.move(self.folders.inbox, move.source, move.folder, is_copied=move.uid is not None)
        except DisconnectedError:
            self._failures[self.folders.inbox, move.source] += 1
            raise
        except RefusedError as error:
            self._give_up(identity, str(error), raw)
            return
        with self._place.transaction():
            self._place.put(identity, Known("held", move.folder, move.uid, None))
        kind: Literal["moved", "copied"] = "moved" if self._connection.can_move else "copied"
        self._decided(kind, raw, label, probability, move.folder, text, bucket)

    def _give_up(self, identity: bytes, text: str, raw: bytes = b"") -> None:
        """Record a message that cannot be moved as left in the inbox."""
        with self._place.transaction():
            self._place.put(identity, Known("left", None, None, None))
        self._report(Event("failed", self.folders.inbox, subject=_subject(raw), text=text))

    def _finish_moves(self) -> None:
        """Finish the moves of an earlier run or connection; Junk has just been checked."""
        inbox = self.folders.inbox
        for identity, move in self._place.moving():
            assert move.source is not None
            if self._dry_run:
                continue
            if self._failures[inbox, move.source] >= ATTEMPTS:
                self._give_up(identity, f"the connection breaks whenever message {move.source} is moved")
                continue
            for _, raw in self._connection.bodies(inbox, [move.source], writing=True):
                if raw is not None and isolated(identity_of, raw) == identity:
                    self._carry_out(identity, move, raw)
                    break
            else:
                with self._place.transaction():
                    self._place.put(identity, Known("held", move.folder, move.uid, None))

    def _train(self, raw: bytes, label: Literal["spam", "ham"], bucket: str | None) -> bool:
        if not self._dry_run:
            return self._filter.train(raw, label, bucket=bucket)
        return self._filter.label_of(raw) != label or bucket not in (None, self._filter.buckets.of(raw))

    def _learn(self, folder: str, raw: bytes, label: Literal["spam", "ham"], bucket: str | None = None) -> None:
        if self._train(raw, label, bucket):
            event = Event("learned", folder, label=label, bucket=bucket, subject=_subject(raw), is_dry=self._dry_run)
            self._report(event)

    def _decided(
        self,
        kind: Literal["left", "moved", "copied"],
        raw: bytes,
        label: str | None,
        probability: float | None,
        target: str | None,
        text: str,
        bucket: str,
    ) -> None:
        self._report(
            Event(
                kind,
                self.folders.inbox,
                label=label,
                probability=probability,
                subject=_subject(raw),
                to=target,
                text=text,
                bucket=bucket or None,
                is_dry=self._dry_run,
            )
        )

    def _cannot_read(self, folder: str, uid: int) -> None:
        self._report(Event("failed", folder, text=f"the server cannot give message {uid}, which is skipped"))


def _subject(raw: bytes) -> str:
    return one_line(subject_of(raw), SUBJECT_SHOWN)
