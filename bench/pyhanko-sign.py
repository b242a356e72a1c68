"""Signs a PDF with pyHanko and a key on a token, some times; prints figures as JSON. Arguments: module, token, PIN file, label, certificate, PDF, rounds."""
import json
import os
import sys
import time
from pathlib import Path

from pyhanko.keys import load_cert_from_pemder
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.config.pkcs11 import TokenCriteria
from pyhanko.sign import signers
from pyhanko.sign.fields import SigSeedSubFilter
from pyhanko.sign.pkcs11 import PKCS11Signer, open_pkcs11_session

module, token, pin_file, label, certificate, pdf, rounds = sys.argv[1:]
session = open_pkcs11_session(module, token_criteria=TokenCriteria(label=token), user_pin=Path(pin_file).read_text().strip())
signer = PKCS11Signer(session, key_label=label, use_raw_mechanism=True, signing_cert=load_cert_from_pemder(certificate))
signed = pdf + ".pyhanko"


def sign():
    with open(pdf, "rb") as given, open(signed, "w+b") as made:
        meta = signers.PdfSignatureMetadata(field_name="Signature1", md_algorithm="sha256", subfilter=SigSeedSubFilter.PADES)
        signers.sign_pdf(IncrementalPdfFileWriter(given), meta, signer, output=made)


def peak_mebibytes():
    return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")) / 1024


sign()
cpu, wall = [], []
for _ in range(int(rounds)):
    before = time.process_time(), time.perf_counter()
    sign()
    cpu.append(time.process_time() - before[0])
    wall.append(time.perf_counter() - before[1])
os.remove(signed)
print(json.dumps({"cpuSeconds": sum(cpu) / len(cpu), "seconds": min(wall), "peakMebibytes": peak_mebibytes()}))
