import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buffer } from 'node:stream/consumers';
import type { AskedLevel } from '../../src/signatures/levels/asked-level.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { crlAt, longTerm, ocspAt, stampedByNamed, stampsAt, status, Strangers } from './strangers.ts';

const strangers = new Strangers();
beforeAll(async () => {
  await strangers.start();
});
beforeEach(() => {
  strangers.asked = [];
  strangers.listener = strangers.serves;
});
afterAll(async () => {
  await strangers.stop();
});

const notAllowed = /no configured authority vouches for the certificate .* callers may not name the host (127\.0\.0\.2|localhost)/;

describe('a certificate vouches for no server', () => {
  test("that is no authority's: the configuration that names it is refused", async () => {
    const { certificate } = strangers.person();
    await expect(strangers.outcome({ anchors: [certificate] }, strangers.signer())).rejects.toThrow(
      /^revocation\.anchors: .*: the certificate with serial number [0-9a-f]+ is not that of an authority/,
    );
  });
});

describe("a server that a stranger's certificate names is not asked", () => {
  test.each([
    ['an OCSP responder', () => [ocspAt(`${strangers.base}/ocsp`)], /^REVOCATION_UNAVAILABLE: the OCSP responder/],
    ['a CRL', () => [crlAt(`${strangers.base}/leaf.crl`)], /^REVOCATION_UNAVAILABLE: the CRL/],
    ['one by its host name', () => [crlAt(`http://localhost:${strangers.port}/leaf.crl`)], /^REVOCATION_UNAVAILABLE: the CRL/],
  ] as const)('as %s', async (_name, extensions, words) => {
    const answer = await strangers.outcome({}, strangers.signer(...extensions()));
    expect(answer).toMatch(words);
    expect(answer).toMatch(notAllowed);
    expect(strangers.asked).toEqual([]);
  });

  test('as a time-stamp authority', async () => {
    const answer = await strangers.outcome({}, strangers.signer(...stampsAt(`${strangers.base}/stamp`)), { level: stampedByNamed });
    expect(answer).toMatch(/^TIMESTAMP_UNAVAILABLE: the time-stamp authority of the signer certificate is not asked/);
    expect(answer).toMatch(notAllowed);
    expect(strangers.asked).toEqual([]);
  });

  test('where missing data is tolerated either', async () => {
    const level: AskedLevel = { ...longTerm, tolerance: { ofSigner: 'REVOKED', cancelOnError: false } };
    const signer = strangers.signer(ocspAt(`${strangers.base}/ocsp`), crlAt(`${strangers.base}/leaf.crl`));
    const answer = await strangers.outcome({}, signer, { level });
    expect(answer).toMatch(/^signed at level T: revocation data of the signer certificate is unavailable/);
    expect(answer).toMatch(notAllowed);
    expect(strangers.asked).toEqual([]);
  });

  test('of a certificate above it either', async () => {
    const { root, directory, base } = strangers;
    const files = root.issue('Middle', { isAuthority: true, extendedKeyUsage: '', extensions: [ocspAt(`${base}/ocsp`)] });
    const middle = new ScratchAuthority(directory, 'Middle', { existing: files });
    const signer = strangers.signerOf(middle.issue('Person', { extendedKeyUsage: '' }), [middle, root]);
    const crl = { source: 'CLIENT' as const, urls: ['http://127.0.0.1:1/'] };
    const level: AskedLevel = { ...longTerm, ofSigner: { ...status, crl } };
    const answer = await strangers.outcome({ clientHosts: ['127.0.0.1'] }, signer, { level });
    expect(answer).toMatch(/^REVOCATION_UNAVAILABLE: the OCSP responder that a certificate above the signer certificate names/);
    expect(strangers.asked).toEqual([]);
  });

  test('of one put above a certificate that is vouched for, with the name and key of its issuer', async () => {
    const { issuing, directory, base } = strangers;
    const other = new ScratchAuthority(directory, 'Other');
    const twin = strangers.sameKeyBelow(other, [crlAt(`${base}/other.crl`)]);
    const signer = strangers.signerOf(strangers.person(crlAt(`${base}/leaf.crl`)), [twin, other]);
    const answer = await strangers.outcome({ anchors: [issuing.certificate] }, signer);
    expect(answer).toMatch(/^REVOCATION_UNAVAILABLE: the CRL that a certificate above the signer certificate names/);
    expect(strangers.asked).toEqual([]);
  });

  test('of a time-stamp authority that only the caller trusts', async () => {
    const { root, directory, base, port } = strangers;
    const theirRoot = new ScratchAuthority(directory, 'Their root');
    const theirs = strangers.stamperBelow(
      [new ScratchAuthority(directory, 'Theirs', { parent: theirRoot }), theirRoot],
      [crlAt(`${base}/theirs.crl`)],
    );
    strangers.listener = (request, response) => {
      if (request.url === '/theirs') void buffer(request).then(async (body) => response.end(await theirs.respond(body)));
      else strangers.serves(request, response);
    };
    const addresses = { source: 'CLIENT' as const, urls: [`http://127.0.0.1:${port}/theirs`] };
    const level: AskedLevel = { ...longTerm, timeStamp: { ...longTerm.timeStamp, addresses } };
    const settings = { anchors: [root.certificate], clientHosts: ['127.0.0.1'], anyRoot: true };
    const answer = await strangers.outcome(settings, strangers.signer(crlAt(`${base}/leaf.crl`)), { level });
    expect(answer).toMatch(/^REVOCATION_UNAVAILABLE: certificate of the time-stamp authority: .* not asked for/);
    expect(answer).toMatch(notAllowed);
    expect(strangers.asked).not.toContain('/theirs.crl');
  });
});

describe('a server that a certificate names is asked', () => {
  const level: AskedLevel = { ...longTerm, timeStamp: stampedByNamed.timeStamp };
  const signer = () => strangers.signer(ocspAt(`${strangers.base}/ocsp`), ...stampsAt(`${strangers.base}/stamp`));

  test.each([
    ['a configured authority vouches for it', () => ({ anchors: [strangers.root.certificate] })],
    [
      'an authority below the root vouches for it, and callers may name the server of the other',
      () => ({ anchors: [strangers.issuing.certificate], clientHosts: [`127.0.0.2:${strangers.port}`] }),
    ],
    ['callers may name it', () => ({ clientHosts: ['127.0.0.2'] })],
  ] as const)('if %s', async (_name, settings) => {
    expect(await strangers.outcome(settings(), signer(), { level })).toBe('made');
    expect(strangers.asked.toSorted()).toEqual(['/ocsp', '/root.crl', '/stamp']);
  });

  test("if the chain is from the service's own records", async () => {
    expect(await strangers.outcome({}, signer(), { level, isOwn: true })).toBe('made');
  });

  test('at the one port of a private network that is allowed', async () => {
    const anchors = [strangers.root.certificate];
    const allowed = { anchors, privateNetworks: [`127.0.0.0/8:${strangers.port}`] };
    expect(await strangers.outcome(allowed, signer(), { level })).toBe('made');
    strangers.asked = [];
    const others = { anchors, privateNetworks: ['127.0.0.0/8:80', `10.0.0.0/8:${strangers.port}`] };
    expect(await strangers.outcome(others, signer(), { level })).toMatch(/^TIMESTAMP_UNAVAILABLE: .*not public/);
    expect(strangers.asked).toEqual([]);
  });
});
