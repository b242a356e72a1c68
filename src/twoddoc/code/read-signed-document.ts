import { decodeXml } from '../../xml/encoding.ts';
import { scanDocument } from '../../xml/scanner.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { joinCode } from './code.ts';
import { signedNamespace } from './signed-document.ts';

const limits = { depthMax: 16, attributesMax: 32, nodesMax: 4000 };

/**
 * Returns the code of a document `signed2DDoc` (contract §9): its zone and signature. What the
 * document says in words, and its certificate, are not read.
 * @throws {TwoDDocFault} for other XML
 */
export function readSignedDocument(xml: Uint8Array): Uint8Array {
  try {
    const { utf8 } = decodeXml(xml);
    scanDocument(utf8, limits);
    using document = XmlDocument.parse(utf8);
    const { root } = document;
    const isSigned = document.is(root, signedNamespace, 'signed2DDoc');
    const [zone, signature] = ['dataZone', 'signature'].map((name) => (isSigned ? document.child(root, signedNamespace, name) : undefined));
    if (zone === undefined || signature === undefined)
      throw new TwoDDocFault('the XML is not a signed 2D-Doc document: signed2DDoc with dataZone and signature');
    return joinCode(bytesOf(document.text(zone)), bytesOf(document.text(signature)));
  } catch (error) {
    throw error instanceof XmlFault ? new TwoDDocFault(`the XML: ${error.message}`) : error;
  }
}

function bytesOf(base64: string): Uint8Array {
  return Buffer.from(base64, 'base64');
}
