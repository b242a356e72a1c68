"""The operations of one signetd service."""

from __future__ import annotations

import base64
from os import PathLike
from typing import Callable, cast

from .api import (
    ChangePasswordRequest,
    ChangePasswordResponse,
    CheckKeyRequest,
    CheckKeyResponse,
    CreateCertificateRequest,
    CreateCertificateResponse,
    CreateDataZoneRequest,
    CreateDataZoneResponse,
    CreateImage2DDocRequest,
    CreateImage2DDocResponse,
    DigestToSign,
    RemotePreSignRequest,
    RemotePreSignResponse,
    RemoteSignRequest,
    RemoteSignResponse,
    RemoveKeyRequest,
    RemoveKeyResponse,
    RevokeCertificateRequest,
    RevokeCertificateResponse,
    SendMessageRequest,
    SendMessageResponse,
    SendOTPRequest,
    SendOTPResponse,
    SignatureValue,
    SignRequest,
    SignResponse,
)
from .connection import Connection, Repetition
from .file_store import FileStore


class SignetdClient:
    """The operations of one signetd service, for use from any number of threads.

    Each method takes the body of the request, as the OpenAPI document describes it, and returns that of the answer.
    Whatever is not a success is raised as a SignetdError.

    A request that gets no answer, or is refused for the moment, is sent again. Operations that must not be carried
    out twice have an ``Idempotency-Key`` then: a random one for each call, unless the caller gives one.

    base_url: such as ``https://signetd.example.org:8443``.
    certificate_authority: PEM file, the CA of the service's certificate.
    certificate, key: PEM files of the client; password: if the key is encrypted.
    timeout_seconds: time without a byte in either direction.
    repetitions_max: attempts beyond the first.
    pause_max_seconds: the longest ``Retry-After`` that is waited for.
    sign_root, doc2d_root, ftm_root: prefixes of the service's paths.
    """

    def __init__(
        self,
        base_url: str,
        *,
        certificate_authority: str | PathLike[str],
        certificate: str | PathLike[str],
        key: str | PathLike[str],
        password: str | None = None,
        timeout_seconds: float = 60,
        repetitions_max: int = 3,
        pause_max_seconds: float = 30,
        sign_root: str = "/sign",
        doc2d_root: str = "/doc2d",
        ftm_root: str = "/ftm",
    ) -> None:
        self._connection = Connection(
            base_url,
            certificate_authority=certificate_authority,
            certificate=certificate,
            key=key,
            password=password,
            timeout_seconds=timeout_seconds,
            repetitions_max=repetitions_max,
            pause_max_seconds=pause_max_seconds,
        )
        self._sign_root = sign_root
        self._doc2d_root = doc2d_root
        self.files = FileStore(self._connection, f"{ftm_root}/files")
        """The file transfer store."""

    def create_certificate(self, request: CreateCertificateRequest, idempotency_key: str | None = None) -> CreateCertificateResponse:
        """Makes a key on the token and a certificate for it. The secret of the key is only in this answer."""
        answer = self._connection.call(f"{self._sign_root}/pki/createCertificate", request, "with-key", idempotency_key)
        return cast(CreateCertificateResponse, answer)

    def revoke_certificate(self, request: RevokeCertificateRequest, idempotency_key: str | None = None) -> RevokeCertificateResponse:
        """Revokes a certificate, puts it on hold, or releases it."""
        answer = self._connection.call(f"{self._sign_root}/pki/revokeCertificate", request, "with-key", idempotency_key)
        return cast(RevokeCertificateResponse, answer)

    def send_otp(self, request: SendOTPRequest, idempotency_key: str | None = None) -> SendOTPResponse:
        """Makes a one-time password for one action with a key."""
        answer = self._connection.call(f"{self._sign_root}/pki/sendOTP", request, "with-key", idempotency_key)
        return cast(SendOTPResponse, answer)

    def send_message(self, request: SendMessageRequest, idempotency_key: str | None = None) -> SendMessageResponse:
        """Sends a text to a subscriber."""
        answer = self._connection.call(f"{self._sign_root}/pki/sendMessage", request, "with-key", idempotency_key)
        return cast(SendMessageResponse, answer)

    def change_password(self, request: ChangePasswordRequest) -> ChangePasswordResponse:
        """Changes the password of a key.

        It is not repeated without an answer: the change may have been made, and the old password would then count as
        a wrong one. check_key tells which one is right.
        """
        return cast(ChangePasswordResponse, self._connection.call(f"{self._sign_root}/pki/changePassword", request, "refused"))

    def check_key(self, request: CheckKeyRequest) -> CheckKeyResponse:
        """Returns the state of a key, and whether a secret is right.

        A wrong secret counts as a failed attempt: a request with one is not repeated without an answer.
        """
        key = request["keyReference"]
        repetition: Repetition = "refused" if "password" in key or "authToken" in key else "always"
        return cast(CheckKeyResponse, self._connection.call(f"{self._sign_root}/pki/checkKey", request, repetition))

    def remove_key(self, request: RemoveKeyRequest) -> RemoveKeyResponse:
        """Destroys the private key on the token.

        It is not repeated without an answer; check_key tells whether the key is removed.
        """
        return cast(RemoveKeyResponse, self._connection.call(f"{self._sign_root}/pki/removeKey", request, "refused"))

    def sign(self, request: SignRequest, idempotency_key: str | None = None) -> SignResponse:
        """Signs documents with a key of the service."""
        answer = self._connection.call(f"{self._sign_root}/signature/sign", request, "with-key", idempotency_key)
        return cast(SignResponse, answer)

    def remote_pre_sign(self, request: RemotePreSignRequest) -> RemotePreSignResponse:
        """Prepares a signature whose value is made elsewhere; sign_in_two_steps does both steps."""
        # A repetition opens another session; the first expires.
        return cast(RemotePreSignResponse, self._connection.call(f"{self._sign_root}/signature/remotePreSign", request, "always"))

    def remote_sign(self, request: RemoteSignRequest, idempotency_key: str | None = None) -> RemoteSignResponse:
        """Completes a signature with the values of the device."""
        answer = self._connection.call(f"{self._sign_root}/signature/remoteSign", request, "with-key", idempotency_key)
        return cast(RemoteSignResponse, answer)

    def sign_in_two_steps(
        self,
        request: RemotePreSignRequest,
        device: Callable[[DigestToSign], bytes],
        idempotency_key: str | None = None,
    ) -> RemoteSignResponse:
        """Signs with a key that is held elsewhere: prepares, has the device sign each digest, and completes.

        device: returns the signature value of one digest: RSA PKCS #1 or RSASSA-PSS, or ECDSA in DER or as r‖s.
        """
        prepared = self.remote_pre_sign(request)
        values: list[SignatureValue] = [
            {"id": digest["id"], "signatureValue": base64.b64encode(device(digest)).decode("ascii")}
            for digest in prepared["signerData"]["digest"]
        ]
        return self.remote_sign(
            {"signatureThreadId": prepared["signatureThreadId"], "signatureValues": {"signatureValueMapping": values}},
            idempotency_key,
        )

    def create_data_zone(self, request: CreateDataZoneRequest) -> CreateDataZoneResponse:
        """Makes a data zone of 2D-Doc of an XML source."""
        return cast(CreateDataZoneResponse, self._connection.call(f"{self._doc2d_root}/creator/createDataZone", request, "always"))

    def create_image_2ddoc(self, request: CreateImage2DDocRequest, idempotency_key: str | None = None) -> CreateImage2DDocResponse:
        """Makes the picture of a 2D-Doc code, and signs it first if asked to."""
        answer = self._connection.call(f"{self._doc2d_root}/creator/createImage2DDoc", request, "with-key", idempotency_key)
        return cast(CreateImage2DDocResponse, answer)

    def close(self) -> None:
        """Closes the connections that are kept open for further requests."""
        self._connection.close()

    def __enter__(self) -> SignetdClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
