import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { call, evidenceOf, type ApiAnswer, type ClientName } from '../../support/api.ts';
import { certifyKey } from '../../support/identity-certificate.ts';
import { derOf } from '../../support/outside-signer.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';
import { succeeds } from '../../support/succeeds.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { opensslVerifies, partsOf } from '../../support/two-d-doc-codes.ts';
import { validSourceOf } from '../../support/two-d-doc-sources.ts';
import { completed, completion, openedIn, type OpenedSession } from '../../support/two-steps.ts';
import { codeSignature, expectRefusal, zoneDocuments, zoneOf, type CodeOptions } from './calls.ts';

const curves = {
  'P-256': { hash: 'sha256', oid: '1.2.840.10045.4.3.2', characters: 103 },
  'P-384': { hash: 'sha384', oid: '1.2.840.10045.4.3.3', characters: 154 },
  'P-521': { hash: 'sha512', oid: '1.2.840.10045.4.3.4', characters: 212 },
} as const;
type Curve = keyof typeof curves;
const allCurves = Object.keys(curves) as Curve[];

/** An issuer who signs with a device of its own. */
interface Issuer {
  readonly curve: Curve;
  readonly publicKey: string;
  /** Base64 of the DER. */
  readonly certificate: string;
  /** Base64: r‖s, or DER. */
  valueOf(dataToSign: Buffer, encoding?: 'ieee-p1363' | 'der'): string;
}

let directory: string;
let zone: Buffer;
const issuers = new Map<string, Issuer>();

function issuerOf(name: string): Issuer {
  const issuer = issuers.get(name);
  if (issuer === undefined) throw new Error(`no issuer ${name}`);
  return issuer;
}

function newIssuer(authority: ScratchAuthority, commonName: string, curve: Curve): Issuer {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: curve });
  const certificate = certifyKey(authority, directory, commonName, publicKey.export({ format: 'der', type: 'spki' }));
  return {
    curve,
    publicKey: publicKey.export({ format: 'pem', type: 'spki' }).toString(),
    certificate: derOf(readFileSync(certificate, 'utf8')),
    valueOf: (dataToSign, dsaEncoding = 'ieee-p1363') =>
      sign(curves[curve].hash, dataToSign, { key: privateKey, dsaEncoding }).toString('base64'),
  };
}

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-issuers-'));
  const authority = new ScratchAuthority(directory, 'FR98');
  for (const curve of allCurves) issuers.set(curve, newIssuer(authority, `Z${curve.slice(2)}`, curve));
  issuers.set('another', newIssuer(authority, 'ZZ99', 'P-256'));
  // Dated today, as their certificates are.
  const source = validSourceOf('01')
    .replace(/<signatureDate>.*<\/signatureDate>/, '')
    .replace('FR00', 'FR98')
    .replace('0001', 'Z256');
  zone = await zoneOf('other', source);
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

interface Asked {
  readonly options?: CodeOptions | undefined;
  readonly signerCertificate?: string | undefined;
  readonly zones?: readonly Uint8Array[];
  readonly client?: ClientName;
}

const preSigned = async ({ options, signerCertificate, zones = [zone], client = 'other' }: Asked = {}): Promise<ApiAnswer> =>
  call(client, 'signature/remotePreSign', {
    parameters: codeSignature(options),
    inputDocuments: zoneDocuments(...zones),
    ...(signerCertificate === undefined ? {} : { signerCertificate }),
  });
const opened = async (asked: Asked = {}): Promise<OpenedSession> => openedIn(succeeds(await preSigned(asked)).body);
const finished = async (session: OpenedSession, values: Readonly<Record<string, string>>): Promise<ApiAnswer> =>
  completed(completion(session, values), 'other');

const Entries = z.object({ signerData: z.object({ digest: z.array(z.record(z.string(), z.string())) }) });

describe('remotePreSign of zones', () => {
  it.each<[string, Curve]>([
    ['without a certificate: P-256 with SHA-256', 'P-256'],
    ...allCurves.map((curve): [string, Curve] => [`with a certificate of ${curve}`, curve]),
  ])('%s', async (what, curve) => {
    const signerCertificate = what.startsWith('without') ? undefined : issuerOf(curve).certificate;
    const { signerData } = Entries.parse(succeeds(await preSigned({ signerCertificate, zones: [zone, zone] })).body);
    const { hash, oid } = curves[curve];
    expect(signerData.digest).toHaveLength(2);
    for (const [index, entry] of signerData.digest.entries()) {
      expect(entry).toMatchObject({ id: `d${index}`, dataToSign: zone.toString('base64'), signatureAlgorithmOid: oid });
      expect(entry['digestValue']).toBe(createHash(hash).update(zone).digest('base64'));
    }
  });

  it('refuses what is no zone, and a certificate that is not on a curve', async () => {
    expectRefusal(await preSigned({ zones: [zone, Buffer.from('DC04')] }), '1/105', /^\/inputDocuments\/1: /);
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const authority = new ScratchAuthority(directory, 'FR97');
    const rsa = certifyKey(authority, directory, 'RSA0', publicKey.export({ format: 'der', type: 'spki' }));
    expectRefusal(await preSigned({ signerCertificate: derOf(readFileSync(rsa, 'utf8')) }), '1/103', /RSA-2048/);
  });

  it('with checkDigitalIdentity compares the header with the certificate, which it needs', async () => {
    const options = { checkDigitalIdentity: true };
    expectRefusal(await preSigned({ options }), '1/103', /signerCertificate/);
    const session = await opened({ options, signerCertificate: issuerOf('P-256').certificate });
    const code = partsOf(evidenceOf(succeeds(await finished(session, { d0: issuerOf('P-256').valueOf(zone) }))));
    expect(opensslVerifies(code, issuerOf('P-256').publicKey)).toBe(true);
    for (const name of ['P-384', 'another'])
      expectRefusal(await preSigned({ options, signerCertificate: issuerOf(name).certificate }), '2/261', /^\/inputDocuments\/0: .*Z256/);
    const changed = (from: string | RegExp, to: string): Buffer => Buffer.from(zone.toString('latin1').replace(from, to), 'latin1');
    for (const other of [changed('FR98', 'FR96'), changed('Z256', 'Z384'), changed(/(?<=^.{16})..../, '125B')]) {
      const asked = { signerCertificate: issuerOf('P-256').certificate, zones: [zone, other] };
      expectRefusal(await preSigned({ ...asked, options }), '2/261', /^\/inputDocuments\/1: /);
      succeeds(await preSigned(asked));
    }
  });
});

describe('remoteSign of zones', () => {
  it.each(allCurves)('with a certificate of %s makes the code of a value in either form, which OpenSSL verifies', async (curve) => {
    const issuer = issuerOf(curve);
    const session = await opened({ signerCertificate: issuer.certificate, zones: [zone, zone] });
    const values = { d0: issuer.valueOf(zone), d1: issuer.valueOf(zone, 'der') };
    const answer = succeeds(await finished(session, values));
    for (const index of [0, 1]) {
      const code = partsOf(evidenceOf(answer, index));
      expect([code.zone.equals(zone), code.signatureText.length]).toEqual([true, curves[curve].characters]);
      expect(opensslVerifies(code, issuer.publicKey)).toBe(true);
    }
    expect(partsOf(evidenceOf(answer)).signature.toString('base64')).toBe(values.d0);
    expectRefusal(await finished(session, values), '2/221');
  });

  it('with a certificate refuses a value that does not verify; the session stays open', async () => {
    const issuer = issuerOf('P-256');
    const session = await opened({ signerCertificate: issuer.certificate });
    const wrong = [issuer.valueOf(Buffer.from('another')), issuerOf('another').valueOf(zone), issuerOf('P-384').valueOf(zone), 'AAAA'];
    for (const value of wrong) expectRefusal(await finished(session, { d0: value }), '2/222');
    expectRefusal(await finished(session, {}), '1/103');
    expectRefusal(await finished(session, { d1: issuer.valueOf(zone) }), '1/103');
    succeeds(await finished(session, { d0: issuer.valueOf(zone) }));
  });

  it('without a certificate takes a value as it is, as r‖s and as DER', async () => {
    const issuer = issuerOf('P-256');
    for (const encoding of ['ieee-p1363', 'der'] as const) {
      const session = await opened();
      const code = partsOf(evidenceOf(succeeds(await finished(session, { d0: issuer.valueOf(zone, encoding) }))));
      expect([code.zone.equals(zone), opensslVerifies(code, issuer.publicKey)]).toEqual([true, true]);
    }
    // Nobody can tell whose it is.
    const foreign = issuerOf('another').valueOf(Buffer.from('something else'));
    const code = partsOf(evidenceOf(succeeds(await finished(await opened(), { d0: foreign }))));
    expect(code.signature.toString('base64')).toBe(foreign);
  });

  it('without a certificate refuses a value of another length; the session stays open', async () => {
    const session = await opened();
    const right = issuerOf('P-256').valueOf(zone);
    const bytes = Buffer.from(right, 'base64');
    const others = [issuerOf('P-384').valueOf(zone), issuerOf('P-521').valueOf(zone, 'der'), bytes.subarray(1).toString('base64'), 'AA=='];
    for (const value of others) expectRefusal(await finished(session, { d0: value }), '2/222', /stays open/);
    expectRefusal(await finished(session, { d0: Buffer.concat([bytes, Buffer.of(0)]).toString('base64') }), '2/222');
    succeeds(await finished(session, { d0: right }));
  });

  it.each(['XML', 'IMAGE'] as const)('makes what the session was opened for: %s', async (outputMode) => {
    const issuer = issuerOf('P-521');
    const session = await opened({ options: { outputMode }, signerCertificate: issuer.certificate });
    const evidence = evidenceOf(succeeds(await finished(session, { d0: issuer.valueOf(zone) })));
    if (outputMode === 'XML') {
      const text = evidence.toString();
      expect(text).toContain(`<certificate>${issuer.certificate}</certificate>`);
      const [, value = ''] = /<signature [^>]*>([^<]*)</.exec(text) ?? [];
      expect(opensslVerifies({ zone, signature: Buffer.from(value, 'base64') }, issuer.publicKey)).toBe(true);
      return;
    }
    const { dmtxread = Buffer.alloc(0), zxing } = await readByOthers(evidence);
    expect(zxing).toEqual(dmtxread);
    expect(opensslVerifies(partsOf(dmtxread), issuer.publicKey)).toBe(true);
  });

  it('has no certificate in the XML if none is known', async () => {
    const session = await opened({ options: { outputMode: 'XML' } });
    const text = evidenceOf(succeeds(await finished(session, { d0: issuerOf('P-256').valueOf(zone) }))).toString();
    // The header has the identifier of one.
    expect([text.includes('<signed2DDoc '), text.match(/<certificate>.*?</g)]).toEqual([true, ['<certificate>Z256<']]);
  });

  it('belongs to the tenant that asked', async () => {
    const session = await opened();
    const body = completion(session, { d0: issuerOf('P-256').valueOf(zone) });
    expectRefusal(await completed(body, 'app'), '2/221');
    succeeds(await completed(body, 'other'));
  });
});
