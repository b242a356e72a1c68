import { setTimeout as delay } from 'node:timers/promises';
import type { StateStore } from '../state/state-store.ts';
import { keyTrial } from '../token/key-id.ts';

const readinessMs = 2000;

/** What the service stands on, as readiness asks it. */
export interface Footing {
  isStopping(): boolean;
  /** Whose signature shows that the token signs; undefined where no key is configured. */
  signer(): { sign(bytes: Uint8Array): Promise<unknown> } | undefined;
  /** Why the token that is there is not used. */
  tokenFault(): string | undefined;
  readonly store: Pick<StateStore, 'run'>;
  auditWritable(): boolean;
  listenerFaults(): Readonly<Record<string, string>>;
}

/** Why no request can be served now, by part; empty where they can. Answers within two seconds, whatever hangs. */
export async function readinessFaults(footing: Footing): Promise<Record<string, string>> {
  const faults: Record<string, string> = footing.isStopping() ? { service: 'it stops' } : {};
  await Promise.all([
    inTime(footing.signer()?.sign(keyTrial)).catch(() => {
      faults['token'] = footing.tokenFault() ?? 'it does not sign';
    }),
    inTime(footing.store.run('probe')).catch(() => {
      faults['state'] = 'it takes no writes';
    }),
  ]);
  if (!footing.auditWritable()) faults['audit'] = 'it takes no records';
  return { ...faults, ...footing.listenerFaults() };
}

/** Whoever asks whether the service is ready wants to know soon. */
async function inTime(work: Promise<unknown> | undefined): Promise<void> {
  const late = delay(readinessMs, undefined, { ref: false }).then(() => {
    throw new Error('no answer in time');
  });
  await Promise.race([work, late]);
}
