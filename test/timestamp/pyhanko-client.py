"""Asks a time-stamp authority with pyHanko and validates the token. Arguments: URL, PEM file of the root, hash."""

import asyncio
import hashlib
import sys

from asn1crypto import pem, x509
from pyhanko.sign.timestamps import HTTPTimeStamper
from pyhanko.sign.validation.generic_cms import validate_tst_signed_data
from pyhanko_certvalidator import ValidationContext


def certificate(path):
    with open(path, "rb") as file:
        _, _, der = pem.unarmor(file.read())
    return x509.Certificate.load(der)


async def main(url, root, hash_name):
    token = await HTTPTimeStamper(url).async_timestamp(hashlib.new(hash_name, b"a document").digest(), hash_name)
    context = ValidationContext(trust_roots=[certificate(root)], allow_fetching=False)
    status = await validate_tst_signed_data(token["content"], context, lambda name: hashlib.new(name, b"a document").digest())
    print("intact" if status["intact"] else "broken", "valid" if status["valid"] else "invalid", status["trust_problem_indic"])


asyncio.run(main(*sys.argv[1:4]))
