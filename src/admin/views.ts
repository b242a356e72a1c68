import { z } from 'zod';

const Time = z.iso.datetime();

/** The limits in force of a client. */
const ClientLimitsView = z.strictObject({
  requestsPerSecond: z.int(),
  requestsBurst: z.int(),
  requestsMax: z.int(),
  bodiesMaxBytes: z.int(),
  keptAnswersMaxBytes: z.int(),
  otpsPerMinute: z.int(),
  messagesPerMinute: z.int(),
  connectionsMax: z.int(),
});

/** The limits in force of all clients of a tenant together. */
const TenantLimitsView = z.strictObject({
  tenant: z.string(),
  /** Null: none beyond those of its clients. */
  requestsPerSecond: z.int().nullable(),
  requestsBurst: z.int().nullable(),
  requestsMax: z.int(),
  bodiesMaxBytes: z.int(),
  keptAnswersMaxBytes: z.int(),
  connectionsMax: z.int(),
  /** Those of each client without limits of its own. */
  perClient: ClientLimitsView,
  /** Those of each client for which the configuration sets limits by name. */
  clients: z.array(z.strictObject({ client: z.string(), ...ClientLimitsView.shape })),
});

/** A command that waits for the approval of a second user. */
export const PendingView = z.strictObject({
  id: z.string(),
  command: z.string(),
  /** Uid of the user who gave it. */
  uid: z.int(),
  /** The command and its parameters in words: label and value. */
  details: z.array(z.tuple([z.string(), z.string()])),
  /** SHA-256 over all of that, hexadecimal. */
  digest: z.string(),
  since: Time,
  /** When it ends if nobody has approved it. */
  until: Time,
});
export type PendingView = z.output<typeof PendingView>;

/** A registered client, as signetctl shows it. */
export const ClientView = z.strictObject({
  name: z.string(),
  tenant: z.string(),
  roles: z.array(z.string()),
  /** SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  publicKey: z.string(),
  registered: Time,
  /** End of the newest certificate of this key that is known. */
  notAfter: Time.nullable(),
  /** Null if no service runs and its configuration cannot be used. */
  limits: ClientLimitsView.nullable(),
});
export type ClientView = z.output<typeof ClientView>;

/** A client that was revoked; times as RFC 3339. */
export const RevokedClientView = z.strictObject({
  name: z.string(),
  tenant: z.string(),
  /** SHA-256 of SubjectPublicKeyInfo, hexadecimal. */
  publicKey: z.string(),
  registered: z.string(),
  revoked: z.string(),
  /** End of its certificate, if it is known. */
  notAfter: z.string().nullable(),
});
export type RevokedClientView = z.output<typeof RevokedClientView>;

/** A caller's key, without its secret. */
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

/** A page of keys. `more`: whether others follow. */
export const KeyPage = z.strictObject({ keys: z.array(KeyView), more: z.boolean() });

/** CKA_IDs of the keys that are made ahead and nobody's yet. */
export const PoolView = z.strictObject({ tokenIds: z.array(z.string()) });
export type PoolView = z.output<typeof PoolView>;

/** The key of a digital identity of 2D-Doc, without its password. */
export const IdentityKeyView = z.strictObject({
  tenant: z.string(),
  ca: z.string(),
  certificateId: z.string(),
  /** Its name in the state store and in the audit log: SHA-1 of the public key. */
  reference: z.string(),
  type: z.string(),
  /** SubjectPublicKeyInfo, base64. */
  publicKey: z.string(),
  /** CKA_ID on the token. */
  tokenId: z.string(),
  created: Time,
  remainingAttempts: z.int(),
  isLocked: z.boolean(),
  /** Null if an operator must unlock it. */
  lockedUntil: Time.nullable(),
  /** Null if the token was not asked. */
  isOnToken: z.boolean().nullable(),
});
export type IdentityKeyView = z.output<typeof IdentityKeyView>;

/** Comparison of the state store with the audit log. */
export const ComparisonView = z.strictObject({
  /** Name of the log. */
  log: z.string(),
  isOlder: z.boolean(),
  /** Whether the state store does not know the key that signed the log. */
  isForeign: z.boolean(),
  /** Names under which the records after `knownRecord` were written. */
  names: z.array(z.string()),
  /** Number of the record that the state store holds as its place in the log; 0: none. */
  knownRecord: z.int(),
  lastRecord: z.int(),
  /** The first changes in the log that the state store lacks. */
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
      /**
       * First digits of the SHA-256 of the public key that was registered or revoked, hexadecimal.
       */
      publicKey: z.string().nullable(),
      effect: z.string(),
      /** Effect of a confirmation. */
      remedy: z.string(),
      isLost: z.boolean(),
    }),
  ),
  /** Number of all missing changes. */
  lackingCount: z.int(),
  /** Records whose files are missing. */
  absent: z.strictObject({ from: z.int(), to: z.int() }).nullable(),
  /** Number of requests recorded by an earlier version without their changes. */
  untold: z.int(),
});
export type ComparisonView = z.output<typeof ComparisonView>;

/** Result of removing old files of the audit log. */
export const PrunedView = z.strictObject({
  /** Names of the removed files. */
  files: z.array(z.string()),
  /** Their last record; null if nothing was old enough. */
  last: z.strictObject({ record: z.int(), time: Time }).nullable(),
});
export type PrunedView = z.output<typeof PrunedView>;

/** Result of confirming a state store. */
export const ConfirmedView = z.strictObject({
  /** Records unknown to the store. */
  from: z.int(),
  to: z.int(),
  /** Number of changes that were applied again. */
  applied: z.int(),
  /** Number of changes that could not be. */
  lost: z.int(),
});
export type ConfirmedView = z.output<typeof ConfirmedView>;

/** Result of confirming a clock that is behind the newest audit record. */
export const ClockConfirmedView = z.strictObject({ newestRecord: Time, clock: Time });
export type ClockConfirmedView = z.output<typeof ClockConfirmedView>;

/** A link that signs an operator in to the console, once. */
export const ConsoleLinkView = z.strictObject({
  /**
   * Address of the operations listener as `host:port`, or the path of its Unix socket, or words if
   * the service manager holds it.
   */
  address: z.string(),
  /** The code, for the fragment of the URL. */
  code: z.string(),
  endsAt: Time,
});
export type ConsoleLinkView = z.output<typeof ConsoleLinkView>;

/** In place of members that are not loaded: the file cannot be loaded as it is now. */
export const unusableFile = '(file)';

export const StatusView = z.strictObject({
  version: z.string(),
  pid: z.int(),
  started: Time,
  configuration: z.string(),
  /** Members in which the file differs from the running configuration. */
  notLoaded: z.array(z.string()),
  lastReload: z.strictObject({ at: Time, faults: z.array(z.string()) }).nullable(),
  api: z.string(),
  tenants: z.array(z.string()),
  /** Empty while the service waits for its token or its operator. */
  limits: z.array(TenantLimitsView),
  clients: z.int(),
  state: z.string(),
  audit: z.strictObject({
    enabled: z.boolean(),
    /** Null: the service has not opened it yet. */
    writable: z.boolean().nullable(),
    lastCheckpoint: Time.nullable(),
    /** Null if it is not known yet. */
    recordsSinceCheckpoint: z.int().nullable(),
  }),
  tokenWaitingRequests: z.int(),
  /** Keys that should have been destroyed but are still on the token. `tokenId`: CKA_ID. */
  keysLeft: z.array(z.strictObject({ tokenId: z.string(), reason: z.string() })),
  /** Faults that keep the service from being ready, by part. */
  faults: z.record(z.string(), z.string()),
  /** Faults that will, or that do not affect readiness, by part. */
  warnings: z.record(z.string(), z.string()),
});
export type StatusView = z.output<typeof StatusView>;

/**
 * Answer of `backup create`: the checkpoint at which the backup is made; null without an audit log.
 */
export const BackupView = z.strictObject({
  point: z.strictObject({ n: z.int(), hash: z.string(), file: z.int(), stillRunning: z.int() }).nullable(),
});
export type BackupView = z.output<typeof BackupView>;

/** MAC keys, and what depends on former ones. */
export const MacView = z.object({
  /** Number of the current one: 0 is the first. */
  current: z.int(),
  /** Number of former ones on the token. */
  former: z.int(),
  /**
   * Keys and digital identities in use with a secret or a transaction that only a former one
   * verifies.
   */
  secrets: z.int(),
  /** Open one-time passwords and activation data. */
  oneTime: z.int(),
  /** Seals of rows of the state store. */
  seals: z.int(),
  /** Of a destruction: the keys whose secrets were lost. */
  lost: z.int().optional(),
});
export type MacView = z.output<typeof MacView>;

/** A key that kept answers and sessions are sealed with, and what it has sealed. */
const AnswerKeyView = z.strictObject({
  /** CKA_ID on the token. */
  keyId: z.string(),
  /** When it was made; of a former key, when it was replaced. */
  since: Time,
  /** Kept answers, and requests that are running. */
  answers: z.int(),
  sessions: z.int(),
  /** When the last of them ends; null if there is none. */
  lastEnds: Time.nullable(),
});

/** The keys of kept answers. */
export const AnswersView = z.strictObject({
  current: AnswerKeyView,
  /** Those that are not destroyed yet, the newest first. */
  former: z.array(AnswerKeyView),
});
export type AnswersView = z.output<typeof AnswersView>;

/** Result of replacing the key of the audit log's checkpoints. */
export const CheckpointKeyView = z.strictObject({
  /** SHA-256 of the SubjectPublicKeyInfo, hexadecimal. */
  key: z.string(),
  former: z.string(),
  /** Name of the first file with the new key; null if no checkpoint could be made with it yet. */
  file: z.string().nullable(),
});
export type CheckpointKeyView = z.output<typeof CheckpointKeyView>;
