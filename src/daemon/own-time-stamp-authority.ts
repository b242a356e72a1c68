import { readFileSync } from 'node:fs';
import { checkAuthorityKey } from '../certificates/configured-authority.ts';
import { readCertificateText } from '../x509/certificate.ts';
import type { Config } from '../config/config.ts';
import type { Participant, Switch } from '../config/reloader.ts';
import type { TimeStampAuthorityConfig } from '../config/time-stamp-config.ts';
import type { Logger } from '../telemetry/log.ts';
import { kernelClock } from '../timestamp/kernel-clock.ts';
import { loadTimeStampSigner } from '../timestamp/load-signer.ts';
import { aheadMaxMs, TimeStampAuthority, type LatestTime, type TimeStampOutcome } from '../timestamp/time-stamp-authority.ts';
import type { Token } from '../token/token.ts';

const member = 'timeStampAuthority';

/**
 * What the daemon has of its own time-stamp authority: it may be absent, and a reload may replace
 * it.
 */
interface Opened {
  readonly authority: TimeStampAuthority;
  /** DER of its certificate and of those that it had before. */
  readonly certificates: readonly Uint8Array[];
}

interface OwnOptions {
  /** Told how each request ended, of strangers and of this service alike. */
  readonly answered: (outcome: TimeStampOutcome) => void;
  readonly log: Logger;
}

/**
 * The own time-stamp authority of the configuration that is valid, for /tsa and for signatures of
 * this service.
 */
export class OwnTimeStampAuthority implements Participant {
  readonly #token: Pick<Token, 'signAsService'>;
  readonly #answered: (outcome: TimeStampOutcome) => void;
  readonly #log: Logger;
  /** A process that this one follows may have been ahead of the clock by so much. */
  readonly #latest: LatestTime = { ms: Math.ceil(performance.timeOrigin) + aheadMaxMs };
  #opened: Opened | undefined;

  private constructor(token: Pick<Token, 'signAsService'>, { answered, log }: OwnOptions) {
    this.#token = token;
    this.#answered = answered;
    this.#log = log;
  }

  /** @throws {Error} where it could not make tokens that hold */
  static async open(
    token: Pick<Token, 'signAsService'>,
    config: Pick<Config, typeof member>,
    options: OwnOptions,
  ): Promise<OwnTimeStampAuthority> {
    const own = new OwnTimeStampAuthority(token, options);
    (await own.prepare(config))();
    return own;
  }

  /** Undefined where none is configured. Ask anew for each use. */
  get authority(): TimeStampAuthority | undefined {
    return this.#opened?.authority;
  }

  /** DER of its certificate and of those that it had before; none where there is no authority. */
  get certificates(): readonly Uint8Array[] {
    return this.#opened?.certificates ?? [];
  }

  /** Milliseconds since epoch; undefined where there is no authority. */
  get certificateEndsMs(): number | undefined {
    return this.#opened?.authority.signer.certificate.notAfter.getTime();
  }

  /** Why it gives no tokens now: all else goes on without them. */
  warnings(): Record<string, string> {
    const fault = this.#opened?.authority.fault();
    return fault === undefined ? {} : { timeStampAuthority: `the time-stamp authority gives no tokens: ${fault}` };
  }

  async prepare({ timeStampAuthority: config }: Pick<Config, typeof member>): Promise<Switch> {
    const next = config === undefined ? undefined : await this.#open(config);
    return () => {
      this.#opened = next;
    };
  }

  async #open(config: TimeStampAuthorityConfig): Promise<Opened> {
    const signer = orFault(() => loadTimeStampSigner(this.#token, config));
    const former = orFault(() => config.formerCertificates.map((file) => readCertificateText(readFileSync(file)).der));
    await checkAuthorityKey(member, signer);
    const { policy, otherPolicies, hashes, accuracyMilliseconds, ordering, clockErrorMaxMilliseconds } = config;
    const accuracy = { seconds: Math.floor(accuracyMilliseconds / 1000), milliseconds: accuracyMilliseconds % 1000 };
    const clock = kernelClock(clockErrorMaxMilliseconds, (fault) => {
      if (fault === undefined) this.#log.info('the time-stamp authority gives tokens again');
      else this.#log.error('the time-stamp authority gives no tokens', { reason: fault });
    });
    // An operator is to see it at the start.
    clock.fault();
    const authority = new TimeStampAuthority(signer, { policy, otherPolicies, hashes: new Set(hashes), accuracy, ordering }, clock, {
      latest: this.#latest,
      answered: this.#answered,
    });
    return { authority, certificates: [signer.certificate.der, ...former] };
  }
}

function orFault<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${member}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
