"""Connections to one service, with mutual TLS."""

from __future__ import annotations

import http.client
import json
import os
import random
import select
import ssl
import time
import uuid
from pathlib import Path
from queue import Empty, Full, LifoQueue
from typing import Any, Callable, Iterable, Literal, Mapping, TypeVar
from urllib.parse import urlsplit

from .error import SignetdError, error_of_result, error_of_status

T = TypeVar("T")

Repetition = Literal["with-key", "always", "refused"]
"""When a request without an answer may be sent again.

``with-key``: with an ``Idempotency-Key``. ``always``: the operation changes nothing, or changes the same thing
again. ``refused``: only if the service has refused it before doing anything (429, 2/291).
"""


class Answer:
    """An answer whose body is read in parts; use it as a context manager, or read it to its end."""

    def __init__(self, response: http.client.HTTPResponse, connection: http.client.HTTPSConnection, keep: Callable[[http.client.HTTPSConnection], None]) -> None:
        self._response = response
        self._connection = connection
        self._keep = keep
        self.status = response.status
        self.headers = response.headers
        self.request_id = response.headers.get("X-Request-Id")

    @property
    def retry_after_seconds(self) -> float | None:
        value = self.headers.get("Retry-After", "")
        return float(value) if value.isdecimal() else None

    def read(self, max_bytes: int | None = None) -> bytes:
        """The rest of the body, or at most ``max_bytes`` of it; empty at its end."""
        try:
            part = self._response.read() if max_bytes is None else self._response.read(max_bytes)
        except (OSError, http.client.HTTPException) as fault:
            self._connection.close()
            raise SignetdError("NO_ANSWER", f"the answer ended early: {fault}") from fault
        return part

    def close(self) -> None:
        """Keeps the connection if the body was read to its end, and closes it otherwise."""
        if self._response.isclosed() and not self._response.will_close:
            self._keep(self._connection)
        else:
            self._connection.close()

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Connection:
    """Connections to one service, with mutual TLS. Threads may share one."""

    def __init__(
        self,
        base_url: str,
        *,
        certificate_authority: str | os.PathLike[str],
        certificate: str | os.PathLike[str],
        key: str | os.PathLike[str],
        password: str | None = None,
        timeout_seconds: float = 60,
        repetitions_max: int = 3,
        pause_max_seconds: float = 30,
    ) -> None:
        address = urlsplit(base_url)
        if address.scheme != "https" or address.hostname is None:
            raise ValueError("base_url must be an https URL")
        self._host = address.hostname
        self._port = address.port or 443
        self._timeout_seconds = timeout_seconds
        self._repetitions_max = repetitions_max
        self._pause_max_seconds = pause_max_seconds
        self._context = ssl.create_default_context(cafile=certificate_authority)
        self._context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._context.load_cert_chain(certificate, key, password)
        self._idle: LifoQueue[http.client.HTTPSConnection] = LifoQueue(maxsize=16)

    def call(
        self,
        path: str,
        body: Mapping[str, Any],
        repetition: Repetition,
        idempotency_key: str | None = None,
    ) -> Any:
        """Calls an operation and returns its answer; raises SignetdError unless it succeeded."""
        headers = {"Content-Type": "application/json"}
        if repetition == "with-key":
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()

        def attempt() -> Any:
            with self._exchange("POST", path, headers, content) as answer:
                said = answer.read()
                if answer.status != 200:
                    raise error_of_status(answer.status, said, answer.request_id, answer.retry_after_seconds)
                try:
                    read = json.loads(said)
                except ValueError:
                    # The parser's exception has the whole text, which may have the password of a new key.
                    raise SignetdError("UNKNOWN", "the answer is not JSON", status=200, request_id=answer.request_id) from None
                error = error_of_result(read, answer.request_id)
                if error is not None:
                    raise error
                return read

        return self._repeated(repetition, attempt)

    def send(self, path: str, content: bytes | Path | Iterable[bytes], headers: Mapping[str, str]) -> Any:
        """Sends a file, a part at a time. A path or bytes can be sent again, other content cannot."""
        if isinstance(content, Path):
            return self._repeated("refused", lambda: self._send_file(path, content, headers))
        if isinstance(content, bytes):
            return self._repeated("refused", lambda: self._sent(path, content, {**headers, "Content-Length": str(len(content))}))
        return self._sent(path, content, headers)

    def file(self, method: Literal["GET", "DELETE"], path: str) -> Answer:
        """GET or DELETE of a file; the caller reads the body and closes the answer."""

        def attempt() -> Answer:
            answer = self._exchange(method, path, {}, None)
            if answer.status in (200, 204):
                return answer
            with answer:
                raise error_of_status(answer.status, answer.read(), answer.request_id, answer.retry_after_seconds)

        return self._repeated("always", attempt)

    def close(self) -> None:
        """Closes the connections that are kept open."""
        while True:
            try:
                self._idle.get_nowait().close()
            except Empty:
                return

    def _send_file(self, path: str, file: Path, headers: Mapping[str, str]) -> Any:
        with file.open("rb") as opened:
            return self._sent(path, opened, {**headers, "Content-Length": str(os.fstat(opened.fileno()).st_size)})

    def _sent(self, path: str, content: Any, headers: Mapping[str, str]) -> Any:
        with self._exchange("POST", path, headers, content) as answer:
            said = answer.read()
            if answer.status != 201:
                raise error_of_status(answer.status, said, answer.request_id, answer.retry_after_seconds)
            return json.loads(said)

    def _repeated(self, repetition: Repetition, attempt: Callable[[], T]) -> T:
        repeated = 0
        while True:
            try:
                return attempt()
            except SignetdError as error:
                asked_seconds = error.retry_after_seconds or 0.0
                if repeated >= self._repetitions_max or asked_seconds > self._pause_max_seconds or not _may_repeat(error, repetition):
                    raise
                # Twice as long each time, and not all clients at once.
                time.sleep(asked_seconds + 0.1 * 2**repeated * (1 + random.random()))
                repeated += 1

    def _exchange(self, method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        connection = self._connection()
        try:
            return self._answer(connection, method, path, headers, body)
        except (OSError, http.client.HTTPException) as fault:
            connection.close()
            raise SignetdError("NO_ANSWER", f"no answer from {self._host}:{self._port}: {fault or type(fault).__name__}") from fault

    def _answer(self, connection: http.client.HTTPSConnection, method: str, path: str, headers: Mapping[str, str], body: Any) -> Answer:
        try:
            connection.request(method, path, body=body, headers=dict(headers))
        except (BrokenPipeError, ConnectionResetError):
            # The service may refuse a file before it has all of it, and its answer tells why.
            if body is None or isinstance(body, bytes) and len(body) < 65_536:
                raise
        return Answer(connection.getresponse(), connection, self._keep)

    def _connection(self) -> http.client.HTTPSConnection:
        while True:
            try:
                connection = self._idle.get_nowait()
            except Empty:
                return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_seconds, context=self._context)
            # The service says nothing of itself: a connection with something to read has been closed.
            if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                return connection
            connection.close()

    def _keep(self, connection: http.client.HTTPSConnection) -> None:
        try:
            self._idle.put_nowait(connection)
        except Full:
            connection.close()


def _may_repeat(error: SignetdError, repetition: Repetition) -> bool:
    """Whether the same request may be sent again after this failure."""
    # Nothing was done: too many requests, or the token was unavailable.
    if error.status == 429 or error.code == "2/291":
        return True
    # Something may have been done: the state store can fail in the middle of the work.
    return repetition != "refused" and (error.status == 503 or error.outcome == "NO_ANSWER")
