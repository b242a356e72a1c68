import type { OcspConfig } from '../../config/authority-config.ts';
import { parseKeyId } from '../../token/key-id.ts';
import type { CertificateIssuer } from '../issue.ts';
import { readCertificate } from '../../x509/certificate.ts';
import { OcspResponder } from './ocsp-responder.ts';
import type { ResponderTools } from './responder-keys.ts';
import { serialNumberText } from './ocsp-request.ts';
import { SigningLimit, type SigningLimitSettings } from './signing-limit.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

type Authorities = ReadonlyMap<string, CertificateIssuer>;
/** Configuration of each authority, by name. */
type AuthorityConfigs = Readonly<Record<string, { readonly ocsp: OcspConfig; readonly crl: { readonly keepExpired: boolean } }>>;

const tickMs = 1000;
/**
 * Keys of expired responders are destroyed this much later, when no instance uses them any longer
 * even if clocks differ.
 */
const retirementMs = 3_600_000;

/** The OCSP responders of all authorities. */
export class OcspResponders {
  readonly #tools: ResponderTools;
  readonly #limit: SigningLimit;
  #responders: ReadonlyMap<string, OcspResponder> = new Map();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  /** Renewals by all calls of `use`. */
  #changing: Promise<unknown> = Promise.resolve();
  #hasStopped = false;
  readonly #failures = new Map<string, number>();
  /** Monotonic clock, milliseconds. */
  #retireAtMs = -Infinity;

  constructor(tools: ResponderTools, limits: SigningLimitSettings) {
    this.#tools = tools;
    this.#limit = new SigningLimit(limits);
    tools.store.onChange((change) => {
      if (change === 'everything') for (const responder of this.#responders.values()) responder.everythingChanged();
      else if (change.table === 'revocations') this.#take(change.id);
    });
  }

  /**
   * Replaces the configuration. Resolves once each responder has a key and a certificate or has
   * failed to get one (which is retried each second). `others`: further certificates, in DER, that
   * the authorities issued and the state store does not contain.
   */
  async use(authorities: Authorities, config: AuthorityConfigs, others: readonly Uint8Array[] = []): Promise<void> {
    const next = new Map<string, OcspResponder>();
    for (const [name, issuer] of authorities) {
      const settings = config[name];
      if (settings?.ocsp.enabled !== true) continue;
      const { keepExpired } = settings.crl;
      const issuedAuthorities = issuedUnder(issuer, authorities, others);
      const options = { issuer, config: { ...settings.ocsp, keepExpired }, issuedAuthorities, limit: this.#limit };
      next.set(name, new OcspResponder(this.#tools, name, options));
    }
    // The previous responders answer until the new ones can.
    const renewing = this.#renewAll(next);
    this.#changing = Promise.all([this.#changing, renewing]);
    await renewing;
    if (this.#hasStopped) return;
    this.#responders = next;
    await this.#tick();
    this.#timer ??= setInterval(() => void this.#tick(), tickMs).unref();
  }

  find(authority: string): OcspResponder | undefined {
    return this.#responders.get(authority);
  }

  /** Notifies of a committed revocation, hold or release. */
  changed(authority: string, serialNumber: string): void {
    this.#responders.get(authority)?.changed(serialNumber);
  }

  /**
   * Returns notAfter of each responder's certificate in milliseconds since epoch; 0 if there is
   * none.
   */
  ends(): ReadonlyMap<string, number> {
    return new Map([...this.#responders].map(([name, { keys }]) => [name, keys.current?.notAfter.getTime() ?? 0]));
  }

  /** Waits for the certificates that are being issued; afterwards none is. */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    clearInterval(this.#timer);
    await Promise.all([this.#running, this.#changing]);
  }

  async #tick(): Promise<void> {
    if (this.#hasStopped) return this.#running;
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #look(): Promise<void> {
    await this.#renewAll(this.#responders);
    if (performance.now() < this.#retireAtMs) return;
    this.#retireAtMs = performance.now() + retirementMs;
    await this.#trying('', 'keys of expired OCSP responders could not be destroyed', async () => this.#retire());
  }

  async #renewAll(responders: ReadonlyMap<string, OcspResponder>): Promise<void> {
    for (const [name, responder] of responders) await this.#renew(name, responder);
  }

  async #renew(authority: string, { keys }: OcspResponder): Promise<void> {
    if (this.#hasStopped || !keys.isDue) return;
    await this.#trying(authority, 'the OCSP responder could not get a new certificate; retrying each second', async () => keys.renew());
  }

  /** Runs the work and logs only the first of consecutive failures. */
  async #trying(what: string, message: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#failures.delete(what);
    } catch (error) {
      const failures = (this.#failures.get(what) ?? 0) + 1;
      this.#failures.set(what, failures);
      const reason = reasonOf(error);
      if (failures === 1) this.#tools.log.error(message, { ...(what === '' ? {} : { authority: what }), reason });
    }
  }

  async #retire(): Promise<void> {
    const now = this.#tools.store.now();
    const ids = await this.#tools.store.run('retireOcspResponders', { endedBefore: now - retirementMs, now });
    for (const id of ids) await this.#tools.undoing.finish(parseKeyId(id));
  }

  /** `id`: `authority/serial number`. */
  #take(id: string): void {
    const [authority = '', serialNumber = ''] = id.split('/');
    this.changed(authority, serialNumber);
  }
}

/**
 * Returns the authority certificates that count as issued: they have no row in the state store, so
 * the configured ones are used.
 */
function issuedUnder({ certificate }: CertificateIssuer, authorities: Authorities, others: readonly Uint8Array[]): ReadonlySet<string> {
  const ders = [...authorities.values()].flatMap(({ chain, otherChains = [] }) => [...chain, ...otherChains.flat()]);
  const issued = [...ders, ...others].map(readCertificate).filter(({ issuer }) => Buffer.compare(issuer, certificate.subject) === 0);
  return new Set(issued.map(({ serialNumber }) => serialNumberText(Buffer.from(serialNumber).toString('hex'))));
}
