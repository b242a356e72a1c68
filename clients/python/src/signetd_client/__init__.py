"""Client of the signetd API."""

from .client import SignetdClient
from .error import SignetdError
from .file_store import Download, FileStore, StoredFile

__all__ = ["Download", "FileStore", "SignetdClient", "SignetdError", "StoredFile"]
