/** A document to sign, and where its parts are. */
export interface SampleDocument {
  readonly fileName: string;
  readonly bytes: Buffer;
  /** The element beside or in which a signature is placed, for `xpathSignaturePosition`. */
  readonly position: object;
  /** An XPath filter with a prefix, for `xpathTransformation`. */
  readonly filter: object;
}

/** Id of an element, for `signedNode`. It contains what the filter keeps. */
export const signedNode = 'lignes';

const lines = 'urn:example:lignes';
/** The prefixes of the filter and of the position are not the documents' own. */
const filter = { xpathTransformation: 'ancestor-or-self::l:ligne', xpathTransformationNS: { prefix: 'l', namespaceURI: lines } };

const plain = `<facture><entete Id="entete" montant='12,50'>Société &amp; Cie</entete><p:lignes xmlns:p="${lines}" xmlns:q="urn:example:q" xmlns:unused="urn:example:unused" Id="${signedNode}">
  <p:ligne q:n="1"><!-- une --> Prestation <texte>été</texte></p:ligne><p:ligne>n° 2</p:ligne><reste/>
</p:lignes><annexe><fin/></annexe></facture>
`;
const withXmlAttributes = `<facture xml:lang="fr"><entete/><p:lignes xmlns:p="${lines}" Id="${signedNode}" xml:space="preserve"> <p:ligne xml:lang="en"><texte/></p:ligne></p:lignes><annexe/></facture>`;
const withDefault = `<?xml version="1.0" encoding="UTF-8"?>
<facture xmlns="${lines}" xmlns:a="urn:example:annexe" numero="1"><lignes Id="${signedNode}"><ligne a:type="x">Prestation</ligne><ligne xmlns="urn:example:autre"/><a:autre xmlns=""><ligne xmlns="${lines}"/></a:autre></lignes><a:annexe xml:lang="fr"/></facture>`;
const withComments = `<?xml version="1.0" standalone="yes"?>
<!-- avant -->
<?traitement avant?>
<f:facture xmlns:f="urn:example:facture" b="2" a="1&#10;&#9;&lt;&quot;&#13;">
  <!-- entête -->
  <f:lignes Id="${signedNode}" xmlns="${lines}">
    <ligne ><![CDATA[<CDATA> & ]]&gt;]]>&#13; a	b   <!-- dans --><?traitement dans?></ligne>
    <ligne xmlns="${lines}" vide=""></ligne>
  </f:lignes><!-- fin -->
  <f:annexe
    x='"'/>
</f:facture>
<!-- après -->
`.replaceAll('\n', '\r\n');
const inUtf16 = `<?xml version="1.0" encoding="UTF-16"?>\n${plain.replace('été', 'été 😀 שלום')}`;
const inLatin1 = `<?xml version="1.0" encoding="ISO-8859-1"?>\n${withDefault.slice(withDefault.indexOf('\n') + 1).replace('Prestation', 'Été à Orléans, §')}`;

const plainPosition = { xpathSignaturePosition: '/facture/annexe' };
const defaultPosition = {
  xpathSignaturePosition: '/d:facture/z:annexe',
  xpathSignaturePositionNS: [
    { prefix: 'd', namespaceURI: lines },
    { prefix: 'z', namespaceURI: 'urn:example:annexe' },
  ],
};

export const xmlDocuments: Readonly<Record<string, SampleDocument>> = {
  plain: { fileName: 'facture.xml', bytes: Buffer.from(plain), position: plainPosition, filter },
  'xml-attributes': { fileName: 'xml.xml', bytes: Buffer.from(withXmlAttributes), position: plainPosition, filter },
  'default-namespace': { fileName: 'facture n° 1.xml', bytes: Buffer.from(withDefault), position: defaultPosition, filter },
  'crlf-and-comments': {
    fileName: 'facture+crlf.xml',
    bytes: Buffer.from(withComments),
    position: { xpathSignaturePosition: '//f:annexe' },
    filter,
  },
  'utf-16': {
    fileName: 'utf-16.xml',
    bytes: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(inUtf16, 'utf16le')]),
    position: plainPosition,
    filter,
  },
  'iso-8859-1': { fileName: 'été.xml', bytes: Buffer.from(inLatin1, 'latin1'), position: defaultPosition, filter },
};

/** What is no XML is signed as it is. */
export const textDocument = { fileName: 'Lu & approuvé.txt', bytes: Buffer.from('Lu et approuvé\r\n') };
