"""The error of a failed request."""

from __future__ import annotations

import json
import re
from typing import Any, Mapping

from .result_names import RESULT_NAMES


class SignetdError(Exception):
    """A request that failed: the service refused it, or there was no answer.

    outcome: name of the result code (``ACTIVATION_FAILED``), ``HTTP_403`` for a problem document,
        ``NO_ANSWER`` if the connection failed or the time was up.
    code: ``major/minor`` of a result object, such as ``2/202``; None for a problem of HTTP.
    pointer: JSON Pointer (RFC 6901) of the member of the request that is at fault.
    status: status of the HTTP answer; None if there was none.
    request_id: ``X-Request-Id`` of the answer: finds the request in the logs of the service.
    retry_after_seconds: when the service asks to be called again (``Retry-After``).
    answer: the answer, as far as it could be read.
    """

    def __init__(
        self,
        outcome: str,
        message: str,
        *,
        code: str | None = None,
        pointer: str | None = None,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_seconds: float | None = None,
        answer: object = None,
    ) -> None:
        super().__init__(message)
        self.outcome = outcome
        self.code = code
        self.pointer = pointer
        self.status = status
        self.request_id = request_id
        self.retry_after_seconds = retry_after_seconds
        self.answer = answer


def error_of_result(answer: Mapping[str, Any], request_id: str | None) -> SignetdError | None:
    """The error of an answer with status 200, or None if it reports a success."""
    result = answer.get("result")
    if not isinstance(result, dict):
        return SignetdError("UNKNOWN", "the answer has no result", status=200, request_id=request_id, answer=answer)
    major = result.get("majorCode", result.get("resultMajor"))
    minor = result.get("minorCode", result.get("resultMinor"))
    if major == 0:
        return None
    code = f"{major}/{minor}"
    text = str(result.get("message", result.get("resultMessage", "")))
    located = re.fullmatch(r"(/\S*?): (.*)", text, re.DOTALL)
    pointer, message = (located[1], located[2]) if located else (None, text)
    return SignetdError(
        RESULT_NAMES.get(code, "UNKNOWN"),
        f"{code} {message}",
        code=code,
        pointer=pointer,
        status=200,
        request_id=request_id,
        answer=answer,
    )


def error_of_status(status: int, body: bytes, request_id: str | None, retry_after_seconds: float | None) -> SignetdError:
    """The error of an answer with another status than expected: a problem document (RFC 9457), or anything else."""
    problem: dict[str, Any] = {}
    try:
        read = json.loads(body)
        if isinstance(read, dict):
            problem = read
    except ValueError:
        pass  # A proxy between client and service may have answered.
    code = f"{problem['resultMajor']}/{problem['resultMinor']}" if {"resultMajor", "resultMinor"} <= problem.keys() else None
    return SignetdError(
        f"HTTP_{status}",
        f"{status} {problem.get('detail', problem.get('title', 'unexpected answer'))}",
        code=code,
        status=status,
        request_id=request_id,
        retry_after_seconds=retry_after_seconds,
        answer=problem or body,
    )
