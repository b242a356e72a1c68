import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
}

export interface IssueOptions {
  readonly from?: Date;
  readonly until?: Date;
  /** In OpenSSL's words; empty: no such extension. */
  readonly extendedKeyUsage?: string;
  readonly subjectAltName?: string;
  /** Arguments of `openssl req` that say what key is made. */
  readonly newKey?: readonly string[];
  readonly isAuthority?: boolean;
  /** What the issuer signs it with; absent: SHA-256. */
  readonly hash?: string;
  /** Further lines of extensions, in OpenSSL's words. */
  readonly extensions?: readonly string[];
}

export const hourMs = 60 * 60 * 1000;
const p256 = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];

/** A CA that OpenSSL runs, in a directory of the test's: it issues, revokes, and publishes CRLs. */
export class ScratchAuthority {
  readonly #directory: string;
  readonly #files: CertificateFiles;
  readonly #name: string;

  /** `parent`: who issues its certificate; absent: itself. `renewed`: whose key it has, under a new certificate. `existing`: what it has already. */
  constructor(
    base: string,
    name: string,
    {
      parent,
      renewed,
      existing,
      keyUsage = 'keyCertSign,cRLSign',
    }: { parent?: ScratchAuthority; renewed?: ScratchAuthority; existing?: CertificateFiles; keyUsage?: string } = {},
  ) {
    this.#directory = join(base, `${name}-${randomBytes(4).toString('hex')}`);
    this.#name = name;
    mkdirSync(join(this.#directory, 'issued'), { recursive: true });
    writeFileSync(this.#path('index'), '');
    writeFileSync(
      this.#path('openssl.cnf'),
      [
        '[ca]\ndefault_ca=here\n[here]\ndefault_md=sha256\ndefault_days=1\ndefault_crl_days=1\nunique_subject=no\nrand_serial=yes\npolicy=any\nemail_in_dn=no',
        `database=${this.#path('index')}\nnew_certs_dir=${this.#path('issued')}\n[any]\ncommonName=supplied\n`,
      ].join('\n'),
    );
    if (existing !== undefined) this.#files = existing;
    else if (parent !== undefined) this.#files = parent.issue(name, { isAuthority: true, extendedKeyUsage: '' });
    else {
      this.#files = { certificate: this.#path('ca.pem'), key: renewed?.key ?? this.#path('ca.key') };
      this.#openssl([
        ...['req', '-x509', '-days', '2', '-subj', `/CN=${name}`, '-out', this.#files.certificate],
        ...(renewed === undefined ? [...p256, '-nodes', '-keyout', this.#files.key] : ['-key', renewed.key]),
        ...['-addext', 'basicConstraints=critical,CA:TRUE', '-addext', `keyUsage=critical,${keyUsage}`],
      ]);
    }
  }

  get certificate(): string {
    return this.#files.certificate;
  }

  get key(): string {
    return this.#files.key;
  }

  get name(): string {
    return this.#name;
  }

  issue(name: string, options: IssueOptions = {}): CertificateFiles {
    const { from = new Date(Date.now() - hourMs), until = new Date(Date.now() + hourMs), newKey = p256, isAuthority = false } = options;
    const { extendedKeyUsage = 'clientAuth', subjectAltName, hash = 'sha256', extensions = [] } = options;
    const stem = this.#path(`${name}-${randomBytes(4).toString('hex')}`);
    writeFileSync(
      `${stem}.ext`,
      [
        `basicConstraints=critical,CA:${isAuthority ? 'TRUE' : 'FALSE'}`,
        `keyUsage=critical,${isAuthority ? 'keyCertSign,cRLSign' : 'digitalSignature'}`,
        ...(extendedKeyUsage === '' ? [] : [`extendedKeyUsage=${extendedKeyUsage}`]),
        ...(subjectAltName === undefined ? [] : [`subjectAltName=${subjectAltName}`]),
        ...extensions,
        '',
      ].join('\n'),
    );
    this.#openssl(['req', ...newKey, '-nodes', '-subj', `/CN=${name}`, '-keyout', `${stem}.key`, '-out', `${stem}.csr`]);
    this.#openssl([
      ...['ca', '-batch', '-notext', '-md', hash, '-config', this.#path('openssl.cnf'), '-cert', this.certificate, '-keyfile', this.key],
      ...['-extfile', `${stem}.ext`, '-startdate', digits(from), '-enddate', digits(until), '-in', `${stem}.csr`, '-out', `${stem}.pem`],
    ]);
    return { certificate: `${stem}.pem`, key: `${stem}.key` };
  }

  revoke({ certificate }: CertificateFiles): void {
    this.#openssl(['ca', '-config', this.#path('openssl.cnf'), '-cert', this.certificate, '-keyfile', this.key, '-revoke', certificate]);
  }

  /** Publishes a CRL, with the key and certificate of another authority and a CRL number where they are given. Answers the PEM. */
  revocationList({
    from,
    until,
    signer = this,
    number,
  }: { from?: Date; until?: Date; signer?: ScratchAuthority; number?: number } = {}): string {
    const [out, numbered] = [this.#path('published.crl'), this.#path('numbered.cnf')];
    if (number !== undefined) {
      writeFileSync(this.#path('number'), number.toString(16).padStart(8, '0'));
      const text = readFileSync(this.#path('openssl.cnf'), 'utf8');
      writeFileSync(numbered, text.replace('[here]', `[here]\ncrlnumber=${this.#path('number')}`));
    }
    this.#openssl([
      ...[
        'ca',
        '-gencrl',
        '-config',
        number === undefined ? this.#path('openssl.cnf') : numbered,
        '-cert',
        signer.certificate,
        '-keyfile',
        signer.key,
        '-out',
        out,
      ],
      ...[
        '-crl_lastupdate',
        digits(from ?? new Date(Date.now() - hourMs)),
        '-crl_nextupdate',
        digits(until ?? new Date(Date.now() + hourMs)),
      ],
    ]);
    return readFileSync(out, 'latin1');
  }

  /** An OCSP answer of OpenSSL's responder, in DER, to a request in DER. `responder`: whose key signs; `days`: until the next update, 0 for none. */
  ocspAnswer(request: Uint8Array, { responder = this, days = 1 }: { responder?: CertificateFiles; days?: number } = {}): Buffer {
    const [requestFile, answerFile] = [this.#path('request.ocsp'), this.#path('answer.ocsp')];
    writeFileSync(requestFile, request);
    this.#openssl([
      ...['ocsp', '-index', this.#path('index'), '-CA', this.certificate, '-rsigner', responder.certificate, '-rkey', responder.key],
      ...['-reqin', requestFile, '-respout', answerFile, ...(days === 0 ? [] : ['-ndays', String(days)])],
    ]);
    return readFileSync(answerFile);
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }

  #openssl(args: readonly string[]): void {
    execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  }
}

/** As `openssl ca` takes times. */
function digits(date: Date): string {
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}
