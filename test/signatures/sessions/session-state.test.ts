import { createHash, createPublicKey } from 'node:crypto';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { readCertificateText } from '../../../src/x509/certificate.ts';
import type { AskedLevel } from '../../../src/signatures/levels/asked-level.ts';
import {
  documentsToRead,
  sessionContents,
  sessionText,
  storedState,
  type SessionState,
} from '../../../src/signatures/sessions/session-state.ts';
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
      prepared: [{ ...signature, contentBytes: [7, 0], readAgain: [] }],
    });
  },
);

describe('documents that can be read again', () => {
  const [first, second, third, revision] = ['first', 'second', 'third', 'revision'].map((text) => Buffer.from(text)) as [
    Buffer,
    Buffer,
    Buffer,
    Buffer,
  ];
  const digestOf = (content: Buffer) => ({ hash: 'sha384', value: createHash('sha384').update(content).digest() }) as const;
  const signatureOf = (document: number, content: Buffer) => ({
    ...({ id: `d${document}`, covers: [{ index: document }], hash: 'sha256', dataToSign: undefined, state: null } as const),
    ...{ digest: Buffer.alloc(32), contents: [content, revision] },
    readAgain: [{ content: 0, document, digest: digestOf(content) }],
  });
  const state: SessionState = {
    documents: [
      { id: 'd0', fileName: undefined, origin: { filePath: '/a/b.pdf' } },
      { id: 'd1', fileName: 'inline.pdf' },
      { id: 'd2', fileName: undefined, origin: { fileID: 'some-file' } },
    ],
    signatures: {
      ...{ format: 'pades', isText: false, algorithm: undefined, level: undefined, chain: undefined },
      prepared: [signatureOf(0, first), signatureOf(1, second), signatureOf(2, third)],
    },
  };

  it('are not stored, and are known by origin, size and digest; content of the request is stored', () => {
    expect(sessionContents(state)).toEqual([revision, second, revision, revision]);
    expect(documentsToRead(storedState(sessionText(state)))).toEqual([
      { id: 'd0', origin: { filePath: '/a/b.pdf' }, bytes: 5, digest: digestOf(first) },
      { id: 'd2', origin: { fileID: 'some-file' }, bytes: 5, digest: digestOf(third) },
    ]);
  });

  it('are none in a session of a version that stored all contents', () => {
    const text = sessionText({ ...state, signatures: { ...state.signatures, prepared: [] } });
    const { documents, ...rest } = z.looseObject({ documents: z.array(z.looseObject({ id: z.string() })) }).parse(JSON.parse(text));
    const signatures = [{ id: 'd0', covers: [0], hash: 'sha256', digest: '', contentBytes: [5, 8], state: null }];
    const old = storedState(JSON.stringify({ ...rest, documents: documents.map(({ id }) => ({ id })), signatures }));
    expect(old.documents.map(({ id }) => id)).toEqual(['d0', 'd1', 'd2']);
    expect(old.signatures.prepared[0]?.contentBytes).toEqual([5, 8]);
    expect(documentsToRead(old)).toEqual([]);
  });
});
