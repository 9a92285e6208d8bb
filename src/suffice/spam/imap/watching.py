"""What a watch does in each folder: judge new mail, move spam and mail of buckets, learn from what the user moves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal

from suffice.spam.filter import SpamFilter
from suffice.spam.imap.connection import Connection, State
from suffice.spam.imap.events import Event
from suffice.spam.imap.folders import Folders
from suffice.spam.imap.place import FolderPlace, Known, Place
from suffice.spam.imap.session import DisconnectedError, RefusedError
from suffice.spam.isolation import UnreadableError, isolated, readable
from suffice.spam.message import digest, subject_of
from suffice.spam.plain import one_line
from suffice.spam.verdict import Verdict

#: a message that has broken the connection so many times is passed over
ATTEMPTS = 3
#: a subject is shown up to here
SUBJECT_SHOWN = 100
#: reading so many messages at the start is announced
MANY = 200


class Watch:
    """What is done in the folders of one account.

    Every step leaves the memory and the mail such that the next start finishes it: a message is learned before that is
    noted, which learning again does not change, and a move is noted before it is made.

    Parameters
    ----------
    spam_filter : SpamFilter
        Judges and learns.
    place : Place
        Remembers.
    folders : Folders
        Where.
    report : callable
        Is told every decision.
    train_existing : bool
        At the first start, learn what is in the folders: junk as spam, the inbox and folders for ham as ham, and those
        of buckets as mail of these.
    dry_run : bool
        Say what would be done, and do nothing.
    is_stopping : callable
        Asked after each message.
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
        """Look once into every folder."""
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
        """The UID up to which the inbox is done."""
        place = self._place.folder(self.folders.inbox)
        return 0 if place is None else place.uid

    def _visit(self, folder: str) -> None:
        is_inbox = folder == self.folders.inbox
        place = self._place.folder(folder)
        # the open folder needs to be opened again, the others only if there is something new
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
            self._report(Event("note", folder, text=f"reading what is there, {len(uids)} messages"))
        given_up = [uid for uid in uids if self._failures[folder, uid] >= ATTEMPTS]
        for uid in given_up:
            self._cannot_read(folder, uid)
        learned: Counter[str] = Counter()
        alone = any(self._failures[folder, uid] for uid in uids)
        left = [uid for uid in uids if uid not in given_up]
        for uid, raw in self._connection.bodies(folder, left, writing=writing, alone=alone):
            try:
                learned.update(self._take(folder, uid, raw, place))
            except UnreadableError as error:  # it stays where it is, and is not looked at again
                text = f"message {uid} is passed over: {error}"
                self._report(Event("failed", folder, label="error", subject=_subject(raw or b""), text=text))
                with self._place.transaction():
                    self._place.advance(folder, uid)
            if self._is_stopping():
                break
        else:
            with self._place.transaction():
                self._place.advance(folder, state.newest)
        for label, count in learned.items():
            text, bucket = f"what was there, {count} of {len(uids)}", self.folders.bucket_of(folder)
            event = Event("learned", folder, label=label, bucket=bucket, text=text, count=count, is_dry=self._dry_run)
            self._report(event)

    def _take(self, folder: str, uid: int, raw: bytes | None, place: FolderPlace) -> list[str]:
        """Do what there is to do about a message, and return what it was learned as if it was there before."""
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
        """Return how far a folder is done, which begins now if it is new, or its UIDs are."""
        if place is None or place.validity != state.validity:
            if place is not None:
                self._report(Event("note", folder, text="the server has numbered its messages anew; beginning anew"))
            self._place.begin(folder, state.validity, state.newest, is_source=folder == self.folders.inbox)
        begun = self._place.folder(folder)
        assert begun is not None
        # In the folders that messages are moved to, what was there has to be known, to notice that it comes back.
        if folder not in self.folders.held and not (self._train_existing and begun.first):
            return begun._replace(uid=max(begun.uid, begun.origin))
        return begun

    def _existing(self, folder: str, uid: int, raw: bytes, place: FolderPlace) -> list[str]:
        """Take note of a message that was there before the first start, and return what it was learned as."""
        identity = _identity(raw)
        known = self._place.known(identity)
        label: Literal["spam", "ham"] = "spam" if folder == self.folders.junk else "ham"
        is_held = known is not None and known.state in ("moving", "held")
        is_ours = is_held and known is not None and known.folder == folder
        # one that is also in a folder for spam, or was moved to this one by a verdict, says nothing
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
        """Take note of a message in a folder that messages are moved to; what the user put into Junk is spam.

        What the user put into the folder of a bucket is of this bucket.
        """
        identity = _identity(raw)
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
            self._place.put(_identity(raw), Known("returned", None, None, None))
            self._place.advance(folder, uid)

    def _judge(self, uid: int, raw: bytes) -> None:
        """Decide about a message that is new in the inbox."""
        inbox = self.folders.inbox
        identity = _identity(raw)
        known = self._place.known(identity)
        state = None if known is None else known.state
        if known is not None and state in ("moving", "held") and not self._is_held(identity, known):
            # what comes back from the folder of a bucket is of none
            self._learn(inbox, raw, "ham", None if self.folders.bucket_of(known.folder) is None else "")
            state = "returned"
        if state in ("left", "returned"):  # a message is judged once; the user has put it here
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
        """Return the folder that a message belongs to, or None for the inbox."""
        if label == "spam":
            return self.folders.junk
        # Where nothing speaks for either, as in a filter that has learned nothing yet, a message is not moved. Nor is
        # it copied about where a copy is all that the server can make.
        if label == "unsure" and verdict.evidence and self._connection.can_move:
            return self.folders.unsure
        return self.folders.buckets.get(bucket) if bucket and self._connection.can_move else None

    def _is_held(self, identity: bytes, known: Known) -> bool:
        """Return whether a message is still where it was moved to, so that the one in the inbox is another copy."""
        assert known.folder is not None
        try:
            if known.folder in self.folders.held:
                self._visit(known.folder)  # it may have arrived only now
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
        """Leave a message that cannot be moved."""
        with self._place.transaction():
            self._place.put(identity, Known("left", None, None, None))
        self._report(Event("failed", self.folders.inbox, subject=_subject(raw), text=text))

    def _finish_moves(self) -> None:
        """Finish what a start before this one, or a connection, began; Junk was looked into just now."""
        inbox = self.folders.inbox
        for identity, move in self._place.moving():
            assert move.source is not None
            if self._dry_run:
                continue
            if self._failures[inbox, move.source] >= ATTEMPTS:
                self._give_up(identity, f"the connection breaks whenever message {move.source} is moved")
                continue
            for _, raw in self._connection.bodies(inbox, [move.source], writing=True):
                if raw is not None and isolated(digest, raw) == identity.hex():
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
        self._report(Event("failed", folder, text=f"the server cannot give message {uid}, which is passed over"))


def _identity(raw: bytes) -> bytes:
    return bytes.fromhex(readable(digest, raw))


def _subject(raw: bytes) -> str:
    return one_line(subject_of(raw), SUBJECT_SHOWN)
