"""Signs PDFs with pyHanko's CSCSigner. Arguments: quickstart.json; the tasks are JSON on standard input, a list.

Writes one line of JSON for each task, with what pyHanko finds of each signature.
"""

import asyncio
import json
import ssl
import sys
from pathlib import Path

import aiohttp
from asn1crypto import pem, x509
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign import fields, signers
from pyhanko.sign.signers import csc_signer
from pyhanko.sign.timestamps import HTTPTimeStamper
from pyhanko.sign.validation import async_validate_pdf_signature
from pyhanko.sign.validation.dss import DocumentSecurityStore
from pyhanko_certvalidator import ValidationContext

QUICKSTART = json.loads(Path(sys.argv[1]).read_text())
ROOTS = [x509.Certificate.load(pem.unarmor(Path(file).read_bytes())[2]) for file in QUICKSTART["trustAnchors"]]
OTP_SECONDS = 60


class Manager(csc_signer.CSCAuthorizationManager):
    """Has each transaction authorised by the PIN, by a one-time password from the outbox, or by both."""

    def __init__(self, session, service, credential, task):
        super().__init__(service, credential)
        self.session = session
        self.task = task
        self.transactions = 0

    async def call(self, method, request):
        url = self.csc_session_info.endpoint_url(method)
        async with self.session.post(url, json=request, headers=self.auth_headers) as answer:
            if answer.status >= 300:
                raise RuntimeError(f"{method}: {answer.status} {await answer.text()}")
            return await answer.json() if answer.status == 200 else None

    async def authorize_signature(self, hash_b64s):
        self.transactions += 1
        otp = await self.one_time_password() if "email" in self.task else None
        request = self.format_csc_auth_request(pin=self.task.get("pin"), otp=otp, hash_b64s=hash_b64s)
        return self.parse_csc_auth_response(await self.call("credentials/authorize", request))

    async def one_time_password(self):
        before = set(messages(self.task["email"]))
        await self.call("credentials/sendOTP", {"credentialID": self.csc_session_info.credential_id})
        async with asyncio.timeout(OTP_SECONDS):
            while True:
                new = [text for path, text in messages(self.task["email"]).items() if path not in before]
                if new:
                    return next(word for word in new[0].replace(".", " ").split() if word.isdigit() and len(word) == 8)
                await asyncio.sleep(0.02)


def messages(address):
    found = {}
    for path in Path(QUICKSTART["outboxDirectory"]).glob("*.json"):
        message = json.loads(path.read_text())
        if message["to"] == address:
            found[path] = message["text"]
    return found


def metadata(task):
    more = {}
    if task["level"] == "LT":
        context = ValidationContext(trust_roots=ROOTS, allow_fetching=True)
        more = {"embed_validation_info": True, "validation_context": context}
    return signers.PdfSignatureMetadata(
        field_name="Signature",
        md_algorithm=task["hash"],
        subfilter=fields.SigSeedSubFilter.PADES,
        **more,
    )


async def sign(task):
    tls = ssl.create_default_context(cafile=QUICKSTART["caCertificate"])
    client = QUICKSTART["clients"][task["client"]]
    tls.load_cert_chain(client["certificate"], client["key"])
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
        service = csc_signer.CSCServiceSessionInfo(
            QUICKSTART["baseUrl"], task["credentialID"], oauth_token=task.get("oauthToken")
        )
        credential = await csc_signer.fetch_certs_in_csc_credential(session, service)
        manager = Manager(session, service, credential, task)
        files = task["files"]
        signer = csc_signer.CSCSigner(session, manager, prefer_pss=task["pss"], batch_size=len(files))
        stamper = None if task["level"] == "B" else HTTPTimeStamper(QUICKSTART["timestampUrl"])

        async def one(file):
            with open(file, "r+b") as pdf:
                writer = IncrementalPdfFileWriter(pdf)
                await signers.async_sign_pdf(writer, metadata(task), signer, timestamper=stamper, in_place=True)

        await asyncio.gather(*map(one, files))
    findings = [await finding(file, task["level"]) for file in files]
    return {"transactions": manager.transactions, "findings": findings}


async def finding(file, level):
    """What pyHanko's own validation finds; of level LT, with the revocation data of the file alone."""
    with open(file, "rb") as pdf:
        reader = PdfFileReader(pdf)
        [signature] = reader.embedded_regular_signatures
        strict = {"trust_roots": ROOTS, "allow_fetching": level != "LT", "revocation_mode": "hard-fail"}
        store = DocumentSecurityStore.read_dss(reader) if level == "LT" else None
        context = ValidationContext(**strict) if store is None else store.as_validation_context(strict)
        status = await async_validate_pdf_signature(signature, context)
        stamp = status.timestamp_validity
        return {
            "accepted": status.bottom_line,
            "stamped": stamp is not None and stamp.valid and stamp.intact and stamp.trusted,
            "mechanism": status.pkcs7_signature_mechanism,
        }


async def main():
    for task in json.load(sys.stdin):
        print(json.dumps(await sign(task)), flush=True)


asyncio.run(main())
