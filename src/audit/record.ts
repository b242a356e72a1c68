import type { CheckpointEntry, Succession } from './checkpoint-entry.ts';
import type { Effect } from './effect.ts';

/**
 * Content of an audit record, apart from its place in the chain. Never document content, never a
 * secret.
 */
export type Entry =
  | RequestEntry
  | AdministrationEntry
  | RefusedEntry
  | WrongSecretsEntry
  | CheckpointEntry
  | OpenEntry
  | CloseEntry
  | StartEntry
  | OutageEntry
  | RemovalEntry;

/** A request that reached a client and a role, with its outcome. */
export interface RequestEntry {
  readonly kind: 'request';
  /** The service's own identifier of the request, as in the service log. */
  readonly request: string;
  readonly client: string;
  readonly tenant: string;
  /** First 16 hexadecimal digits of the SHA-256 of the client's SubjectPublicKeyInfo. */
  readonly spki: string;
  readonly address: string | undefined;
  /** Group and name, such as `signature/sign`. */
  readonly operation: string;
  /** The caller's own requestID, cut to 128 characters. */
  readonly requestID?: string | undefined;
  /** `keyReference.reference`. */
  readonly key?: string | undefined;
  /** Digests of what was signed or issued, each as `<hash>:<hexadecimal>`. */
  readonly digests?: readonly string[] | undefined;
  /**
   * Uses of the token for it, in the form of `token/uses.ts`; they are compared with the token
   * host's own account.
   */
  readonly uses?: readonly string[] | undefined;
  /** The identity provider's token from which a certificate's subject was taken. */
  readonly identityToken?: IdentityTokenDetails | undefined;
  /** Reason for the refusal if rows of the state store were tampered with. */
  readonly tampered?: string | undefined;
  /**
   * True if the outcome is that of an earlier request, repeated with the same Idempotency-Key;
   * otherwise absent.
   */
  readonly repeated?: boolean | undefined;
  /** The result; absent if the answer was an HTTP problem. */
  readonly major?: number | undefined;
  readonly minor?: number | undefined;
  /** Status of the HTTP problem that was answered. */
  readonly status?: number | undefined;
  /**
   * The message of a refusal, at most 300 characters, without what the caller chose. Absent in
   * records of earlier versions.
   */
  readonly reason?: string | undefined;
  /** Changes committed for it to the state store: a store that lacks them is older than the log. */
  readonly effects?: readonly Effect[] | undefined;
  /**
   * Changes committed to the state store for a request whose own record a crash or a full disk
   * prevented. Such a record has no outcome, since the caller received none.
   */
  readonly replayed?: string | undefined;
}

/**
 * Details of an identity provider's token, never the token itself. Issuer and identifier are
 * present once it is verified.
 */
export interface IdentityTokenDetails {
  /** Digest of its text, as `sha256:<hexadecimal>`. */
  readonly digest: string;
  /** `iss`. */
  readonly issuer?: string;
  /** `jti`, cut to 128 characters. */
  readonly id?: string;
  /**
   * If it is valid for one certificate only: its identifier in the state store, and until when that
   * is kept (milliseconds since the epoch).
   */
  readonly used?: { readonly id: string; readonly until: number };
}

/**
 * Record of an operator's action, by signetctl or a signal, or of the service's own work for its
 * authorities.
 */
export interface AdministrationEntry {
  readonly kind: 'administration';
  /** The service's own identifier of the action. */
  readonly request: string;
  /**
   * Uid of the local user of the admin socket; absent for a signal and for the service's own work.
   */
  readonly uid?: number | undefined;
  /** `console` if the command was given in the operator console; absent for signetctl. */
  readonly via?: 'console' | undefined;
  /**
   * The command of signetctl, such as `client revoke`, or the name of a signal; `issue OCSP
   * responder`; `sign for an authority`; of the console: `audit view`, `configuration view`.
   */
  readonly command: string;
  /** The client concerned, as it is registered afterwards, or was before. */
  readonly client?: string | undefined;
  readonly tenant?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  /** First 16 hexadecimal digits of the SHA-256 of the client's SubjectPublicKeyInfo. */
  readonly spki?: string | undefined;
  /** `keyReference.reference`. */
  readonly key?: string | undefined;
  /** The certificate authority concerned, by its name in the configuration. */
  readonly authority?: string | undefined;
  /** Digests of what was issued, each as `<hash>:<hexadecimal>`. */
  readonly digests?: readonly string[] | undefined;
  /** The certificate that a key of a CA is about to sign, or that a client has. */
  readonly certificate?: CertificateDetails | undefined;
  /** Uses of the token for it, as for requests. */
  readonly uses?: readonly string[] | undefined;
  /** Configuration members whose values changed. */
  readonly changed?: readonly string[] | undefined;
  /**
   * For `state confirm`: the records unknown to the state store, and how many of their changes were
   * applied again or are lost.
   */
  readonly confirmed?: { readonly from: number; readonly to: number; readonly applied: number; readonly lost: number } | undefined;
  /** For `client add` of a key that may have been revoked. */
  readonly again?: true | undefined;
  /** For `clock confirm`: the time of the newest record, which the clock was behind. */
  readonly newestRecord?: string | undefined;
  /** For `state copy`: the stores, and the number of rows that were copied and compared. */
  readonly copied?: { readonly from: string; readonly to: string; readonly rows: number } | undefined;
  /**
   * For `token accept`: the token that the service goes on with, the number of the MAC key on it
   * (`token/mac-generation.ts`), and how many keys of callers and digital identities were left
   * behind.
   */
  readonly accepted?: AcceptedToken | undefined;
  /** The approval that the command had, or that the record is about. */
  readonly approval?: ApprovalDetails | undefined;
  /** For a change of a key's purpose: its CKA_ID before, and the purpose. */
  readonly purpose?: { readonly keyId: string; readonly purpose: string } | undefined;
  /** As for a request. */
  readonly effects?: readonly Effect[] | undefined;
  /** Reason for a refusal or a failure. */
  readonly fault?: string | undefined;
  /** Changes committed to the state store if a crash or a full disk prevented its own record. */
  readonly replayed?: string | undefined;
}

export interface AcceptedToken {
  readonly label: string;
  readonly serial: string;
  readonly macKey: number;
  readonly keys: number;
  readonly identities: number;
}

/** What a record says of a command that a second user approves. */
export interface ApprovalDetails {
  /** Identifier of the request, as `signetctl approvals` shows it. */
  readonly id: string;
  readonly command: string;
  /** SHA-256 over the request as it was shown to the approver, hexadecimal. */
  readonly digest: string;
  /** Uid of the user who gave the command. */
  readonly asked: number;
  /** Uid of the user who approved it. */
  readonly approved?: number | undefined;
}

/** What a record says of a certificate (RFC 5280 §4.1.2). */
export interface CertificateDetails {
  /** Content octets of the INTEGER, hexadecimal. */
  readonly serialNumber: string;
  /** RFC 4514. */
  readonly subject: string;
  readonly notBefore: string;
  readonly notAfter: string;
}

/** Number of clients that were refused before any operation. */
export interface RefusedEntry {
  readonly kind: 'refused-clients';
  readonly reason: string;
  readonly count: number;
  readonly since: string;
  /** Address of the first of them. */
  readonly address: string | undefined;
  /** The client, if it is registered; absent in records of earlier versions. */
  readonly client?: string | undefined;
  readonly tenant?: string | undefined;
  /** First 16 hexadecimal digits of the SHA-256 of the client's SubjectPublicKeyInfo. */
  readonly spki?: string | undefined;
}

/**
 * Number of requests whose secret was not compared, since too many wrong ones had come from the
 * client, or from all clients of the tenant.
 */
export interface WrongSecretsEntry {
  readonly kind: 'wrong-secrets';
  readonly reason: 'more than the client may send' | 'more than the tenant may send';
  /** Absent if the tenant has sent too many. */
  readonly client?: string | undefined;
  readonly tenant: string;
  /** First 16 hexadecimal digits of the SHA-256 of the client's SubjectPublicKeyInfo. */
  readonly spki?: string | undefined;
  readonly count: number;
  readonly since: string;
}

/** The first record of each file. */
export interface OpenEntry {
  readonly kind: 'open';
  readonly log: string;
  /** The number in the file's name. */
  readonly file: number;
  /** SubjectPublicKeyInfo of the key that signs the checkpoints of this file, DER, base64. */
  readonly publicKey: string;
  /**
   * What the key before it says of this key; absent if there was none, or the token had lost it.
   */
  readonly succession?: Succession | undefined;
  /** Reason why this file does not continue the one before it. */
  readonly gap?: string | undefined;
}

/** The last record of each file except the newest. */
export interface CloseEntry {
  readonly kind: 'close';
  /** Name of the next file. */
  readonly next: string;
}

export interface StartEntry {
  readonly kind: 'start';
  /**
   * `admin.approvals`: the users whom commands with far effects need. Absent in logs of earlier
   * versions.
   */
  readonly approvals?: number | undefined;
  /** Length of the half-written line that the start removed. */
  readonly cutBytes?: number | undefined;
}

/** Written when records can be written again after a failure. */
export interface OutageEntry {
  readonly kind: 'outage';
  readonly since: string;
  readonly reason: string;
  /** Number of requests answered with 2/243 in the meantime. */
  readonly refused: number;
}

/** Written before the oldest files of the log are removed, at an operator's command. */
export interface RemovalEntry {
  readonly kind: 'removal';
  /** Name of the first file that is kept. */
  readonly next: string;
  /** Number of the last record that is removed. */
  readonly records: number;
  /** Hash of its line: the first record that is kept has it as `previous`. */
  readonly hash: string;
}

/** A record's place: its number, from 1, and the hash of its line. */
export interface Place {
  readonly n: number;
  readonly hash: string;
}

/** A place with the number of the file that holds it. */
export interface FilePlace extends Place {
  readonly file: number;
}
