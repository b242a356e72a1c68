import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { X509Certificate } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import type { OwnAuthority, WantedData } from '../../../src/revocation/revocation-data.ts';
import { checkSourcesNamed } from '../../../src/signatures/levels/known-sources.ts';
import { pathCertificate, type PathCertificate } from '../../../src/x509/path/path-certificate.ts';
import { ScratchAuthority } from '../../support/scratch-authority.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-sources-'));
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const read = ({ certificate }: { readonly certificate: string }): PathCertificate =>
  pathCertificate(new Uint8Array(new X509Certificate(readFileSync(certificate)).raw));
const rootAuthority = new ScratchAuthority(directory, 'Root');
const issuingAuthority = new ScratchAuthority(directory, 'Issuing', { parent: rootAuthority });
const bare = (certificate: PathCertificate): PathCertificate => ({ ...certificate, ocspUrls: [], distributionPoints: [] });
const root = bare(read(rootAuthority));
const issuing = bare(read(issuingAuthority));
const person = bare(read(issuingAuthority.issue('Person', { extendedKeyUsage: '' })));

const url = 'http://pki.example/';
const withOcsp = (certificate: PathCertificate, address = url): PathCertificate => ({ ...certificate, ocspUrls: [address] });
const withCrl = (certificate: PathCertificate, address = url): PathCertificate => ({
  ...certificate,
  distributionPoints: [{ kind: 'uri', text: address }],
});
const server = (...urls: string[]) => ({ kind: 'SERVER', urls: urls.map((text) => new URL(text)) }) as const;
const client = (...urls: string[]) => ({ kind: 'CLIENT', urls: urls.map((text) => new URL(text)) }) as const;
const inCertificate = { kind: 'CERTIFICATE' } as const;
/** What is wanted of those above, where it is of no interest. */
const anything: WantedData = { choice: 'CRL', ocsp: server(url), crl: server(url) };
const fields = { ofSigner: 'signerField', ofAuthorities: 'authoritiesField' };

interface Case {
  readonly chain?: readonly PathCertificate[];
  readonly signer?: WantedData;
  readonly authorities?: WantedData;
  readonly own?: OwnAuthority;
  /** The one whose own data it is. */
  readonly ownOf?: PathCertificate;
  /** Those that no configured authority vouches for. */
  readonly strangers?: readonly PathCertificate[];
  /** The host that callers may name. */
  readonly clientHost?: string;
}

/** The words of the refusal; undefined if every source is named. */
function fault({
  chain = [person, issuing, root],
  signer = anything,
  authorities = anything,
  own,
  ownOf = issuing,
  strangers = [],
  clientHost,
}: Case): unknown {
  try {
    checkSourcesNamed({
      ...{ certificates: chain, ofSigner: signer, ofAuthorities: authorities, fields },
      ownAuthority: (issuer) => (issuer === ownOf ? own : undefined),
      http: { isClientHost: ({ hostname }) => hostname === clientHost },
      vouches: (certificate, above) => {
        expect(chain.slice(chain.indexOf(certificate) + 1)).toEqual(above);
        return !strangers.includes(certificate);
      },
    });
    return undefined;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'REVOCATION_UNAVAILABLE') throw error;
    return error.message;
  }
}

const by = (choice: WantedData['choice'], ocsp: WantedData['ocsp'], crl: WantedData['crl']): WantedData => ({ choice, ocsp, crl });

describe('the signer certificate', () => {
  it('needs the source of what is wanted, and no other', () => {
    const [some, none] = [server(url), server()];
    const noOcsp =
      /^no OCSP responder is known for the signer certificate: the configuration has none \(revocation\.ocspUrls\); signerField\.OCSP/;
    const noCrl = /^no CRL is known for the signer certificate: the configuration has none \(revocation\.crlUrls\); signerField\.CRL/;
    expect(fault({ signer: by('OCSP', none, some) })).toMatch(noOcsp);
    expect(fault({ signer: by('OCSP', some, none) })).toBeUndefined();
    expect(fault({ signer: by('CRL', some, none) })).toMatch(noCrl);
    expect(fault({ signer: by('CRL', none, some) })).toBeUndefined();
    expect(fault({ signer: by('BOTH', none, some) })).toMatch(noOcsp);
    expect(fault({ signer: by('BOTH', some, none) })).toMatch(noCrl);
    expect(fault({ signer: by('BOTH', some, some) })).toBeUndefined();
  });

  it('is asked about by OCSP where nothing is said if it names a responder, and by CRL otherwise', () => {
    const [some, none] = [server(url), server()];
    const ocspOnly = by(undefined, some, none);
    const crlOnly = by(undefined, none, some);
    expect(fault({ signer: ocspOnly })).toMatch(/^no CRL/);
    expect(fault({ signer: crlOnly })).toBeUndefined();
    const chain = [withOcsp(person), issuing, root];
    expect(fault({ chain, signer: ocspOnly })).toBeUndefined();
    expect(fault({ chain, signer: crlOnly })).toMatch(/^no OCSP/);
    // A responder of this service's own authority counts as one that is named.
    const own: OwnAuthority = { ocspAnswer: async () => Promise.resolve(new Uint8Array()) };
    expect(fault({ signer: by(undefined, inCertificate, inCertificate), own })).toBeUndefined();
    expect(fault({ signer: by(undefined, inCertificate, inCertificate) })).toMatch(/^no CRL/);
  });

  it('names its sources itself where it is asked for them: addresses of HTTP alone', () => {
    const signer = by('BOTH', inCertificate, inCertificate);
    const hint = 'accepts addresses with URLSource CLIENT, or uses the configured ones with SERVER';
    const chainOf = (certificate: PathCertificate): readonly PathCertificate[] => [certificate, issuing, root];
    expect(fault({ chain: chainOf(withCrl(withOcsp(person))), signer })).toBeUndefined();
    expect(fault({ chain: chainOf(withCrl(person)), signer })).toBe(
      `no OCSP responder is known for the signer certificate: signerField.OCSP ${hint}`,
    );
    expect(fault({ chain: chainOf(withOcsp(person)), signer })).toBe(`no CRL is known for the signer certificate: signerField.CRL ${hint}`);
    expect(fault({ chain: chainOf(withCrl(withOcsp(person, 'ldap://x/'))), signer })).toMatch(/^no OCSP/);
    expect(fault({ chain: chainOf(withCrl(withOcsp(person), 'ldap://x/')), signer })).toMatch(/^no CRL/);
    const directoryName: PathCertificate = { ...withOcsp(person), distributionPoints: [{ kind: 'email', text: url }] };
    expect(fault({ chain: chainOf(directoryName), signer })).toMatch(/^no CRL/);
  });

  it('needs none where its issuer is an authority of this service, unless the caller gives an address', () => {
    const own: OwnAuthority = {
      crl: async () => Promise.resolve(new Uint8Array()),
      ocspAnswer: async () => Promise.resolve(new Uint8Array()),
    };
    for (const source of [server(), inCertificate]) {
      expect(fault({ signer: by('BOTH', source, source), own })).toBeUndefined();
      expect(fault({ signer: by('BOTH', source, source), own, ownOf: root })).toMatch(/^no OCSP/);
      expect(fault({ signer: by('BOTH', source, source), own: { ocspAnswer: own.ocspAnswer } })).toMatch(/^no CRL/);
      expect(fault({ signer: by('BOTH', source, source), own: { crl: own.crl } })).toMatch(/^no OCSP/);
    }
    expect(fault({ signer: by('OCSP', client(), client()), own })).toMatch(/^no OCSP/);
    expect(fault({ signer: by('CRL', client(), client()), own })).toMatch(/^no CRL/);
    expect(fault({ signer: by('BOTH', client(url), client(url)), own })).toBeUndefined();
  });
});

describe('the certificates above it', () => {
  it('have sources of their own, up to the root, which needs none', () => {
    const none = by('CRL', server(), server());
    expect(fault({ authorities: none })).toMatch(
      /^no CRL is known for a certificate above the signer certificate: .*authoritiesField\.CRL/,
    );
    expect(fault({ authorities: anything, signer: none })).toMatch(/^no CRL is known for the signer certificate/);
    expect(fault({ chain: [root], signer: none, authorities: none })).toBeUndefined();
    expect(fault({ chain: [issuing, root], signer: anything, authorities: none })).toBeUndefined();
  });

  it('must lead to a root', () => {
    const unknown = 'is unknown: the chain must lead to the root (certificateChain)';
    expect(fault({ chain: [person] })).toBe(`the issuer of the signer certificate ${unknown}`);
    expect(fault({ chain: [person, issuing] })).toBe(`the issuer of a certificate above the signer certificate ${unknown}`);
  });
});

describe('a certificate that no configured authority vouches for', () => {
  const named = withCrl(withOcsp(person));
  const chain = [named, issuing, root];

  it('names only servers that callers may name', () => {
    for (const choice of ['OCSP', 'CRL', 'BOTH'] as const) {
      const signer = by(choice, inCertificate, inCertificate);
      expect(fault({ chain, signer })).toBeUndefined();
      expect(fault({ chain, signer, strangers: [issuing] })).toBeUndefined();
      expect(fault({ chain, signer, strangers: [named], clientHost: 'pki.example' })).toBeUndefined();
      expect(fault({ chain, signer, strangers: [named], clientHost: 'other.example' })).toMatch(
        /^the (?:OCSP responder|CRL) that the signer certificate names is not asked for: no configured authority vouches .* the host pki\.example .*signerField/,
      );
    }
  });

  it('needs no server of its own for what the caller, the configuration or its own authority has', () => {
    const strangers = [named];
    for (const source of [server(url), client(url)])
      expect(fault({ chain, signer: by('BOTH', source, source), strangers })).toBeUndefined();
    const own: OwnAuthority = {
      crl: async () => Promise.resolve(new Uint8Array()),
      ocspAnswer: async () => Promise.resolve(new Uint8Array()),
    };
    expect(fault({ chain, signer: by('BOTH', inCertificate, inCertificate), own, strangers })).toBeUndefined();
  });
});
