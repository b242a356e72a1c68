import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  codeOf,
  contentDocument,
  evidenceOf,
  messageOf,
  newKey,
  root,
  secretOf,
  type ApiAnswer,
  type ClientName,
  type TestKey,
} from '../support/api.ts';
import { xmlsecVerdict, type XmlsecOptions } from '../support/xmlsec.ts';

const keys: Partial<Record<ClientName, TestKey>> = {};
beforeAll(async () => {
  for (const client of ['app', 'other', 'p384'] as const) keys[client] = await newKey(client);
});

const invoice = `<?xml version="1.0" encoding="UTF-8"?>
<invoice xmlns="urn:example:invoice" Id="whole"><!-- kept --><line Id="first">Café &amp; thé</line><line Id="second"/></invoice>
`;
const sign = async (
  document: string | Buffer,
  envelopedXAdESParameters: object = {},
  { client = 'app', more = {} }: { client?: ClientName; more?: object } = {},
): Promise<ApiAnswer> => {
  const key = keys[client];
  if (key === undefined) throw new Error('no key');
  return call(client, 'signature/sign', {
    keyReference: secretOf(key),
    parameters: { envelopedXAdESSignature: { envelopedXAdESParameters, ...more } },
    inputDocuments: [contentDocument(document)],
  });
};
const verdict = (document: Buffer, options: Partial<XmlsecOptions> = {}): string =>
  xmlsecVerdict(document, { root: readFileSync(root), ...options });
const idElements = ['urn:example:invoice:invoice', 'urn:example:invoice:line'];

describe('an enveloped signature', () => {
  it.each(['app', 'other', 'p384'] as const)('of %s is accepted by xmlsec1', async (client) => {
    const answer = await sign(invoice, {}, { client });
    expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
    console.log(evidenceOf(answer).toString());
    expect(verdict(evidenceOf(answer))).toBe('OK');
    const changed = Buffer.from(evidenceOf(answer).toString().replace('Café', 'Cafe'));
    expect(verdict(changed)).not.toBe('OK');
  });
  it.each([
    'XML_EXC_C_14_N',
    'XML_EXC_C_14_N_WITH_COMMENTS',
    'REC_XML_C_14_N_20010315',
    'REC_XML_C_14_N_20010315_WITH_COMMENTS',
    'XML_C_14_N_11',
    'XML_C_14_N_11_WITH_COMMENTS',
  ])('with %s', async (one) => {
    for (const signedNode of [undefined, 'first']) {
      const answer = await sign(invoice, {
        signedContentsC14NAlgURI: one,
        signedPropertiesC14NAlgURI: one,
        signedInfoC14NAlgURI: one,
        signedNode,
      });
      expect([codeOf(answer), messageOf(answer)]).toEqual(['0/0', 'success']);
      expect(verdict(evidenceOf(answer), { idElements })).toBe('OK');
    }
  });
});
