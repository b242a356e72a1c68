"""What schemathesis needs to know of this service, and have of it.

A file of the transfer store is downloaded with the media type that it was uploaded with, and need not be what that says. Some readers of
schemathesis (YAML, XML) fail in a way that it does not expect, and the thread that tries an operation ends: then nothing more is tried.
"""

import atexit
import base64
import collections
import hashlib
import json
import os
import random

import requests
import schemathesis
from schemathesis.core import deserialization


def lenient(read):
    def read_or_refuse(context, response):
        try:
            return read(context, response)
        except Exception as error:
            raise ValueError(f"not what its media type says: {error}") from error

    return read_or_refuse


for media_type, read in list(deserialization._DESERIALIZERS.items()):
    deserialization.register_deserializer(lenient(read), media_type)


# Of the Cloud Signature Consortium's methods, half of the requests get a credential of the service, its PIN, and activation data for their
# hashes, whatever else was generated for them: made up ones alone would only ever be refused.
BASE, CREDENTIAL, PIN = (os.environ.get(f"SIGNETD_CSC_{name}", "") for name in ("BASE", "CREDENTIAL", "PIN"))
RSA_SHA256, SHA256 = "1.2.840.113549.1.1.11", "2.16.840.1.101.3.4.2.1"
DOCUMENT = b"Signed in Paris."
client = requests.Session()
client.trust_env = False
client.verify = os.environ.get("SIGNETD_CSC_CA")
client.cert = (os.environ.get("SIGNETD_CSC_CERTIFICATE"), os.environ.get("SIGNETD_CSC_KEY"))
answers = collections.Counter()


def base64_sha256(content):
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def activation_data(hashes):
    asked = {"credentialID": CREDENTIAL, "numSignatures": len(hashes), "hashes": hashes, "authData": [{"id": "PIN", "value": PIN}]}
    return client.post(f"{BASE}/v2/credentials/authorize", json=asked).json().get("SAD")


def right_values(version, method):
    """The values of the parameters that must be right for a success."""
    hashes = [base64_sha256(os.urandom(8)) for _ in range(random.randint(1, 3))]
    list_name = "hash" if version == "v1" else "hashes"
    oid_name = "hashAlgo" if version == "v1" else "hashAlgorithmOID"
    if method == "timestamp":
        return {"hash": hashes[0], "hashAlgo": SHA256}
    values = {"credentialID": CREDENTIAL}
    if method == "authorize":
        values |= {"numSignatures": len(hashes), list_name: hashes}
        return values | ({"PIN": PIN} if version == "v1" else {"authData": [{"id": "PIN", "value": PIN}], oid_name: SHA256})
    if method == "extendTransaction":
        return values | {list_name: hashes, "SAD": activation_data(hashes)} | ({} if version == "v1" else {oid_name: SHA256})
    if method == "signHash":
        return values | {list_name: hashes, "SAD": activation_data(hashes), "signAlgo": RSA_SHA256, oid_name: SHA256}
    if method == "signDoc":
        document = {"document": base64.b64encode(DOCUMENT).decode(), "signature_format": "C", "signAlgo": RSA_SHA256}
        return values | {"SAD": activation_data([base64_sha256(DOCUMENT)]), "documents": [document]}
    return values


# Optional, and right only beside other values.
DROPPED = {"OTP", "signAlgoParams", "userID", "pageToken", "documentDigests"}


@schemathesis.hook
def before_call(context, case, kwargs):
    _, root, version, *method = case.operation.path.split("/")
    if root != "csc" or not CREDENTIAL or not isinstance(case.body, dict) or random.random() < 0.5:
        return
    right = right_values(version, method[-1])
    named = {name: value for name, value in right.items() if name in case.body or method[-1] not in ("info", "list")}
    case.body = {name: value for name, value in case.body.items() if name not in DROPPED} | named


@schemathesis.hook
def after_call(context, case, response):
    if case.operation.path.startswith("/csc/"):
        answers[f"{case.operation.path} {response.status_code}"] += 1


@atexit.register
def tell():
    if answers:
        print("answers of the Cloud Signature Consortium's methods:", json.dumps(dict(sorted(answers.items())), indent=1))
