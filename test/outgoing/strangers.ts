import { createPrivateKey, createPublicKey, sign, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { tenantId } from '../../src/clients/caller.ts';
import { OutgoingConfig, RevocationConfig } from '../../src/config/outgoing-config.ts';
import { TimeStampsConfig } from '../../src/config/time-stamp-config.ts';
import { levelServices, tenantLevels } from '../../src/daemon/level-services.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { AskedLevel } from '../../src/signatures/levels/asked-level.ts';
import type { Levels } from '../../src/signatures/levels/level-order.ts';
import { prepareSignatures } from '../../src/signatures/prepare-signatures.ts';
import { completeSignatures } from '../../src/signatures/signatures.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TimeStampAuthority } from '../../src/timestamp/time-stamp-authority.ts';
import { readCertificate } from '../../src/x509/certificate.ts';
import { documentOf, planOf, valueOf, type SoftwareSigner } from '../signatures/software-signer.ts';
import { ScratchAuthority, type CertificateFiles } from '../support/scratch-authority.ts';

const named = { source: 'CERTIFICATE' } as const;
export const status = { ocsp: named, crl: named } as const;
export const longTerm: AskedLevel = {
  level: 'LT',
  timeStamp: { addresses: { source: 'SERVER' }, hash: 'sha256', nonce: true },
  ofSigner: status,
  ofAuthorities: status,
};
export const stampedByNamed: AskedLevel = { ...longTerm, level: 'T', timeStamp: { ...longTerm.timeStamp, addresses: named } };

/** Extensions of a certificate, in OpenSSL's words. */
export const ocspAt = (url: string): string => `authorityInfoAccess=OCSP;URI:${url}`;
export const crlAt = (url: string): string => `crlDistributionPoints=URI:${url}`;
export const stampsAt = (url: string): string[] => [
  '1.2.840.113583.1.1.9.1=ASN1:SEQUENCE:stamps',
  '[stamps]',
  'version=INTEGER:1',
  `location=IMPLICIT:6,IA5STRING:${url}`,
];

/** Of the configuration. */
interface Settings {
  readonly clientHosts?: readonly string[];
  readonly anchors?: readonly string[];
  readonly privateNetworks?: readonly string[];
  readonly anyRoot?: boolean;
}

/** Who signs, and with whose certificates above. */
interface Asking {
  readonly level?: AskedLevel;
  readonly isOwn?: boolean;
}

/** A chain that no configuration knows, and a server that its certificates may name. */
export class Strangers {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-strangers-'));
  readonly root = new ScratchAuthority(this.directory, 'Root');
  readonly issuing = new ScratchAuthority(this.directory, 'Issuing', { parent: this.root });
  /** Of the configured time-stamp authority, whose certificate names `/stamps.crl`. */
  readonly stampRoot = new ScratchAuthority(this.directory, 'Stamps');
  /** Paths that were asked for, but for that of the stamps. */
  asked: string[] = [];
  /** Why requests failed, as the log says. */
  reasons: string[] = [];
  /** How the server answers; the status is 500 unless told otherwise. */
  listener: RequestListener = (_request, response) => void response.writeHead(500).end();
  readonly #threads = new WorkThreads();
  readonly #server: Server = createServer((request, response) => {
    if (request.url === '/stamps.crl') {
      response.end(this.stampRoot.revocationList());
      return;
    }
    this.asked.push(request.url ?? '');
    this.listener(request, response);
  });
  #stamper: TimeStampAuthority | undefined;
  #named: CertificateFiles | undefined;

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '0.0.0.0', resolve));
    this.#stamper = this.stamperBelow([this.stampRoot], [crlAt(`${this.base}/stamps.crl`)]);
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await this.#threads.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** An address to which the service may connect, and which callers may not name. */
  get base(): string {
    return `http://127.0.0.2:${this.port}`;
  }

  get stamper(): TimeStampAuthority {
    if (this.#stamper === undefined) throw new Error('not started');
    return this.#stamper;
  }

  /** Answers as the authorities do. */
  readonly serves: RequestListener = (request, response) => {
    if (request.url === '/root.crl') response.end(this.root.revocationList());
    else if (request.url === '/leaf.crl') response.end(this.issuing.revocationList());
    else if (request.url === '/stamp') void buffer(request).then(async (body) => response.end(await this.stamper.respond(body)));
    else void buffer(request).then((body) => response.end(this.issuing.ocspAnswer(body)));
  };

  /** A person's certificate. */
  person(...extensions: readonly string[]): CertificateFiles {
    return this.issuing.issue('Person', { extendedKeyUsage: '', extensions });
  }

  /** The name and key of the issuing authority in a certificate of another issuer. */
  sameKeyBelow(issuer: ScratchAuthority, extensions: readonly string[]): CertificateFiles {
    const newKey = ['-new', '-key', this.issuing.key];
    return issuer.issue('Issuing', { isAuthority: true, extendedKeyUsage: '', extensions, newKey });
  }

  /** The issuing authority in a certificate of its root that names the list of the root. */
  get issuingNamed(): CertificateFiles {
    this.#named ??= this.sameKeyBelow(this.root, [crlAt(`${this.base}/root.crl`)]);
    return this.#named;
  }

  /** A person below it whose certificate has these extensions. */
  signer(...extensions: readonly string[]): SoftwareSigner {
    return this.signerOf(this.person(...extensions), [this.issuingNamed, this.root]);
  }

  signerOf(files: CertificateFiles, issuers: readonly Pick<CertificateFiles, 'certificate'>[] = [this.issuing, this.root]): SoftwareSigner {
    const certificate = readCertificate(derOf(files));
    return {
      privateKey: createPrivateKey(readFileSync(files.key)),
      pem: '',
      certificate,
      publicKey: createPublicKey({ key: Buffer.from(certificate.subjectPublicKeyInfo), format: 'der', type: 'spki' }),
      issuers: issuers.map(derOf),
      algorithm: { scheme: 'ECDSA', hash: 'sha256' },
    };
  }

  /** A time-stamp authority below others, the nearest first. */
  stamperBelow(above: readonly [ScratchAuthority, ...ScratchAuthority[]], extensions: readonly string[] = []): TimeStampAuthority {
    const files = above[0].issue('Stamper', { extendedKeyUsage: 'critical,timeStamping', extensions });
    const key = createPrivateKey(readFileSync(files.key));
    return new TimeStampAuthority(
      {
        certificate: readCertificate(derOf(files)),
        chain: [files, ...above].map(derOf),
        algorithm: { scheme: 'ECDSA', hash: 'sha256' },
        sign: async (bytes) => Promise.resolve(sign('sha256', bytes, key)),
      },
      { policy: '1.2.3.4', otherPolicies: [], hashes: new Set(['sha256']), accuracy: { seconds: 1, milliseconds: 0 }, ordering: false },
      { now: () => new Date(), fault: () => undefined },
    );
  }

  /** Says what comes of a request under a configuration: before the secret, then with the signature's value. */
  async outcome(settings: Settings, signer: SoftwareSigner, { level = longTerm, isOwn = false }: Asking = {}): Promise<string> {
    const { chain, ...plan } = planOf(signer, { detached: true });
    if (chain === undefined) throw new Error('there is a signer');
    const owned = isOwn ? { ...chain, isOwn: true as const } : chain;
    const levels = this.#levelsWith(settings);
    try {
      await levels.check(level, owned, { hash: 'sha256' });
      const prepared = await prepareSignatures({ ...plan, chain: owned, level }, [documentOf(Buffer.from('content'))], this.#threads);
      const values = new Map(prepared.prepared.map((one) => [one.id, valueOf(signer, one)]));
      const [made] = await completeSignatures(prepared, values, { threads: this.#threads, levels });
      return made?.notice ?? 'made';
    } catch (error) {
      if (error instanceof Refusal) return `${error.code}: ${error.message}`;
      throw error;
    }
  }

  #levelsWith({ clientHosts = [], anchors = [], privateNetworks = ['127.0.0.0/8'], anyRoot = false }: Settings): Levels {
    const config = {
      outgoing: OutgoingConfig.parse({ clientHosts, privateNetworks, timeoutSeconds: 20 }),
      revocation: RevocationConfig.parse({ anchors }),
      timeStamps: TimeStampsConfig.parse({ anchors: [this.stampRoot.certificate] }),
      certificateAuthorities: {},
    };
    const services = levelServices(config, {
      authorities: new Map(),
      crls: { madeSince: async () => Promise.resolve(undefined) },
      ocspResponders: { find: () => undefined },
      timeStampAuthority: () => this.stamper,
      threads: this.#threads,
      asked: ({ outcome, why }) => {
        if (why !== undefined && outcome !== 'abandoned') this.reasons.push(why);
      },
    });
    const tenants = { demo: { timeStampsFromAnyRoot: anyRoot, allowSha1: false } };
    return tenantLevels(services, { tenants }, { tenant: tenantId('demo') });
  }
}

function derOf({ certificate }: Pick<CertificateFiles, 'certificate'>): Uint8Array {
  return new Uint8Array(new X509Certificate(readFileSync(certificate)).raw);
}
