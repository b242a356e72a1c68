"""pyHanko for the search, with one line of JSON on the standard input for each file.

judge            PATH: what it makes of what follows the first signature, and the values of the fields.
sign KEY CERT    {"in", "out", "level", "box"}: signs, in a new field.
revise KEY CERT  {"in", "out", "kind", "field"}: a revision as pyHanko makes it.
"""

import json
import sys

from pyhanko.pdf_utils import generic
from pyhanko.pdf_utils.incremental_writer import IncrementalPdfFileWriter
from pyhanko.pdf_utils.reader import PdfFileReader
from pyhanko.sign import fields, signers
from pyhanko.sign.diff_analysis import SuspiciousModification
from pyhanko.sign.timestamps import DummyTimeStamper
from pyhanko.sign.validation import DocumentSecurityStore


def values(reader):
    found = {}

    def entry(dictionary, key, other=None):
        return dictionary[key] if key in dictionary else other

    def walk(field, name, value, depth):
        if depth == 0 or not isinstance(field, generic.DictionaryObject):
            return
        own = entry(field, '/T')
        name = name if own is None else f'{name}.{own}'
        value = entry(field, '/V', value)
        for kid in entry(field, '/Kids', []):
            walk(kid.get_object(), name, value, depth - 1)
        # Signatures differ in each copy.
        if value is not None and not isinstance(value, generic.DictionaryObject):
            found[name] = str(value)

    for field in entry(entry(reader.root, '/AcroForm', {}), '/Fields', []):
        walk(field.get_object(), '', None, 20)
    return found


def judged(path):
    try:
        with open(path, 'rb') as handle:
            reader = PdfFileReader(handle, strict=False)
            signature = reader.embedded_signatures[0]
            signature.compute_integrity_info()
            accepted = signature.summarise_integrity_info()['docmdp_ok']
            why = ''
            if isinstance(signature.diff_result, SuspiciousModification):
                why = str(signature.diff_result)
            elif not accepted:
                why = signature.diff_result.modification_level.name
            return {'accepted': accepted, 'why': why, 'values': values(reader)}
    # Hostile files lead it to errors of many kinds.
    except Exception as error:
        return {'accepted': False, 'why': f'{type(error).__name__}: {error}', 'values': {}}


def signed(signer, order):
    with open(order['in'], 'rb') as handle:
        writer = IncrementalPdfFileWriter(handle, strict=False)
        level = order.get('level')
        metadata = signers.PdfSignatureMetadata(
            field_name='Hanko',
            subfilter=fields.SigSeedSubFilter.PADES,
            certify=level is not None,
            docmdp_permissions=fields.MDPPerm(level or 2),
        )
        field = fields.SigFieldSpec('Hanko', box=order.get('box'))
        with open(order['out'], 'wb') as out:
            signers.PdfSigner(metadata, signer, new_field_spec=field).sign_pdf(writer, output=out)


def revised(signer, order):
    kind = order['kind']
    with open(order['in'], 'rb') as handle, open(order['out'], 'wb') as out:
        writer = IncrementalPdfFileWriter(handle, strict=False)
        if kind == 'fill':
            for field in filled(writer.root['/AcroForm']['/Fields'], order['field']):
                field[generic.pdf_name('/V')] = generic.pdf_string('250')
                writer.update_container(field)
            writer.write(out)
        elif kind == 'store':
            store = DocumentSecurityStore(writer)
            store.register_vri(DocumentSecurityStore.sig_content_identifier(b'signature'), certs=[signer.signing_cert], ocsps=[], crls=[])
            writer.root[generic.pdf_name('/DSS')] = writer.add_object(store.as_pdf_object())
            writer.update_root()
            writer.write(out)
        elif kind == 'stamp':
            stamper = DummyTimeStamper(signer.signing_cert, signer.signing_key)
            signers.PdfTimeStamper(stamper).timestamp_pdf(writer, 'sha256', output=out)
        else:
            metadata = signers.PdfSignatureMetadata(field_name=order['field'], subfilter=fields.SigSeedSubFilter.PADES)
            spec = None if kind == 'place' else fields.SigFieldSpec(order['field'], box=(50, 50, 250, 100) if kind == 'visible' else None)
            signers.PdfSigner(metadata, signer, new_field_spec=spec).sign_pdf(writer, output=out)


def filled(kids, name, above=''):
    for kid in kids:
        field = kid.get_object()
        own = f"{above}.{field['/T']}".lstrip('.') if '/T' in field else above
        if own == name and '/T' in field:
            yield field
        elif '/Kids' in field:
            yield from filled(field['/Kids'], name, own)


def main(command, *options):
    signer = signers.SimpleSigner.load(*options) if options else None
    for line in sys.stdin:
        order = json.loads(line)
        if command == 'judge':
            answer = judged(order)
        else:
            try:
                {'sign': signed, 'revise': revised}[command](signer, order)
                answer = None
            except Exception as error:
                answer = f'{type(error).__name__}: {error}'
        print(json.dumps(answer), flush=True)


main(*sys.argv[1:])
