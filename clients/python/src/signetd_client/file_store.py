"""The file transfer store of the client's tenant: big documents are sent and fetched in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Iterable, Iterator, TypedDict
from urllib.parse import quote, unquote

from .connection import Answer, Connection

PART_BYTES = 1 << 20


class StoredFile(TypedDict):
    """A file of the store, as requests name it in ``FTMData``."""

    fileID: str
    fileSize: int


class Download:
    """Content of a stored file. Use it as a context manager: the connection is in use until it is closed."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.size_bytes = int(answer.headers["Content-Length"])
        self.media_type = answer.headers.get("Content-Type", "application/octet-stream")
        name = answer.headers.get("X-File-Name")
        self.file_name = None if name is None else unquote(name)

    def read(self, max_bytes: int | None = None) -> bytes:
        """The rest of the content, or at most ``max_bytes`` of it; empty at its end."""
        return self._answer.read(max_bytes)

    def __iter__(self) -> Iterator[bytes]:
        while part := self.read(PART_BYTES):
            yield part

    def save(self, path: Path) -> None:
        """Writes the content to a file, which must not exist."""
        with path.open("xb") as file:
            for part in self:
                file.write(part)

    def close(self) -> None:
        self._answer.close()

    def __enter__(self) -> Download:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileStore:
    """The file transfer store."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection = connection
        self._path = path

    def upload(
        self,
        content: bytes | Path | Iterable[bytes],
        *,
        media_type: str = "application/octet-stream",
        file_name: str | None = None,
    ) -> StoredFile:
        """Stores a file: bytes, a file of this machine, or parts of unknown number."""
        headers = {"Content-Type": media_type}
        if file_name is not None:
            headers["X-File-Name"] = quote(file_name, safe="")
        stored = self._connection.send(self._path, content, headers)
        return {"fileID": stored["fileID"], "fileSize": stored["fileSize"]}

    def download(self, file_id: str) -> Download:
        """Fetches a file."""
        return Download(self._connection.file("GET", f"{self._path}/{quote(file_id, safe='')}"))

    def delete(self, file_id: str) -> None:
        """Deletes a file before it expires."""
        with self._connection.file("DELETE", f"{self._path}/{quote(file_id, safe='')}") as answer:
            answer.read()
