import { readFileSync } from 'node:fs';
import type { ClientCertificate } from '../clients/registry.ts';
import { configuredCertificates, type ConfiguredCertificate } from '../config/configured-certificates.ts';
import type { Config } from '../config/config.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { Logger } from '../telemetry/log.ts';
import { readCertificate } from '../x509/certificate.ts';
import { isInLastFifth } from '../x509/last-fifth.ts';
import { certificatesIn } from '../x509/pem.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** Something with an end, after which something else no longer works. */
export interface End {
  /** Its name among the warnings, unique. */
  readonly name: string;
  readonly from: Date;
  readonly until: Date;
  readonly remedy: string;
}

interface ConfiguredEnd extends End {
  readonly member: string;
  readonly file: string;
}

interface Sources {
  readonly config: () => Config;
  readonly clients: () => readonly ClientCertificate[];
  /** What the service renews by itself: if it is near its end, the renewal fails. */
  readonly renewed: () => readonly End[];
  /** Warnings that others give, for the log. */
  readonly others: () => Readonly<Record<string, string>>;
  readonly log: Logger;
}

/**
 * Reminds of everything that ends, from the last fifth of its lifetime: in the warnings of the
 * readiness check, and in the log once a day.
 */
export class Reminders {
  readonly #sources: Sources;
  readonly #timer: NodeJS.Timeout;
  /** The certificates in the files of one configuration; a reload brings another one. */
  #read: { readonly config: Config; readonly ends: readonly ConfiguredEnd[] } | undefined;

  constructor(sources: Sources) {
    this.#sources = sources;
    this.#timer = setInterval(() => {
      this.remind();
    }, dayMs).unref();
  }

  /** Returns a sentence for each thing that ends soon or has ended, by its name. */
  warnings(nowMs = Date.now()): Record<string, string> {
    return Object.fromEntries(this.#due(nowMs).map((end) => [end.name, sentenceOf(end, nowMs)]));
  }

  /** Logs a warning for each of them. */
  remind(nowMs = Date.now()): void {
    for (const { name, until, remedy } of this.#due(nowMs)) {
      this.#sources.log.warn(until.getTime() <= nowMs ? 'something has ended' : 'something ends soon', {
        ...{ name, until: until.toISOString(), remedy },
      });
    }
    for (const [part, text] of Object.entries(this.#sources.others())) this.#sources.log.warn(text, { part });
  }

  /** As `configuredEnds` of the configuration in force. */
  get configured(): readonly ConfiguredEnd[] {
    const config = this.#sources.config();
    if (this.#read?.config !== config) {
      this.#read = { config, ends: configuredEnds(config, this.#sources.log) };
    }
    return this.#read.ends;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #due(nowMs: number): End[] {
    return this.#ends().filter(({ from, until }) => until.getTime() <= nowMs || isInLastFifth(from, until, nowMs));
  }

  #ends(): End[] {
    return [...this.configured, ...this.#sources.clients().map(endOfClient), ...this.#sources.renewed()];
  }
}

/**
 * Returns the ends of the certificates in the configured files, except that of the API, which its
 * listener watches.
 */
export function configuredEnds(config: Config, log: Logger): readonly ConfiguredEnd[] {
  return configuredCertificates(config)
    .filter(({ member }) => member !== 'listeners.api.certificate')
    .flatMap((one) => endsInFile(one, log));
}

function endsInFile({ member, file }: ConfiguredCertificate, log: Logger): ConfiguredEnd[] {
  try {
    return certificatesIn(readFileSync(file, 'latin1')).map((der, index) => {
      const { notBefore: from, notAfter: until } = readCertificate(der);
      const name = `${member}: ${file}${index === 0 ? '' : `, certificate ${index + 1}`}`;
      return { member, file, name, from, until, remedy: 'replace it, then run signetctl reload' };
    });
  } catch (error) {
    log.warn('the end of a certificate is not known', { member, reason: reasonOf(error) });
    return [];
  }
}

function endOfClient({ client, spkiSha256, from, until }: ClientCertificate): End {
  const remedy = 'signetctl client renew issues the next one; signetctl client revoke ends a registration that is no longer used';
  return { name: `client certificate ${client} (public key ${spkiSha256.slice(0, 16)})`, from, until, remedy };
}

function sentenceOf({ name, until, remedy }: End, nowMs: number): string {
  return `${name} ${until.getTime() <= nowMs ? 'expired' : 'expires'} on ${until.toISOString()}: ${remedy}`;
}
