import { randomBytes } from 'node:crypto';
import { readTimeStampRequest, RequestRejected, type ImprintHash, type TimeStampRequest } from './request.ts';
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

/** The time goes back by no more than this, or tokens stop: a jump of the clock must not give an older time to a younger document. */
const backwardsMaxMs = 1000;
const serialNumberBytes = 16;

/** A time-stamp authority (RFC 3161, RFC 5816, EN 319 422): one key, one certificate. */
export class TimeStampAuthority {
  readonly #signer: TokenSigner;
  readonly #rules: AuthorityRules;
  readonly #clock: AuthorityClock;
  #latestMs = 0;

  constructor(signer: TokenSigner, rules: AuthorityRules, clock: AuthorityClock) {
    this.#signer = signer;
    this.#rules = rules;
    this.#clock = clock;
  }

  get signer(): TokenSigner {
    return this.#signer;
  }

  /** TimeStampResp in DER: a token, or a rejection that says why. @throws {Error} where the token cannot sign */
  async respond(request: Uint8Array): Promise<Uint8Array> {
    try {
      return grantedResponse(await this.stamp(readTimeStampRequest(request)));
    } catch (error) {
      if (error instanceof RequestRejected) return rejection(error);
      throw error;
    }
  }

  /** A TimeStampToken in DER. @throws {RequestRejected} */
  async stamp({ imprint, imprintDer, policy = this.#rules.policy, nonce, certificateWanted }: TimeStampRequest): Promise<Uint8Array> {
    const { accuracy, ordering, hashes, otherPolicies } = this.#rules;
    if (!hashes.has(imprint.hash)) throw new RequestRejected('badAlg', `imprints of ${imprint.hash} are not stamped`);
    if (policy !== this.#rules.policy && !otherPolicies.includes(policy))
      throw new RequestRejected('unacceptedPolicy', `the policy ${policy} is not offered`);
    const time = this.#time();
    const { certificate } = this.#signer;
    // 128 random bits, positive: no two tokens of the authority have one number, whatever crashed in between.
    const serialNumber = Buffer.concat([Buffer.of(1), randomBytes(serialNumberBytes)]);
    const tstInfo = tstInfoDer({ policy, imprintDer, serialNumber, time, accuracy, ordering, nonce, authorityName: certificate.subject });
    return timeStampToken(this.#signer, tstInfo, { withCertificates: certificateWanted });
  }

  #time(): Date {
    const fault = this.#clock.fault();
    if (fault !== undefined) throw new RequestRejected('timeNotAvailable', fault);
    const now = this.#clock.now();
    const { notBefore, notAfter } = this.#signer.certificate;
    if (now < notBefore || now > notAfter)
      throw new RequestRejected('timeNotAvailable', 'the certificate of the authority is not valid now');
    if (now.getTime() < this.#latestMs - backwardsMaxMs) throw new RequestRejected('timeNotAvailable', 'the clock was set back');
    if (!this.#rules.ordering) {
      this.#latestMs = Math.max(now.getTime(), this.#latestMs);
      return now;
    }
    // A later token has a later time (RFC 3161 §2.4.2), and one that is true within the accuracy.
    const { seconds, milliseconds } = this.#rules.accuracy;
    const nextMs = Math.max(now.getTime(), this.#latestMs + 1);
    if (nextMs - now.getTime() > 1000 * seconds + milliseconds)
      throw new RequestRejected('timeNotAvailable', 'more tokens than can be put in order');
    this.#latestMs = nextMs;
    return new Date(nextMs);
  }
}
