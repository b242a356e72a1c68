import { createPrivateKey, generateKeyPairSync, sign as signHere, X509Certificate, type KeyObject } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { call, codeOf, contentDocument, evidenceOf, messageOf, textOf, type ApiAnswer } from '../../support/api.ts';
import { openssl } from '../../support/openssl.ts';
import { opensslVerifies, partsOf } from '../../support/signed-codes.ts';
import { openedIn, completion } from '../../support/two-steps.ts';

const zone = 'DC04FR03AV01265C26610101FR26FR24750012212 RUE DU MOULIN\u001d10MME/MARTIN/CAMILLE';

/** A 2D-Doc CA and a key outside the service, with a certificate for it. */
function outside(curve: string, { ca = 'FR03', certificateId = 'AV01' } = {}): { readonly key: KeyObject; readonly certificate: string } {
  const authority = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-quiet']);
  const root = openssl(['req', '-x509', '-new', '-key', '{key}', '-days', '30', '-subj', `/C=FR/O=CA/CN=${ca}`], { key: authority });
  const key = openssl(['genpkey', '-algorithm', 'EC', '-pkeyopt', `ec_paramgen_curve:${curve}`, '-quiet']);
  const subject = `/C=FR/O=Issuer/OU=0002 123456789/CN=${certificateId}`;
  const certificate = openssl(
    ['req', '-x509', '-new', '-key', '{key}', '-CA', '{root}', '-CAkey', '{authority}', '-days', '20', '-subj', subject],
    { key, root, authority },
  );
  return { key: createPrivateKey(key), certificate };
}

async function preSign(options: object, signerCertificate?: string): Promise<ApiAnswer> {
  const der = signerCertificate === undefined ? {} : { signerCertificate: new X509Certificate(signerCertificate).raw.toString('base64') };
  const parameters = { code2DDocSignature: { code2DDocParameters: options } };
  return call('app', 'signature/remotePreSign', { parameters, inputDocuments: [contentDocument(zone)], ...der });
}

const finish = async (opened: ApiAnswer, value: Buffer): Promise<ApiAnswer> =>
  call('app', 'signature/remoteSign', completion(openedIn(opened.body), { d: value.toString('base64') }));

describe('a signer outside', () => {
  it.each([
    ['P-256', 'sha256', '1.2.840.10045.4.3.2'],
    ['P-384', 'sha384', '1.2.840.10045.4.3.3'],
    ['P-521', 'sha512', '1.2.840.10045.4.3.4'],
  ])('with a certificate of %s', async (curve, hash, algorithm) => {
    const { key, certificate } = outside(curve);
    // A certificate of today is not valid on the day of the header, unless that is today.
    const opened = await preSign({}, certificate);
    const entry = opened.body['signerData']?.['digest']?.[0];
    expect([codeOf(opened), entry?.['signatureAlgorithmOid']]).toEqual(['0/0', algorithm]);
    expect(Buffer.from(textOf(entry?.['dataToSign']), 'base64').toString('latin1')).toBe(zone);
    const wrong = await finish(opened, signHere(hash, Buffer.from('else'), { key, dsaEncoding: 'ieee-p1363' }));
    expect(codeOf(wrong)).toBe('2/222');
    const answer = await finish(opened, signHere(hash, Buffer.from(zone), { key, dsaEncoding: 'der' }));
    expect(codeOf(answer)).toBe('0/0');
    const parts = partsOf(evidenceOf(answer));
    expect([parts.zone.toString('latin1'), opensslVerifies(parts, certificate)]).toEqual([zone, true]);
  });

  it('without one signs with P-256 and SHA-256, and the value is taken as it is', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    for (const dsaEncoding of ['ieee-p1363', 'der'] as const) {
      const opened = await preSign({ outputMode: dsaEncoding === 'der' ? 'XML' : 'SIGNED_CODE' });
      expect(opened.body['signerData']?.['digest']?.[0]?.['signatureAlgorithmOid']).toBe('1.2.840.10045.4.3.2');
      const short = await finish(opened, Buffer.alloc(63, 1));
      expect([codeOf(short), messageOf(short)]).toEqual(['2/222', expect.stringContaining('the session stays open') as string]);
      const value = signHere('sha256', Buffer.from(zone), { key: privateKey, dsaEncoding });
      const answer = await finish(opened, value);
      expect(codeOf(answer)).toBe('0/0');
      const evidence = evidenceOf(answer);
      if (dsaEncoding === 'der')
        expect(evidence.toString()).toMatch(/<signature algorithm="1\.2\.840\.10045\.4\.3\.2">.{88}<\/signature><\/signed2DDoc>/);
      else expect(partsOf(evidence).signature.equals(value)).toBe(true);
    }
    expect(publicKey.type).toBe('public');
  });

  it('is compared with the header if asked to', async () => {
    const check = { checkDigitalIdentity: true };
    const today = (Math.floor(Date.now() / 86_400_000) - Date.UTC(2000, 0, 1) / 86_400_000).toString(16).toUpperCase().padStart(4, '0');
    const { certificate } = outside('P-256');
    const parameters = { code2DDocSignature: { code2DDocParameters: check } };
    const ask = async (text: string, pem: string): Promise<ApiAnswer> =>
      call('app', 'signature/remotePreSign', {
        ...{ parameters, inputDocuments: [contentDocument(text)] },
        signerCertificate: new X509Certificate(pem).raw.toString('base64'),
      });
    const ofToday = zone.replace('265C2661', `${today}${today}`);
    expect(codeOf(await ask(ofToday, certificate))).toBe('0/0');
    for (const [text, pem, why] of [
      [ofToday.replace('FR03', 'FR04'), certificate, 'the zone names the CA FR04'],
      [ofToday.replace('AV01', 'AV02'), certificate, 'the zone names the certificate AV02'],
      [zone.replace('265C2661', '00010001'), certificate, 'after the date of the signature'],
      [ofToday, outside('P-256', { certificateId: 'XX' }).certificate, 'but the signer\'s is "XX"'],
    ] as const) {
      const answer = await ask(text, pem);
      expect([codeOf(answer), messageOf(answer)]).toEqual(['2/261', expect.stringContaining(why) as string]);
    }
    const without = await preSign(check);
    expect([codeOf(without), messageOf(without)]).toEqual(['1/103', expect.stringContaining('needs a signerCertificate') as string]);
  });
});
