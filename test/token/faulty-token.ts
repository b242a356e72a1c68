import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as delayMs } from 'node:timers/promises';
import { expect, vi } from 'vitest';
import { z } from 'zod';
import { accountDirectoryOf } from '../../src/config/token-config.ts';
import { accountFiles } from '../../src/token/account-files.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, type KeyId } from '../../src/token/key-id.ts';
import type { HashName } from '../../src/token/signature-algorithm.ts';
import { TokenUnavailable, type Proof } from '../../src/token/token.ts';
import { faultModule, type FaultModule } from '../support/fault-module.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { kryopticModule, noSecondToken, secondToken } from '../support/second-token.ts';
import { privateKeysOf, privateKeysOfSecond } from '../support/token-listing.ts';
import { recordingLog } from '../support/silent-log.ts';

const digest = createHash('sha256').update('document').digest();
const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;

interface FaultyTokenOptions {
  readonly clientSeconds: number;
  readonly make?: Make;
  readonly variables?: Readonly<Record<string, string>>;
}

/** What a test needs of a token, of whichever make. */
interface TestToken extends Pick<ScratchToken, 'config' | 'configPath' | 'directory' | 'remove'> {
  /** CKA_ID of every private key, hexadecimal, as another program lists them. */
  privateKeys(): string[];
}

/** Makes of tokens that the tests of faults run on. `missing`: why one cannot be had. */
export const makes = [
  { make: 'SoftHSM', missing: undefined },
  { make: 'Kryoptic', missing: noSecondToken },
] as const;
type Make = (typeof makes)[number]['make'];

function testToken(make: Make, settings: Record<string, string | number | boolean>): TestToken {
  if (make === 'SoftHSM') {
    const scratch = scratchToken(settings);
    const softhsmConfig = scratch.environment.SOFTHSM2_CONF;
    return { ...scratch, privateKeys: () => privateKeysOf({ label: 'test', pin: scratch.pin, softhsmConfig }) };
  }
  const second = secondToken();
  return {
    privateKeys: () => privateKeysOfSecond(second),
    directory: second.directory,
    ...second.configure(settings),
    remove: () => {
      second.remove();
    },
  };
}

/** A token whose module makes faults on demand, with one key of the service and one of a caller. Its host gives a call one second. */
export class FaultyToken {
  readonly log = recordingLog();
  readonly module: FaultModule;
  readonly scratch: TestToken;
  readonly client: TokenClient;
  readonly key: KeyId = newKeyId('general');
  readonly callersKey: KeyId = newKeyId('caller');
  #proof: Proof | undefined;

  /**
   * @param clientSeconds how long the client waits for an answer, whatever becomes of the host meanwhile
   * @param variables of the module (`fault-module.c`)
   */
  constructor({ clientSeconds, make = 'SoftHSM', variables = {} }: FaultyTokenOptions) {
    this.module = faultModule(make === 'SoftHSM' ? undefined : kryopticModule);
    this.scratch = testToken(make, { threads: 2, modulePath: this.module.path, callTimeoutSeconds: 1 });
    const { config, configPath } = this.scratch;
    const environment = { ...config.environment, ...this.module.environment, ...variables };
    const patience = { callTimeoutSeconds: clientSeconds, outageSeconds: clientSeconds };
    this.client = new TokenClient({ ...config, ...patience, environment }, configPath, this.log);
  }

  async start(): Promise<this> {
    await this.client.start();
    await this.client.macKey.make();
    await this.client.createKey(this.key, 'P-256');
    await this.client.createKey(this.callersKey, 'P-256');
    const [secret, scope] = [randomBytes(20), randomBytes(32)];
    this.#proof = { kind: 'PASSWORD', secret, scope, ...(await this.client.makeMac(this.callersKey, 'PASSWORD', secret, scope)) };
    return this;
  }

  async remove(): Promise<void> {
    await this.client.stop();
    this.scratch.remove();
    this.module.remove();
  }

  /** Ends the host, and waits for the next one. */
  async restart(): Promise<void> {
    const { hostPid } = this.client;
    if (hostPid !== undefined) process.kill(hostPid, 'SIGKILL');
    await vi.waitUntil(() => this.client.hostPid !== hostPid && this.client.ready, { timeout: 30_000 });
  }

  async ready(): Promise<void> {
    await vi.waitUntil(() => this.client.ready, { timeout: 30_000 });
  }

  async sign(): Promise<number> {
    return (await this.client.signDigests(this.key, algorithm, [digest])).length;
  }

  async signAsCaller(): Promise<boolean> {
    return this.signAllAsCaller([digest]);
  }

  /** Signs with the caller's key in one request. */
  async signAllAsCaller(digests: readonly Uint8Array[], hash: HashName = 'sha256'): Promise<boolean> {
    if (this.#proof === undefined) throw new Error('the token was not started');
    const proofs = { anyOf: [{ ...this.#proof, signs: true }] };
    return (await this.client.signWithProof(this.callersKey, { ...algorithm, hash }, digests, proofs)).verified;
  }

  /** The uses of the caller's key to sign, as the host's account has them. */
  signatureUses(): string[] {
    const files = [...accountFiles(accountDirectoryOf(this.scratch.config)).values()].flat();
    const lines = files.flatMap(({ path }) => readFileSync(path, 'latin1').split('\n').filter(Boolean));
    const uses = lines.flatMap((line) => z.object({ uses: z.array(z.string()).default([]) }).parse(JSON.parse(line)).uses);
    return uses.filter((use) => use.startsWith('sign ') && use.includes(this.callersKey));
  }

  /** 20 requests of two kinds at once; why some were refused. Whatever else is thrown is not caught. */
  async load(): Promise<string[]> {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, async (_, index) => (index % 2 === 0 ? this.sign() : this.signAsCaller())),
    );
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') expect([1, true]).toContain(outcome.value);
      else expect(outcome.reason).toBeInstanceOf(TokenUnavailable);
    }
    return outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []));
  }

  /** Has requests made until another host is at work; why some of them were refused. A host that has replaced another one serves on for a while. */
  async loadUntilReplaced(): Promise<string[]> {
    const { hostPid } = this.client;
    const refused: string[] = [];
    const begin = performance.now();
    while (this.client.hostPid === hostPid || this.client.hostPid === undefined) {
      expect(performance.now() - begin).toBeLessThan(40_000);
      const loaded = this.load();
      await Promise.race([loaded, delayMs(500)]);
      void loaded.then((reasons) => refused.push(...reasons));
    }
    return refused;
  }

  /** Milliseconds until a signature is made again. */
  async untilServed(): Promise<number> {
    const begin = performance.now();
    // A refusal that comes at once must not keep the loop from everything else.
    while (!(await this.sign().catch(() => false))) await delayMs(5);
    return performance.now() - begin;
  }
}
