import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { OutgoingHttp } from '../../../src/outgoing/outgoing-http.ts';
import {
  RevocationSources,
  type RevocationData,
  type RevocationQuestion,
  type WantedData,
} from '../../../src/revocation/revocation-data.ts';
import { longTermData, type Gathering, type LongTermPath } from '../../../src/signatures/levels/long-term-data.ts';
import { alwaysVouched } from '../../../src/signatures/levels/vouching.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-data-'));
const threads = new WorkThreads();
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const read = ({ certificate }: { readonly certificate: string }): PathCertificate =>
  pathCertificate(new Uint8Array(new X509Certificate(readFileSync(certificate)).raw));
const rootAuthority = new ScratchAuthority(directory, 'Root');
const issuingAuthority = new ScratchAuthority(directory, 'Issuing', { parent: rootAuthority });
const [root, issuing] = [read(rootAuthority), read(issuingAuthority)];
const person = read(issuingAuthority.issue('Person', { extendedKeyUsage: '' }));
const stamper = read(rootAuthority.issue('Stamper', { extendedKeyUsage: 'critical,timeStamping' }));

const http = new OutgoingHttp({ clientHosts: [], privateNetworks: [], timeoutSeconds: 1, connectionsMax: 1 });
const revokedAt = new Date('2026-01-02T03:04:05Z');
const good: RevocationData = { status: { kind: 'good' }, crls: [Uint8Array.of(1)], ocspAnswers: [Uint8Array.of(2)] };
const revoked: RevocationData = { status: { kind: 'revoked', revokedAt, reason: 1 }, crls: [Uint8Array.of(3)], ocspAnswers: [] };
const answered: RevocationData = {
  status: { kind: 'undetermined', why: 'not known there', isAnswered: true },
  ...{ crls: [], ocspAnswers: [Uint8Array.of(4)] },
};
const missing: RevocationData = { status: { kind: 'undetermined', why: 'no answer' }, crls: [], ocspAnswers: [] };

/** Answers about certificates without asking anybody, and remembers the questions. */
class KnownAnswers extends RevocationSources {
  readonly asked: RevocationQuestion[] = [];
  readonly #answers: ReadonlyMap<PathCertificate, RevocationData>;

  constructor(answers: ReadonlyMap<PathCertificate, RevocationData>) {
    super(http, threads);
    this.#answers = answers;
  }

  override async of(question: RevocationQuestion): Promise<RevocationData> {
    this.asked.push(question);
    return Promise.resolve(this.#answers.get(question.certificate) ?? good);
  }
}

const leaf: WantedData = { choice: 'OCSP', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } };
const authorities: WantedData = { choice: 'CRL', ocsp: { kind: 'CERTIFICATE' }, crl: { kind: 'CERTIFICATE' } };
const ofSigner: LongTermPath = {
  ...{ certificates: [person, issuing, root], isAnchored: false, of: 'signer certificate', leaf, authorities },
  vouches: alwaysVouched,
};

interface Case extends Partial<LongTermPath> {
  readonly answers?: ReadonlyMap<PathCertificate, RevocationData>;
  readonly cancelOnError?: boolean;
}

async function gathered({ answers = new Map(), cancelOnError = true, ...path }: Case): ReturnType<typeof longTermData> {
  const gathering: Gathering = { sources: new KnownAnswers(answers), cancelOnError, at: new Date() };
  return longTermData([{ ...ofSigner, ...path }], gathering);
}
const ofPerson = (data: RevocationData) => new Map([[person, data]]);
const ofIssuing = (data: RevocationData) => new Map([[issuing, data]]);
const refused = (code: string, message: RegExp | string) => ({ code, message: expect.stringMatching(message) as unknown });

describe('the data of a path', () => {
  it('is asked for of each certificate below the root, of its issuer, by what is wanted of it, for one moment', async () => {
    const sources = new KnownAnswers(new Map());
    const at = new Date();
    const { signal } = new AbortController();
    const all = await longTermData([ofSigner], { sources, cancelOnError: true, at, signal });
    expect(sources.asked.map((one) => [one.certificate, one.issuer, one.wanted, one.at, one.signal])).toEqual([
      [person, issuing, leaf, at, signal],
      [issuing, root, authorities, at, signal],
    ]);
    expect(all).toEqual({
      data: { certificates: [person.der, issuing.der], crls: [Uint8Array.of(1)], ocspAnswers: [Uint8Array.of(2)] },
      ...{ isComplete: true, hasWholePaths: true, remarks: [] },
    });
  });

  it('is not needed of a last certificate that is trusted, and of one that is neither a root nor trusted it is missing', async () => {
    const sources = new KnownAnswers(new Map());
    const path = { ...ofSigner, certificates: [person, issuing] };
    const all = await longTermData([{ ...path, isAnchored: true }], { sources, cancelOnError: true, at: new Date() });
    expect(sources.asked.map(({ certificate }) => certificate)).toEqual([person]);
    expect([all.isComplete, all.hasWholePaths, all.data.certificates]).toEqual([true, true, [person.der, issuing.der]]);
    const issuerUnknown = 'its issuer is unknown, so its status cannot be determined';
    await expect(gathered(path)).rejects.toMatchObject(
      refused('REVOCATION_UNAVAILABLE', `^authority above the signer certificate: ${issuerUnknown}$`),
    );
    const partly = await gathered({ ...path, cancelOnError: false });
    expect(partly).toMatchObject({ isComplete: false, hasWholePaths: false });
    expect(partly.remarks).toEqual([`revocation data of the authority above the signer certificate is unavailable (${issuerUnknown})`]);
  });

  it('has each certificate, list and answer of several paths once, and each remark', async () => {
    const stampPath = { ...ofSigner, certificates: [stamper, root], of: 'stamp' };
    const tolerated = { tolerated: 'REVOKED', of: 'the one' } as const;
    const sources = new KnownAnswers(new Map([[person, revoked]]));
    const paths = [{ ...ofSigner, ...tolerated }, stampPath, { ...ofSigner, ...tolerated }];
    const all = await longTermData(paths, { sources, cancelOnError: true, at: new Date() });
    expect(all.data).toEqual({
      ...{ certificates: [person.der, issuing.der, stamper.der], crls: [Uint8Array.of(3), Uint8Array.of(1)] },
      ocspAnswers: [Uint8Array.of(2)],
    });
    expect(all.remarks).toHaveLength(1);
  });

  it('is incomplete if that of any path is', async () => {
    const sources = new KnownAnswers(ofPerson(missing));
    const stampPath = { ...ofSigner, certificates: [stamper, root] };
    for (const paths of [
      [ofSigner, stampPath],
      [stampPath, ofSigner],
    ])
      expect(await longTermData(paths, { sources, cancelOnError: false, at: new Date() })).toMatchObject({
        ...{ isComplete: false, hasWholePaths: true },
      });
  });
});

describe('a certificate that is revoked', () => {
  it('is refused, with its time, unless that is tolerated', async () => {
    for (const cancelOnError of [true, false])
      for (const tolerated of [undefined, 'VALID', 'UNDETERMINED'] as const)
        await expect(gathered({ answers: ofPerson(revoked), tolerated, cancelOnError })).rejects.toMatchObject(
          refused('CERTIFICATE_STATUS_REFUSED', /^signer certificate: revoked at 2026-01-02T03:04:05\.000Z$/),
        );
    const all = await gathered({ answers: ofPerson(revoked), tolerated: 'REVOKED' });
    expect(all).toMatchObject({ isComplete: true, remarks: ['the signer certificate was revoked at 2026-01-02T03:04:05.000Z'] });
    expect(all.data.crls).toContainEqual(Uint8Array.of(3));
  });

  it('is refused of an authority, whatever is tolerated of the signer', async () => {
    await expect(gathered({ answers: ofIssuing(revoked), tolerated: 'REVOKED', cancelOnError: false })).rejects.toMatchObject(
      refused('CERTIFICATE_STATUS_REFUSED', /^authority above the signer certificate: revoked/),
    );
  });
});

describe('a status that an answer leaves open', () => {
  it('is refused where it must be valid, and tolerated otherwise, with the answer', async () => {
    for (const cancelOnError of [true, false]) {
      await expect(gathered({ answers: ofPerson(answered), tolerated: 'VALID', cancelOnError })).rejects.toMatchObject(
        refused('CERTIFICATE_STATUS_REFUSED', /^signer certificate: the status is undetermined: not known there$/),
      );
      for (const tolerated of ['UNDETERMINED', 'REVOKED'] as const) {
        const all = await gathered({ answers: ofPerson(answered), tolerated, cancelOnError });
        expect(all).toMatchObject({
          isComplete: false,
          remarks: ['the status of the signer certificate is undetermined (not known there)'],
        });
        expect(all.data.ocspAnswers).toContainEqual(Uint8Array.of(4));
      }
    }
  });

  it('counts as missing where nothing is tolerated, as of an authority', async () => {
    await expect(gathered({ answers: ofPerson(answered) })).rejects.toMatchObject(
      refused('REVOCATION_UNAVAILABLE', /^signer certificate: not known there$/),
    );
    await expect(gathered({ answers: ofIssuing(answered), tolerated: 'REVOKED' })).rejects.toMatchObject(
      refused('REVOCATION_UNAVAILABLE', /^authority above/),
    );
  });
});

it('data that is missing is an error or left out, whatever is tolerated', async () => {
  for (const tolerated of [undefined, 'VALID', 'UNDETERMINED', 'REVOKED'] as const) {
    await expect(gathered({ answers: ofPerson(missing), tolerated })).rejects.toMatchObject(
      refused('REVOCATION_UNAVAILABLE', /^signer certificate: no answer$/),
    );
    const all = await gathered({ answers: ofPerson(missing), tolerated, cancelOnError: false });
    expect(all).toMatchObject({
      ...{ isComplete: false, hasWholePaths: true },
      remarks: ['revocation data of the signer certificate is unavailable (no answer)'],
    });
  }
});
