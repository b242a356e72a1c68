import { randomBytes } from 'node:crypto';
import { auditSteps } from '../../audit/audited-request.ts';
import { type Content, contentBytes } from '../../documents/content.ts';
import { isFault, refusalOf } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';
import { partBytes } from '../../sealed-parts/cut.ts';
import type { PartCipher } from '../../sealed-parts/part-cipher.ts';
import type { SealingKeys } from '../../sealed-parts/sealing-keys.ts';
import { SealedParts, sealedParts, type SealedPart } from '../../sealed-parts/sealed-parts.ts';
import type { SessionLimits, SessionRefusal } from '../../state/repositories/signature-sessions.ts';
import { outcomeSteps } from '../../state/settlement.ts';
import type { StateStore } from '../../state/state-store.ts';
import { step } from '../../state/step.ts';
import { KeyGone } from '../../token/token.ts';
import { OpenSession } from './open-session.ts';
import { SessionSecrets } from './session-secrets.ts';
import { sessionContents, sessionText, type SessionState } from './session-state.ts';

const threadIdBytes = 32;
const threadIdForm = /^[A-Za-z0-9_-]{43}$/;
/** Maximum time to store a session. One whose instance died meanwhile expires then. */
const storingMs = 900_000;
const sweepMs = 60_000;
const deletedAtOnce = 500;
const partsDeletedAtOnce = 32;

/** Client that opens a session. */
export interface SessionOwner {
  readonly tenant: string;
  /** SHA-256 of the client's SubjectPublicKeyInfo, hexadecimal. */
  readonly client: string;
}

export interface ToBeOpened {
  readonly state: SessionState;
  /** Called when all content has been read. Throws if a file changed meanwhile. */
  readonly check: () => Promise<void>;
}

export interface SessionOptions extends SessionLimits {
  readonly ttlSeconds: number;
  readonly scratchDirectory: string;
}

/**
 * Signatures between their two steps (contract §5). Sessions are stored encrypted in the state
 * store, so they survive restarts and any instance can complete them. A session is completed once,
 * by the commit that stores the outcome; a failure before that leaves it unchanged.
 */
export class Sessions {
  readonly #store: StateStore;
  readonly #keys: SealingKeys;
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #sweeping: NodeJS.Timeout;

  constructor(store: StateStore, keys: SealingKeys) {
    this.#store = store;
    this.#keys = keys;
    // A failed sweep is repeated; expired sessions are never completed.
    this.#sweeping = setInterval(() => void this.sweep().catch(() => undefined), sweepMs).unref();
  }

  stop(): void {
    clearInterval(this.#sweeping);
  }

  /**
   * Opens a session. Returns its signatureThreadId.
   * @throws {Refusal} STORE_FULL if a limit is reached
   * @throws what `check` throws
   */
  async open(owner: SessionOwner, { state, check }: ToBeOpened, options: SessionOptions): Promise<string> {
    const threadId = randomBytes(threadIdBytes).toString('base64url');
    while (!(await this.#isOpened(threadId, owner, { state, check }, options))) await this.#keys.reread();
    return threadId;
  }

  /**
   * Stores a session. Returns false if its key was replaced, so that it must be sealed with another
   * one.
   */
  async #isOpened(threadId: string, owner: SessionOwner, { state, check }: ToBeOpened, options: SessionOptions): Promise<boolean> {
    const { id, key, cipher } = await this.#keys.using(async ({ current }) => SessionSecrets.of(owner.tenant, threadId, current));
    const text = Buffer.from(sessionText(state));
    const contents = sessionContents(state);
    const spooledBytes = contents.reduce((bytes, content) => bytes + contentBytes(content), 0);
    const now = Date.now();
    // A small session is stored in a single commit.
    const isSmall = text.length + spooledBytes <= partBytes;
    const parts = sessionParts(cipher, [text, ...contents]);
    const endsAt = now + options.ttlSeconds * 1000;
    const small = isSmall ? await allOf(parts) : [];
    if (isSmall) await check();
    const refusal = await this.#store.run('addSession', {
      session: {
        ...{ id, tenant: owner.tenant, client: owner.client },
        stored: isSmall ? 1 : 0,
        // The state counts too if it is larger than one part.
        spooled_bytes: spooledBytes + (text.length > partBytes ? text.length : 0),
        ends_at: isSmall ? endsAt : now + storingMs,
        sealed_by: key.id,
      },
      parts: small.map((part) => ({ id, ...part })),
      limits: limitsOf(options),
      now,
    });
    if (refusal === 'other key') return false;
    if (refusal !== undefined) throw limitReached(refusal, options[refusal]);
    if (isSmall) return true;
    try {
      const stored = new SealedParts(this.#store, { kind: 'session', id }, cipher);
      for await (const part of parts) await stored.add(part);
      await check();
      const isStored = await this.#store.run('sessionStored', { id, endsAt: Date.now() + options.ttlSeconds * 1000 });
      if (!isStored) throw new Error('a session ended while it was being stored');
      return true;
    } catch (error) {
      await this.#store.run('dropSession', id).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Runs the completion of a session, one request at a time: the second one finds it closed, or
   * still open if the first failed.
   * @throws {Refusal} SESSION_UNKNOWN, the same for another tenant's session
   */
  async whileOpen<T>(
    tenant: string,
    signatureThreadId: string,
    { scratchDirectory }: Pick<SessionOptions, 'scratchDirectory'>,
    complete: (session: OpenSession) => Promise<T>,
  ): Promise<T> {
    if (!threadIdForm.test(signatureThreadId)) throw new Refusal('SESSION_UNKNOWN');
    return this.#inTurn(JSON.stringify([tenant, signatureThreadId]), async () => {
      const session = await this.#find(tenant, signatureThreadId, scratchDirectory);
      try {
        return await complete(session);
      } finally {
        await session.release();
      }
    });
  }

  /** @throws {Refusal} SESSION_UNKNOWN */
  async #find(tenant: string, signatureThreadId: string, scratchDirectory: string): Promise<OpenSession> {
    const found = async (): Promise<OpenSession | undefined> =>
      this.#keys.using(async ({ current, former }) => {
        for (const key of [current, ...former]) {
          const secrets = await SessionSecrets.of(tenant, signatureThreadId, key).catch((error: unknown) => {
            // What a former key has sealed ends before it.
            if (key === current || !(error instanceof KeyGone)) throw error;
            return undefined;
          });
          const session = secrets && (await OpenSession.find(this.#store, secrets, scratchDirectory));
          if (session !== undefined) return session;
        }
        return undefined;
      });
    const session = await found();
    if (session !== undefined) return session;
    // Another instance may have replaced the key just now.
    await this.#keys.reread();
    const later = await found();
    if (later === undefined) throw new Refusal('SESSION_UNKNOWN');
    return later;
  }

  /**
   * Closes the session in the commit that stores the outcome of its request.
   * @throws {Refusal} SESSION_UNKNOWN if another instance was faster
   */
  async close({ id }: OpenSession, answer: object): Promise<void> {
    const now = Date.now();
    try {
      const kept = await outcomeSteps({ answer });
      await this.#store.commit([step('closeSession', { id, now }), ...auditSteps('a signature session is completed'), ...kept]);
    } catch (error) {
      throw isFault(error, 'SESSION_ENDED') ? refusalOf(error) : error;
    }
  }

  /** Deletes expired sessions. */
  async sweep(): Promise<void> {
    while ((await this.#store.run('deleteEndedSessions', { now: Date.now(), limit: deletedAtOnce })) === deletedAtOnce);
    while ((await this.#store.run('deleteLooseSessionParts', { limit: partsDeletedAtOnce })) === partsDeletedAtOnce);
  }

  async #inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(name) ?? Promise.resolve();
    const turn = before.then(work, work);
    this.#turns.set(name, turn);
    try {
      return await turn;
    } finally {
      if (this.#turns.get(name) === turn) this.#turns.delete(name);
    }
  }
}

async function* sessionParts(cipher: PartCipher, items: readonly Content[]): AsyncGenerator<SealedPart, void> {
  for (const [item, content] of items.entries()) yield* sealedParts(cipher, item, [content]);
}

async function allOf(parts: AsyncIterable<SealedPart>): Promise<SealedPart[]> {
  const all: SealedPart[] = [];
  for await (const part of parts) all.push(part);
  return all;
}

function limitsOf({ openMaxPerClient, openMaxPerTenant, spoolMaxBytes, spoolMaxBytesPerTenant }: SessionLimits): SessionLimits {
  return { openMaxPerClient, openMaxPerTenant, spoolMaxBytes, spoolMaxBytesPerTenant };
}

const limitTexts = {
  openMaxPerClient: (max) => `this client already has ${max} open signature sessions`,
  openMaxPerTenant: (max) => `this tenant already has ${max} open signature sessions`,
  spoolMaxBytes: (max) => `open signature sessions may hold at most ${max} bytes of content in total`,
  spoolMaxBytesPerTenant: (max) => `this tenant's open signature sessions may hold at most ${max} bytes of content`,
} as const satisfies Record<SessionRefusal, (max: number) => string>;

function limitReached(refusal: SessionRefusal, max: number): Refusal {
  return new Refusal('STORE_FULL', { message: `${limitTexts[refusal](max)}: complete some, or wait until they expire` });
}
