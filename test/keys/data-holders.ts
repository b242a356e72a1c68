import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { tenantId } from '../../src/clients/caller.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import type { OpenedData } from '../../src/keys/activation-data.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { BoundDigest } from '../../src/keys/digest-binding.ts';
import type { ActivationProtocol, KeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { recordingLog } from '../support/silent-log.ts';
import { StoreAround } from '../support/store-around.ts';

export const tenant = tenantId('demo');
export const clients = ['a'.repeat(64), 'b'.repeat(64)] as const;
export const [client] = clients;

/** Hashes that are authorised and signed. */
export const digestOf = (number: number): BoundDigest => ({ id: '', hash: 'sha256', value: Buffer.alloc(32, number) });

/** The state store of an instance at another time. */
export class StoreLater extends StoreAround {
  laterMs = 0;

  override now(): number {
    return this.store.now() + this.laterMs;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    return this.store.commit(steps);
  }
}

export interface HeldKey {
  readonly reference: KeyReferenceId;
  /** Its own secret, or a one-time password. */
  readonly pin: GivenSecret;
}

/** An instance of the service, as far as keys with activation data go. */
export class DataHolder {
  readonly store: StoreLater;
  readonly keys: Keyring;
  readonly #log = recordingLog();

  constructor(store: StateStore, token: TokenClient) {
    this.store = new StoreLater(store);
    this.keys = new Keyring(this.store, token, { log: this.#log });
  }

  /** How often the log said that rows were changed. */
  get changesTold(): number {
    return this.#log.lines.filter((line) => line.startsWith('the state store was changed')).length;
  }

  async newKey(protocol: ActivationProtocol = 'PASSWORD'): Promise<HeldKey> {
    const issue = async (): Promise<{ row: ReturnType<typeof certificateRow> }> => Promise.resolve({ row: certificateRow() });
    const { reference, secret } = await this.keys.create({ tenant, type: 'P-256', protocol, subscriber: {}, issue });
    const member = protocol === 'SINGLE_USE' ? 'authToken' : 'pin';
    return { reference, pin: { member, bytes: Buffer.from(secret.password ?? secret.authToken ?? ''), transactionId: undefined } };
  }

  async authorise(
    { reference, pin }: HeldKey,
    digests: readonly BoundDigest[],
    signatures = digests.length,
    by: string = client,
  ): Promise<string> {
    const key = await this.keys.find(tenant, reference);
    return (
      await this.keys.activationData.authorise(key, pin.member === 'otp' ? { otp: pin } : { pin }, { digests, signatures, client: by })
    ).text;
  }

  async extend({ reference }: HeldKey, text: string, digests: readonly BoundDigest[], by: string = client): Promise<OpenedData> {
    const key = await this.keys.find(tenant, reference);
    return this.keys.activationData.extend(key, this.keys.activationData.given(text, by), digests);
  }

  /** Returns the number of signatures. */
  async sign({ reference }: HeldKey, text: string, digests: readonly BoundDigest[], by: string = client): Promise<number> {
    const key = await this.keys.find(tenant, reference);
    const documents = digests.map((digest, index) => ({ id: String(index), fileName: undefined, source: { digest } }));
    const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
    const toBeSigned = { algorithm, digests: digests.map(({ value }) => value), documents, naming: 'without ID' } as const;
    const given = this.keys.activationData.given(text, by);
    return (await this.keys.sign(key, given, toBeSigned, async (values) => Promise.resolve(values))).length;
  }

  /** Failed attempts that are counted. */
  async failures({ reference }: HeldKey): Promise<number | undefined> {
    return (await this.store.run('findKey', reference))?.failures_in_row;
  }
}

/** Straight in the database, as somebody does who can write to it. */
export async function changeRows(config: StateConfig, sql: string): Promise<void> {
  if (config.kind === 'sqlite') {
    const file = new DatabaseSync(config.path, { timeout: 10_000 });
    file.exec(sql);
    file.close();
    return;
  }
  const connection = new Client({ host: config.host, database: config.database, user: config.user });
  await connection.connect();
  await connection.query(sql);
  await connection.end();
}
