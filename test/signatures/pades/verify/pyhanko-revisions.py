"""What pyHanko makes of signed PDFs.

judge FILE...           one JSON line a file: for each signature, whether it is intact and what changed after it.
sign IN OUT KEY CERT    signs IN as a further revision, visibly, in a new field.
fill IN OUT FIELD TEXT  fills in a text field as a further revision.
"""

import json
import sys

from pyhanko.pdf_utils.generic import NameObject, pdf_string
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign import fields, signers
from pyhanko.sign.validation import validate_pdf_signature
from pyhanko_certvalidator import ValidationContext


def judged(path):
    with open(path, 'rb') as handle:
        reader = PdfFileReader(handle)
        found = {}
        for signature in reader.embedded_regular_signatures:
            try:
                context = ValidationContext(trust_roots=[signature.signer_cert], allow_fetching=False)
                status = validate_pdf_signature(signature, context)
                level = status.modification_level
                accepted = bool(status.intact and status.docmdp_ok)
                found[signature.field_name] = {'accepted': accepted, 'level': level.name if level is not None else None}
            # Hostile files lead it to errors of many kinds.
            except Exception as error:
                found[signature.field_name] = {'accepted': False, 'level': f'{type(error).__name__}: {error}'}
        return found


def main(command, *arguments):
    if command == 'judge':
        for path in arguments:
            print(json.dumps(judged(path)))
        return
    source, target, *rest = arguments
    with open(source, 'rb') as handle:
        writer = IncrementalPdfFileWriter(handle)
        if command == 'sign':
            key, certificate = rest
            signer = signers.SimpleSigner.load(key, certificate)
            field = fields.SigFieldSpec('Hanko', box=(50, 50, 250, 100))
            metadata = signers.PdfSignatureMetadata(field_name='Hanko', subfilter=fields.SigSeedSubFilter.PADES)
            with open(target, 'wb') as out:
                signers.PdfSigner(metadata, signer, new_field_spec=field).sign_pdf(writer, output=out)
            return
        name, text = rest
        for reference in writer.root['/AcroForm']['/Fields']:
            field = reference.get_object()
            if field.get('/T') == name:
                field[NameObject('/V')] = pdf_string(text)
                writer.mark_update(reference)
        with open(target, 'wb') as out:
            writer.write(out)


main(*sys.argv[1:])
