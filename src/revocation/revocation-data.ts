import { createHash, randomBytes } from 'node:crypto';
import { DerError } from '../asn1/reader.ts';
import type { PathCertificate } from '../certificates/path/path-certificate.ts';
import { FetchFailed, type OutgoingHttp } from '../outgoing/outgoing-http.ts';
import { httpUrl, UrlRefused } from '../outgoing/url-rules.ts';
import { crlStatus } from './crl-status.ts';
import { readCrl, type Crl } from './crl.ts';
import { KeptData } from './kept-data.ts';
import { ocspRequest, readOcspAnswer, type OcspAnswer } from './ocsp-answer.ts';
import { ocspStatus } from './ocsp-status.ts';
import { undetermined, type CertificateStatus } from './status.ts';

/** Where one kind of data comes from: the addresses that the certificate names, or these. */
export type DataSource = { readonly kind: 'CERTIFICATE' } | { readonly kind: 'CLIENT' | 'SERVER'; readonly urls: readonly URL[] };

/** What is wanted of one certificate (contract §5, formats.md: Revocation data). */
export interface WantedData {
  /** Absent: OCSP where the certificate names a responder, else CRL. */
  readonly choice?: 'OCSP' | 'CRL' | 'BOTH' | undefined;
  readonly ocsp: DataSource;
  readonly crl: DataSource;
}

/** What was had of one certificate. */
export interface RevocationData {
  readonly status: CertificateStatus;
  /** DER, as they came: they go into signatures. */
  readonly crls: readonly Uint8Array[];
  /** OCSPResponse in DER. */
  readonly ocspAnswers: readonly Uint8Array[];
}

/** The service's own authorities answer without HTTP. */
export interface OwnAuthority {
  /** Absent where another system issues them. @throws {Error} where there is none at the moment */
  readonly crl?: (() => Promise<Uint8Array>) | undefined;
  readonly ocspAnswer?: ((request: Uint8Array) => Promise<Uint8Array>) | undefined;
}

export interface RevocationQuestion {
  readonly certificate: PathCertificate;
  readonly issuer: PathCertificate;
  /** Other certificates of the issuer's name whose path is valid: they may sign CRLs. */
  readonly otherIssuers?: readonly PathCertificate[];
  readonly wanted: WantedData;
  readonly at: Date;
  /** No server is asked once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const crlMaxBytes = 64 * 1024 * 1024;
const ocspMaxBytes = 64 * 1024;
const keptCrlBytes = 128 * 1024 * 1024;
const keptOcspBytes = 16 * 1024 * 1024;
const nonceBytes = 16;
/** Data without an end is kept so long. */
const keptWithoutEndMs = 60_000;

/** Gets revocation data, judges it, and keeps it as long as it is good. */
export class RevocationSources {
  readonly #http: OutgoingHttp;
  readonly #own: (issuer: PathCertificate) => OwnAuthority | undefined;
  readonly #crls = new KeptData<Crl>(keptCrlBytes);
  /** The own CRL is the same bytes until the next one. */
  readonly #ownCrls = new WeakMap<Uint8Array, Crl>();
  readonly #ocspAnswers = new KeptData<OcspAnswer>(keptOcspBytes);

  constructor(http: OutgoingHttp, own: (issuer: PathCertificate) => OwnAuthority | undefined = () => undefined) {
    this.#http = http;
    this.#own = own;
  }

  /** Never throws for data that cannot be had: the status is undetermined then, and says why. */
  async of(question: RevocationQuestion): Promise<RevocationData> {
    const { certificate, wanted } = question;
    const isOwn = this.#own(question.issuer)?.ocspAnswer !== undefined;
    const choice = wanted.choice ?? (isOwn || certificate.ocspUrls.length > 0 ? 'OCSP' : 'CRL');
    const [ocsp, crl] = await Promise.all([
      choice === 'CRL' ? undefined : this.#byOcsp(question),
      choice === 'OCSP' ? undefined : this.#byCrl(question),
    ]);
    const given = [ocsp, crl].filter((one) => one !== undefined);
    return {
      status: given.find(({ status }) => status.kind === 'revoked')?.status ??
        given.find(({ status }) => status.kind === 'undetermined')?.status ?? { kind: 'good' },
      crls: crl?.data === undefined ? [] : [crl.data],
      ocspAnswers: ocsp?.data === undefined ? [] : [ocsp.data],
    };
  }

  async #byOcsp({ certificate, issuer, wanted, at, signal }: RevocationQuestion): Promise<Judged> {
    const ownAnswer = wanted.ocsp.kind === 'CLIENT' ? undefined : this.#own(issuer)?.ocspAnswer;
    if (ownAnswer !== undefined) return ownOcsp(ownAnswer, { certificate, issuer, at });
    const urls = wanted.ocsp.kind === 'CERTIFICATE' ? urlsOf(certificate.ocspUrls) : wanted.ocsp.urls;
    return firstGood({ urls, none: 'no OCSP responder is named for the certificate', signal }, async (url) => {
      const key = `${url.href} ${hashOf(issuer.subjectPublicKeyInfo)} ${Buffer.from(certificate.serialNumber).toString('hex')}`;
      const answer = await this.#ocspAnswers.get(key, at, async () => {
        const nonce = randomBytes(nonceBytes);
        const body = ocspRequest(certificate, issuer, nonce);
        const headers = { 'Content-Type': 'application/ocsp-request', Accept: 'application/ocsp-response' };
        const { body: bytes } = await this.#http.fetch({ url, method: 'POST', headers, body, answerMaxBytes: ocspMaxBytes });
        const value = readOcspAnswer(bytes);
        const status = ocspStatus(value, { certificate, issuer, at, nonce });
        if (status.kind === 'undetermined') throw new FetchFailed(status.why);
        return { value, bytes: bytes.length, until: ocspEnd(value, at) };
      });
      return { status: ocspStatus(answer, { certificate, issuer, at }), data: answer.der };
    });
  }

  async #byCrl(question: RevocationQuestion): Promise<Judged> {
    const { certificate, issuer, otherIssuers = [], wanted, at, signal } = question;
    const judge = (crl: Crl): CertificateStatus => crlStatus(crl, { certificate, issuers: [issuer, ...otherIssuers], at });
    const ownCrl = wanted.crl.kind === 'CLIENT' ? undefined : this.#own(issuer)?.crl;
    if (ownCrl !== undefined) {
      try {
        const der = await ownCrl();
        const crl = this.#ownCrls.get(der) ?? readCrl(der);
        this.#ownCrls.set(der, crl);
        return { status: judge(crl), data: crl.der };
      } catch (error) {
        return { status: undetermined(`the authority's own CRL: ${messageOf(error)}`) };
      }
    }
    const named = certificate.distributionPoints.flatMap((name) => (name.kind === 'uri' ? [name.text] : []));
    const urls = wanted.crl.kind === 'CERTIFICATE' ? urlsOf(named) : wanted.crl.urls;
    return firstGood({ urls, none: 'no CRL is named for the certificate', signal }, async (url) => {
      const crl = await this.#crls.get(url.href, at, async () => {
        const { body } = await this.#http.fetch({ url, method: 'GET', answerMaxBytes: crlMaxBytes });
        const value = readCrl(derOf(body));
        return { value, bytes: body.length, until: value.nextUpdate?.getTime() ?? at.getTime() + keptWithoutEndMs };
      });
      const status = judge(crl);
      // What helps nobody is not kept from those who come later, when the server may have a better one. That of another issuer helps others.
      if (status.kind === 'undetermined' && crl.issuer.key === issuer.subject.key) this.#crls.forget(url.href);
      return { status, data: crl.der };
    });
  }
}

/** What the own authority says of a certificate. */
async function ownOcsp(
  answerTo: NonNullable<OwnAuthority['ocspAnswer']>,
  question: Pick<RevocationQuestion, 'certificate' | 'issuer' | 'at'>,
): Promise<Judged> {
  try {
    const answer = readOcspAnswer(await answerTo(ocspRequest(question.certificate, question.issuer, undefined)));
    return { status: ocspStatus(answer, question), data: answer.der };
  } catch (error) {
    return { status: undetermined(`the authority's own OCSP responder: ${messageOf(error)}`) };
  }
}

interface Judged {
  readonly status: CertificateStatus;
  readonly data?: Uint8Array | undefined;
}

/** The first source that decides. The last failure is told where none does. */
async function firstGood(
  { urls, none, signal }: { readonly urls: readonly URL[]; readonly none: string; readonly signal: AbortSignal | undefined },
  ask: (url: URL) => Promise<Judged>,
): Promise<Judged> {
  let last: Judged = { status: undetermined(none) };
  for (const url of urls) {
    if (signal?.aborted === true) return { status: undetermined('the time of the request is over') };
    try {
      const judged = await ask(url);
      if (judged.status.kind !== 'undetermined') return judged;
      last = { status: undetermined(`${url.href}: ${judged.status.why}`) };
    } catch (error) {
      if (!(error instanceof FetchFailed || error instanceof DerError)) throw error;
      last = { status: undetermined(`${url.href}: ${error.message}`) };
    }
  }
  return last;
}

/** Other schemes, such as ldap, are passed over. */
function urlsOf(texts: readonly string[]): URL[] {
  return texts.flatMap((text) => {
    try {
      return [httpUrl(text)];
    } catch (error) {
      if (error instanceof UrlRefused) return [];
      throw error;
    }
  });
}

function ocspEnd({ answers }: OcspAnswer, at: Date): number {
  return Math.min(...answers.map(({ nextUpdate }) => nextUpdate?.getTime() ?? at.getTime() + keptWithoutEndMs));
}

/** Some servers send PEM (RFC 7468 §6). */
function derOf(bytes: Uint8Array): Uint8Array {
  if (bytes[0] === 0x30) return bytes;
  const [, base64] = /-----BEGIN X509 CRL-----([A-Za-z0-9+/=\s]+)-----END X509 CRL-----/.exec(Buffer.from(bytes).toString('latin1')) ?? [];
  if (base64 === undefined) throw new DerError('neither a CRL in DER nor one in PEM', 0);
  return Buffer.from(base64, 'base64');
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
