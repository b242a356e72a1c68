import { auditSteps } from '../audit/audited-request.ts';
import type { KeyType } from '../config/key-types.ts';
import { Fault, isFault, refusalOf } from '../faults.ts';
import type { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { step } from '../state/step.ts';
import { newKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { Token } from '../token/token.ts';
import type { Destruction } from './destruction.ts';
import type { KeyPool } from './key-pool.ts';
import { parseKeyReferenceId } from './key-record.ts';
import { drawSecret, keyRow, type CreatedKey, type NewKey } from './new-key.ts';

interface Making {
  readonly store: StateStore;
  readonly token: Token;
  readonly journal: KeyJournal;
  readonly destruction: Destruction;
  /** The pool of keys made in advance; undefined if there is none. */
  readonly pool: KeyPool | undefined;
}

/**
 * Creates keys, on the token or from the pool, with a secret, a certificate and a record. If any
 * step fails, no key without a record stays on the token.
 */
export class KeyCreation {
  readonly #making: Making;

  constructor(making: Making) {
    this.#making = making;
  }

  /** @see Keyring.create */
  async create(request: NewKey, answer: ((created: CreatedKey) => object) | undefined): Promise<object> {
    const { store, token, journal, destruction, pool } = this.#making;
    const { keysMax, tenant } = request;
    // An early check: most requests beyond the limit are refused before a key is made.
    if (keysMax !== undefined && (await store.run('countKeys', tenant)) >= keysMax) throw tooManyKeys(new Fault('TENANT_FULL'), keysMax);
    const ahead = await pool?.take(request.type);
    const id = ahead?.id ?? newKeyId('caller');
    if (ahead === undefined) await journal.announce(id, 'CREATE');
    try {
      const publicKeyInfo = ahead?.publicKeyInfo ?? (await this.#make(id, request.type));
      const [issued, secret] = await Promise.all([request.issue(publicKeyInfo), drawSecret(token, request.protocol)]);
      const { row, issuers } = issued;
      const key = await keyRow(token, request, { id, issued, secret, createdAt: store.now() });
      const insert = step('insertKey', { certificate: row, key, issuers, keysMax });
      const created: CreatedKey = { reference: parseKeyReferenceId(row.sha1), secret, certificate: row.der };
      const answered = answer?.(created);
      const outcome = answered === undefined ? [] : await outcomeSteps({ answer: answered });
      const told = auditSteps('the key and its certificate exist', {
        kind: 'creation',
        ...{ authority: row.authority, serialNumber: row.serial_number, tokenKey: id },
      });
      await store.commit([insert, ...(request.steps ?? []), ...told, ...outcome]);
      return answered ?? created;
    } catch (error) {
      await destruction.undoCreation(id);
      if (keysMax !== undefined && isFault(error, 'TENANT_FULL')) throw tooManyKeys(error, keysMax);
      throw error;
    }
  }

  async #make(id: KeyId, type: KeyType): Promise<Uint8Array> {
    const { token, pool } = this.#making;
    const make = async (): Promise<Uint8Array> => token.createKey(id, type);
    return pool === undefined ? make() : pool.makingForCaller(make);
  }
}

function tooManyKeys(fault: Fault, keysMax: number): Refusal {
  return refusalOf(fault, {
    message: `the tenant has reached its limit of ${keysMax} keys: remove keys that are no longer needed`,
  });
}
