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

/** The clock that tokens tell. */
export interface AuthorityClock {
  now(): Date;
  /** Why it cannot be relied on; undefined where it can. */
  fault(): string | undefined;
}

/** How a request ended. */
export type TimeStampOutcome = 'granted' | Failure;

/** The latest time that a token told, milliseconds since epoch. It outlives an authority that a reload replaces. */
export interface LatestTime {
  ms: number;
}

/** Bounds the signatures of those who ask: begins the work in its turn, or throws. */
export type Within = <T>(work: () => Promise<T>) => Promise<T>;

interface AuthorityOptions {
  readonly latest?: LatestTime;
  /** Told how each request ended. */
  readonly answered?: (outcome: TimeStampOutcome) => void;
}

const atOnce: Within = async (work) => work();

/** The time goes back by no more than this, or tokens stop: a jump of the clock must not give an older time to a younger document. */
const backwardsMaxMs = 1000;
/** With ordering, tokens may be ahead of the clock by no more than this, whatever their accuracy: a service that starts again is late by no more. */
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
   * TimeStampResp in DER: a token, or a rejection that says why. What is rejected for what it asks is not counted by `within`.
   * @throws {Error} where the token cannot sign, or what `within` throws
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

  /** A TimeStampToken in DER. @throws {RequestRejected} */
  async stamp(request: TimeStampRequest, within: Within = atOnce): Promise<Uint8Array> {
    const { imprint, policy = this.#rules.policy } = request;
    this.checkOffered(imprint.hash, policy);
    return within(async () => this.#token(request, policy));
  }

  /** Whether it stamps such imprints under such a policy. @throws {RequestRejected} badAlg, unacceptedPolicy */
  checkOffered(hash: ImprintHash, policy = this.#rules.policy): void {
    const { hashes, otherPolicies } = this.#rules;
    if (!hashes.has(hash)) throw new RequestRejected('badAlg', `imprints of ${hash} are not stamped; offered: ${[...hashes].join(', ')}`);
    if (policy !== this.#rules.policy && !otherPolicies.includes(policy))
      throw new RequestRejected(
        'unacceptedPolicy',
        `the policy ${policy} is not offered; offered: ${[this.#rules.policy, ...otherPolicies].join(', ')}`,
      );
  }

  /** Why it gives no tokens now; undefined where it does. */
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
    // 128 random bits, positive: no two tokens of the authority have one number, whatever crashed in between.
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
    // A later token has a later time (RFC 3161 §2.4.2), and one that is true within the accuracy.
    const { seconds, milliseconds } = this.#rules.accuracy;
    const nextMs = Math.max(now.getTime(), this.#latest.ms + 1);
    if (nextMs - now.getTime() > Math.min(1000 * seconds + milliseconds, aheadMaxMs))
      throw new RequestRejected('timeNotAvailable', 'more tokens than can be put in order');
    this.#latest.ms = nextMs;
    return new Date(nextMs);
  }
}
