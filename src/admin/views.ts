import { z } from 'zod';

const Time = z.iso.datetime();

/** A registered client, as signetctl shows it. */
export const ClientView = z.strictObject({
  name: z.string(),
  tenant: z.string(),
  roles: z.array(z.string()),
  /** SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  publicKey: z.string(),
  registered: Time,
});
export type ClientView = z.output<typeof ClientView>;

/** A caller's key; nothing of its secret. */
export const KeyView = z.strictObject({
  reference: z.string(),
  tenant: z.string(),
  type: z.string(),
  protocol: z.string(),
  state: z.string(),
  subject: z.string(),
  /** CKA_ID on the token. */
  tokenId: z.string(),
  created: Time,
  notAfter: Time,
  remainingAttempts: z.int(),
  failuresSinceSuccess: z.int(),
  lockedUntil: Time.nullable(),
});
export type KeyView = z.output<typeof KeyView>;

/** A page of keys. `more`: there are some after the last one. */
export const KeyPage = z.strictObject({ keys: z.array(KeyView), more: z.boolean() });

/** How the state store stands to the audit log. */
export const ComparisonView = z.strictObject({
  /** Name of the log. */
  log: z.string(),
  isOlder: z.boolean(),
  /** Number of the record that the state store names as its place in the log; 0: none. */
  knownRecord: z.int(),
  lastRecord: z.int(),
  /** Changes that the log tells of and the state store lacks: the first ones. */
  lacking: z.array(
    z.strictObject({
      record: z.int(),
      time: z.string(),
      /** The operation of a request, or an operator's command. */
      by: z.string(),
      client: z.string().nullable(),
      tenant: z.string().nullable(),
      /** `keyReference.reference`. */
      key: z.string().nullable(),
      effect: z.string(),
      /** What a confirmation does about it. */
      remedy: z.string(),
      isLost: z.boolean(),
    }),
  ),
  /** All of them. */
  lackingCount: z.int(),
  /** Records whose files are not there. */
  absent: z.strictObject({ from: z.int(), to: z.int() }).nullable(),
  /** Requests of an earlier version, whose records do not say what they changed. */
  untold: z.int(),
});
export type ComparisonView = z.output<typeof ComparisonView>;

/** A state store that was confirmed. */
export const ConfirmedView = z.strictObject({
  /** Records that it had not known. */
  from: z.int(),
  to: z.int(),
  /** Changes that were made again. */
  applied: z.int(),
  /** Those that could not be. */
  lost: z.int(),
});
export type ConfirmedView = z.output<typeof ConfirmedView>;

export const StatusView = z.strictObject({
  version: z.string(),
  pid: z.int(),
  started: Time,
  configuration: z.string(),
  /** Members in which the file is not what the service runs with. */
  notLoaded: z.array(z.string()),
  lastReload: z.strictObject({ at: Time, faults: z.array(z.string()) }).nullable(),
  api: z.string(),
  tenants: z.array(z.string()),
  clients: z.int(),
  state: z.string(),
  audit: z.strictObject({
    enabled: z.boolean(),
    writable: z.boolean(),
    lastCheckpoint: Time.nullable(),
    recordsSinceCheckpoint: z.int(),
  }),
  tokenWaitingRequests: z.int(),
  /** Keys that should be gone, and that the token has not destroyed yet. `tokenId`: CKA_ID. */
  keysLeft: z.array(z.strictObject({ tokenId: z.string(), reason: z.string() })),
  /** What keeps the service from being ready, by its part. */
  faults: z.record(z.string(), z.string()),
  /** What will, or is ill without doing so, by its part. */
  warnings: z.record(z.string(), z.string()),
});
export type StatusView = z.output<typeof StatusView>;
