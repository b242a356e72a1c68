import { randomBytes } from 'node:crypto';
import { readTimeStampRequest, RequestRejected, type Failure, type ImprintHash, type TimeStampRequest } from './request.ts';
import { grantedResponse, rejection } from './response.ts';
import { timeStampToken, type TokenSigner } from './token-writer.ts';
import { tstInfoDer, type Accuracy } from './tst-info.ts';

export interface AuthorityRules {
  /** The policy of its tokens, dotted text. */
  readonly policy: string;
  /** Further policies that a request may ask for. */
  readonly otherPolicies: readonly string[];
  readonly hashes: ReadonlySet<ImprintHash>;
  readonly accuracy: Accuracy;
  readonly ordering: boolean;
}

/** Clock for the time in tokens. */
export interface AuthorityClock {
  now(): Date;
  /** Returns why it cannot be relied on, or undefined if it can. */
  fault(): string | undefined;
}

/** Outcome of a request. */
export type TimeStampOutcome = 'granted' | Failure;

/**
 * Latest time in a token, milliseconds since epoch. It survives a reload, which replaces the
 * authority.
 */
export interface LatestTime {
  ms: number;
}

/** Limits signatures for external clients: runs the work in turn, or throws. */
export type Within = <T>(work: () => Promise<T>) => Promise<T>;

interface AuthorityOptions {
  readonly latest?: LatestTime;
  /** Called with the outcome of each request. */
  readonly answered?: (outcome: TimeStampOutcome) => void;
}

const atOnce: Within = async (work) => work();

/**
 * If the clock goes back by more than this, no tokens are issued: a newer document must not get an
 * older time.
 */
const backwardsMaxMs = 1000;
/**
 * With ordering, a token's time may be ahead of the clock by at most this, whatever its accuracy,
 * so that a restarted service falls back by no more.
 */
export const aheadMaxMs = 1000;
const serialNumberBytes = 16;

/** A time-stamp authority (RFC 3161, RFC 5816, EN 319 422): one key, one certificate. */
export class TimeStampAuthority {
  readonly #signer: TokenSigner;
  readonly #rules: AuthorityRules;
  readonly #clock: AuthorityClock;
  readonly #latest: LatestTime;
  readonly #answered: (outcome: TimeStampOutcome) => void;

  constructor(
    signer: TokenSigner,
    rules: AuthorityRules,
    clock: AuthorityClock,
    { latest = { ms: 0 }, answered = () => undefined }: AuthorityOptions = {},
  ) {
    this.#signer = signer;
    this.#rules = rules;
    this.#clock = clock;
    this.#latest = latest;
    this.#answered = answered;
  }

  get signer(): TokenSigner {
    return this.#signer;
  }

  /**
   * Returns a TimeStampResp in DER: a token, or a rejection with the reason. An invalid request is
   * rejected before `within`.
   * @throws {Error} if the token cannot sign, or what `within` throws
   */
  async respond(request: Uint8Array, within: Within = atOnce): Promise<Uint8Array> {
    try {
      const response = grantedResponse(await this.stamp(readTimeStampRequest(request), within));
      this.#answered('granted');
      return response;
    } catch (error) {
      if (!(error instanceof RequestRejected)) throw error;
      this.#answered(error.failure);
      return rejection(error);
    }
  }

  /** Returns a TimeStampToken in DER. @throws {RequestRejected} */
  async stamp(request: TimeStampRequest, within: Within = atOnce): Promise<Uint8Array> {
    const { imprint, policy = this.#rules.policy } = request;
    this.checkOffered(imprint.hash, policy);
    return within(async () => this.#token(request, policy));
  }

  /**
   * Checks that the hash and the policy are supported.
   * @throws {RequestRejected} badAlg, unacceptedPolicy
   */
  checkOffered(hash: ImprintHash, policy = this.#rules.policy): void {
    const { hashes, otherPolicies } = this.#rules;
    if (!hashes.has(hash))
      throw new RequestRejected('badAlg', `imprints with ${hash} are not accepted; supported: ${[...hashes].join(', ')}`);
    if (policy !== this.#rules.policy && !otherPolicies.includes(policy))
      throw new RequestRejected(
        'unacceptedPolicy',
        `the policy ${policy} is not supported; supported: ${[this.#rules.policy, ...otherPolicies].join(', ')}`,
      );
  }

  /** Returns why no tokens are issued now, or undefined if they are. */
  fault(): string | undefined {
    const fault = this.#clock.fault();
    if (fault !== undefined) return fault;
    const now = this.#clock.now();
    const { notBefore, notAfter } = this.#signer.certificate;
    if (now < notBefore || now > notAfter) return 'the certificate of the authority is not valid now';
    return now.getTime() < this.#latest.ms - backwardsMaxMs ? 'the clock was set back' : undefined;
  }

  async #token({ imprintDer, nonce, certificateWanted }: TimeStampRequest, policy: string): Promise<Uint8Array> {
    const { accuracy, ordering } = this.#rules;
    const time = this.#time();
    const { certificate } = this.#signer;
    // 128 random bits, positive: unique among the authority's tokens, even after a crash.
    const serialNumber = Buffer.concat([Buffer.of(1), randomBytes(serialNumberBytes)]);
    const tstInfo = tstInfoDer({ policy, imprintDer, serialNumber, time, accuracy, ordering, nonce, authorityName: certificate.subject });
    return timeStampToken(this.#signer, tstInfo, { withCertificates: certificateWanted });
  }

  #time(): Date {
    const fault = this.fault();
    if (fault !== undefined) throw new RequestRejected('timeNotAvailable', fault);
    const now = this.#clock.now();
    if (!this.#rules.ordering) {
      this.#latest.ms = Math.max(now.getTime(), this.#latest.ms);
      return now;
    }
    // A later token has a later time (RFC 3161 §2.4.2) that is still correct within the accuracy.
    const { seconds, milliseconds } = this.#rules.accuracy;
    const nextMs = Math.max(now.getTime(), this.#latest.ms + 1);
    if (nextMs - now.getTime() > Math.min(1000 * seconds + milliseconds, aheadMaxMs))
      throw new RequestRejected('timeNotAvailable', 'too many tokens to be ordered within the accuracy');
    this.#latest.ms = nextMs;
    return new Date(nextMs);
  }
}
