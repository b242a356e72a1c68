import { createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { readCertificateText } from '../../../src/x509/certificate.ts';
import type { AskedLevel } from '../../../src/signatures/levels/asked-level.ts';
import { sessionContents, sessionText, storedState, type SessionState } from '../../../src/signatures/sessions/session-state.ts';
import { outsideAuthority } from '../../support/outside-signer.ts';

const signer = outsideAuthority().certify('P-256');
const certificate = readCertificateText(signer.certificate);
const asked: AskedLevel = {
  level: 'LTA',
  timeStamp: {
    addresses: { source: 'CLIENT', urls: ['https://tsa.example.org/'] },
    hash: 'sha512',
    policy: '1.2.3',
    nonce: false,
    credentials: 'user:pass:word',
    recovery: { intervalSeconds: 2, maxAttempts: 3 },
  },
  ofSigner: { choice: 'BOTH', ocsp: { source: 'CERTIFICATE' }, crl: { source: 'SERVER' } },
  ofAuthorities: { ocsp: { source: 'SERVER' }, crl: { source: 'CLIENT', urls: ['http://a.example/', 'http://b.example/'] } },
};

test.each([['baseline B', undefined] as const, ['a level above it', asked] as const])(
  'a session keeps what was asked for: %s',
  (_, level) => {
    const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
    const publicKey = createPublicKey(signer.publicKey);
    const signature = {
      ...({ id: 'd', covers: [{ index: 0 }], hash: 'sha256', dataToSign: undefined } as const),
      ...{ digest: Buffer.alloc(32, 1), state: { some: ['state'] } },
    };
    const contents = [Buffer.from('content'), Buffer.alloc(0)];
    const chain = { certificate, publicKey, issuers: [] };
    const state: SessionState = {
      documents: [{ id: 'd', fileName: undefined }],
      signatures: { format: 'cms', isText: false, algorithm, level, chain, prepared: [{ ...signature, contents }] },
    };
    expect(sessionContents(state)).toEqual(contents);
    const { signatures } = storedState(sessionText(state));
    expect(signatures).toEqual({
      format: 'cms',
      isText: false,
      algorithm,
      level,
      chain,
      prepared: [{ ...signature, contentBytes: [7, 0] }],
    });
  },
);
