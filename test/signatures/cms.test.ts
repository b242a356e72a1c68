import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readAll, children } from '../../src/asn1/reader.ts';
import { cmsFormat } from '../../src/signatures/cms/cms.ts';
import { rawFormat } from '../../src/signatures/raw/raw.ts';
import { openssl } from '../support/openssl.ts';
import {
  documentOf,
  joined,
  opensslVerifies,
  preparedCms,
  signedBy,
  signingOf,
  softwareSigner,
  theOne,
  valueOf,
} from './software-signer.ts';

const signer = softwareSigner('software signer');
const { algorithm } = signer;
const moment = { now: new Date('2026-01-02T03:04:05.678Z') };
const content = Buffer.from('content');
const signing = signingOf(signer);
const wrongValue = valueOf(signer, { dataToSign: Buffer.from('other') });

describe('cmsFormat with a software key', () => {
  it('prepares the same bytes for the same input and time, attributes in DER order', () => {
    const [first, second] = [0, 1].map(() => preparedCms(signer, content, { detached: true }, moment));
    expect(first).toEqual(second);
    const attributes = children(readAll(first?.dataToSign ?? new Uint8Array())).map(({ raw }) => Buffer.from(raw));
    expect(attributes).toEqual(attributes.toSorted((a, b) => a.compare(b)));
    expect(attributes.length).toBe(4);
    expect(first?.digest).toEqual(
      createHash('sha256')
        .update(first?.dataToSign ?? '')
        .digest(),
    );
    expect(Buffer.concat(attributes).includes('260102030405Z')).toBe(true);
  });

  it('completes with a right value, and refuses a wrong one', () => {
    for (const detached of [true, false]) {
      expect(opensslVerifies(joined(signedBy(signer, content, { detached })), [signer], detached ? content : undefined)).toContain(
        'successful',
      );
      const prepared = preparedCms(signer, content, { detached }, moment);
      expect(() => cmsFormat.complete(prepared, wrongValue, signing)).toThrow('does not verify');
    }
  });

  it('refuses to complete with another document than was prepared', () => {
    const prepared = preparedCms(signer, content, {}, moment);
    const complete = (): unknown =>
      cmsFormat.complete({ ...prepared, contents: [Buffer.from('Content')] }, valueOf(signer, prepared), signing);
    expect(complete).toThrow('contains other content than it signs');
  });

  it('keeps no content in its state, and needs it again only where it goes into the signature', () => {
    for (const detached of [true, false]) {
      const prepared = preparedCms(signer, Buffer.from('a secret of the document'), { detached }, moment);
      expect(JSON.stringify(prepared.state)).not.toContain(Buffer.from('secret of the d').toString('base64').slice(0, 12));
      expect(JSON.parse(JSON.stringify(prepared.state))).toEqual(prepared.state);
      expect(prepared.contents).toHaveLength(detached ? 0 : 1);
    }
  });

  it.each(['attached', 'detached'])('writes one encoding throughout, %s: OpenSSL writes the same bytes again', (kind) => {
    const cms = joined(signedBy(signer, content, { detached: kind === 'detached' }));
    const again = openssl(['cms', '-cmsout', '-inform', 'DER', '-in', '{cms}', '-outform', 'PEM'], { cms });
    expect(Buffer.from(again.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').equals(cms)).toBe(true);
  });
});

describe('rawFormat with a software key', () => {
  it('gives ECDSA values in DER, and refuses a wrong one', () => {
    const prepared = theOne(rawFormat.prepare([documentOf(content)], { algorithm }, signer, moment));
    expect(readAll(joined(rawFormat.complete(prepared, valueOf(signer, prepared), signing).content)).tag).toBe(0x30);
    expect(() => rawFormat.complete(prepared, wrongValue, signing)).toThrow('does not verify');
  });
});
