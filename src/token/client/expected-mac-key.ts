import { writeGeneration } from '../wire/messages.ts';
import type { HostLink } from './host-link.ts';
import { macKeyFault } from './service-requests.ts';

/** The MAC key that every host must have: another would reject every correct secret. */
export class ExpectedMacKey {
  readonly #timeoutMs: number;
  #check: Uint8Array | undefined;
  #generation = 0;

  /** @param timeoutMs for the host's answer */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** The number of the MAC key that new secrets are made with. */
  get generation(): number {
    return this.#generation;
  }

  expect(check: Uint8Array, generation: number): void {
    this.#check = check;
    this.#generation = generation;
  }

  /**
   * Returns why a host must be given no requests, such as a swapped token or an outdated copy;
   * undefined if it has the key, or if none is expected yet.
   */
  async faultOf(link: HostLink): Promise<string | undefined> {
    if (this.#check === undefined) return undefined;
    const answer = await link.askFirst('checkMacKey', this.#timeoutMs, writeGeneration(this.#generation));
    return answer === undefined ? 'the token host does not answer' : macKeyFault(answer, this.#check);
  }
}
