import type { GivenSecret, SecretAction } from './credentials.ts';
import { takesOtps, type ActivatableKey } from './key-record.ts';
import { countsForKey, type LongSecrets } from './long-secrets.ts';
import type { Reservations } from './reservations.ts';
import type { Seals } from './seals.ts';
import { unpaced, type PacedAttempt, type SecretPace } from './secret-pace.ts';
import type { Reservation, Settling } from './settling.ts';
import type { Use } from './states.ts';

/** An attempt to use a key by a secret. */
interface Attempt {
  readonly key: ActivatableKey;
  readonly use: Use;
  readonly action: SecretAction;
  readonly given: GivenSecret;
}

/** A reserved attempt of a key, which is also one of the client and the tenant. */
export interface Reserving {
  readonly reservation: Reservation;
  readonly paced: PacedAttempt;
  /** Frees its slot. */
  readonly release: () => void;
}

interface Limits {
  readonly reservations: Reservations;
  readonly settling: Settling;
  readonly seals: Pick<Seals, 'noteOtpFault'>;
  readonly long: LongSecrets;
  /** Paces of wrong secrets by client and tenant; undefined: none. */
  readonly pace: SecretPace | undefined;
  /** How long an attempt waits for those before it. */
  readonly waitMs: number;
}

/**
 * Limits the attempts with wrong secrets: those of a key by its count of failures, those of a client
 * and of a tenant by their paces, whatever the key. A secret that is too long to be guessed counts
 * for client and tenant alone, since it would only lock the key.
 */
export class AttemptLimits {
  readonly #limits: Limits;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Whether the key, the client and the tenant may have one more attempt now. */
  hasRoomAtOnce(attempt: Attempt): boolean {
    const { reservations, pace } = this.#limits;
    return reservations.hasRoom(attempt) && pace?.hasRoomAtOnce() !== false;
  }

  /** Waits until they may. @throws as `reserve` */
  async room(attempt: Attempt): Promise<void> {
    const { reservations, pace, waitMs } = this.#limits;
    await reservations.room(attempt);
    await pace?.room(waitMs);
  }

  /**
   * Reserves an attempt of the key. Undefined if a long secret is known to be wrong, without the
   * token.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED
   * @throws {SecretsPaced}
   * @throws {KeyInUse} if the attempts before it have not ended in time
   */
  async reserve(attempt: Attempt): Promise<Reserving | undefined> {
    const { reservations, long, pace } = this.#limits;
    const { key, given } = attempt;
    const paced = pace?.enter() ?? unpaced;
    try {
      await paced.check();
      if (long.isWrong(key, given)) {
        await this.#wrongWithoutToken(paced);
        return undefined;
      }
      const { reservation, release } = await reservations.take(attempt);
      if (typeof reservation !== 'string') return { reservation, release, paced };
      release();
      if (reservation === 'no data' && !long.wasUsed(given)) await this.#wrongWithoutToken(paced);
      paced.release();
      return undefined;
    } catch (error) {
      paced.release();
      throw error;
    }
  }

  /** Takes a place in the paces, right before the secret is compared. @throws as `reserve` */
  async place(paced: PacedAttempt): Promise<void> {
    await paced.take(this.#limits.waitMs);
  }

  /** Counts an attempt whose secret the token found wrong. */
  async wrong({ key, given }: Attempt, { reservation, paced }: Reserving): Promise<void> {
    const { settling, seals } = this.#limits;
    const ofKey = countsForKey(key, given) ? settling.wrong(key, reservation) : settling.giveBack(key, reservation);
    await Promise.all([ofKey, paced.wrong()]);
    if (mayBeOtp(given) && takesOtps(key)) await seals.noteOtpFault(key, reservation.otp);
  }

  /** Counts a secret that nothing was compared with. Of many at once, no more than the paces have places for. */
  async #wrongWithoutToken(paced: PacedAttempt): Promise<void> {
    await this.place(paced);
    await paced.wrong();
  }

  /** Notes that a secret of one use was right. */
  used(given: GivenSecret): void {
    this.#limits.long.noteUsed(given);
  }
}

/** Whether the secret may be in a row of the table of one-time passwords. */
function mayBeOtp({ member }: GivenSecret): boolean {
  return member === 'password' || member === 'otp' || member === 'sad';
}
