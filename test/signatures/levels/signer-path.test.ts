import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkSignerPath, checkStampedSigner, signerCertificates } from '../../../src/signatures/levels/signer-path.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';
import { derOf, read, ScratchChain } from './scratch-chain.ts';

const chain = new ScratchChain();
const directory = mkdtempSync(join(tmpdir(), 'signetd-signer-path-'));
afterAll(() => {
  chain.remove();
  rmSync(directory, { recursive: true, force: true });
});

const now = new Date();
const hourMs = 3_600_000;
const unfit = {
  code: 'CERTIFICATE_STATUS_REFUSED',
  message: expect.stringContaining('the chain of the signer certificate is not valid') as unknown,
};

describe('the chain of a signer', () => {
  it('is valid up to the last certificate that is known, which is not asked for one above it', () => {
    for (const issuers of [[derOf(chain.issuing), derOf(chain.root)], [derOf(chain.issuing)], []])
      expect(() => checkSignerPath(chain.signer(chain.person, issuers), now)).not.toThrow();
  });

  it('is not valid with another authority anywhere in it', () => {
    const other = new ScratchAuthority(directory, 'Issuing');
    for (const issuers of [[derOf(other)], [derOf(chain.root)], [derOf(other), derOf(chain.root)]])
      expect(() => checkSignerPath(chain.signer(chain.person, issuers), now)).toThrow(expect.objectContaining(unfit));
  });

  it('is not valid at a time at which one of its certificates is not', () => {
    const signer = chain.signer();
    expect(() => checkSignerPath(signer, new Date(now.getTime() + 2 * hourMs))).toThrow(expect.objectContaining(unfit));
    expect(() => checkSignerPath(signer, new Date(now.getTime() - 2 * hourMs))).toThrow(expect.objectContaining(unfit));
  });

  it('is read from the signer up', () => {
    expect(signerCertificates(chain.signer())).toEqual([read(chain.person), read(chain.issuing), read(chain.root)]);
  });

  it('needs extensions that can be read, and says whose cannot', () => {
    const broken = chain.issuing.issue('Broken', { extendedKeyUsage: '', extensions: ['nameConstraints=DER:0500'] });
    const message = (of: string): unknown => expect.stringContaining(`and ${of} has an unreadable one`);
    expect(() => signerCertificates(chain.signer(broken))).toThrow(
      expect.objectContaining({ code: 'FIELDS_INCONSISTENT', message: message('the signer certificate') }),
    );
    expect(() => signerCertificates(chain.signer(chain.person, [derOf(broken)]))).toThrow(
      expect.objectContaining({ code: 'FIELDS_INCONSISTENT', message: message('a certificate of its chain') }),
    );
  });
});

describe('a time-stamp', () => {
  it('is of a time at which the signer certificate is valid, the first and the last moment included', () => {
    const signer = chain.signer();
    const { notBefore, notAfter } = signer.certificate;
    for (const time of [notBefore, now, notAfter]) expect(() => checkStampedSigner(signer, time)).not.toThrow();
    for (const time of [new Date(notBefore.getTime() - 1), new Date(notAfter.getTime() + 1)])
      expect(() => checkStampedSigner(signer, time)).toThrow(expect.objectContaining({ code: 'TIMESTAMP_INVALID' }));
  });

  it('is of a time at which the whole chain is valid', () => {
    const ended = chain.root.issue('Ended', { isAuthority: true, extendedKeyUsage: '', until: new Date(now.getTime() - 60_000) });
    const authority = new ScratchAuthority(directory, 'Ended', { existing: ended });
    const signer = chain.signer(authority.issue('Of it', { extendedKeyUsage: '' }), [derOf(ended), derOf(chain.root)]);
    expect(() => checkStampedSigner(signer, new Date(now.getTime() - 120_000))).not.toThrow();
    expect(() => checkStampedSigner(signer, now)).toThrow(expect.objectContaining(unfit));
  });
});
