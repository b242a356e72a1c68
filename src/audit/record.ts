import type { AccountHead } from '../token/account-files.ts';
import type { Effect } from './effect.ts';

/** What a record of the audit log says, apart from its place in the chain. Never content, never a secret. */
export type Entry = RequestEntry | AdministrationEntry | RefusedEntry | CheckpointEntry | OpenEntry | CloseEntry | StartEntry | OutageEntry;

/** A request that reached a client and a role, with its outcome. */
export interface RequestEntry {
  readonly kind: 'request';
  /** The service's own identifier of the request; the log has the same. */
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
  /** Of what was signed or issued, each as `<hash>:<hexadecimal>`. */
  readonly digests?: readonly string[] | undefined;
  /** What the token did for it, as `token/uses.ts` writes it: what the token host's own account is compared with. */
  readonly uses?: readonly string[] | undefined;
  /** The token of an identity provider that the subject of a certificate came from. */
  readonly identityToken?: IdentityTokenDetails | undefined;
  /** Why it was refused, where rows of the state store are not as the service wrote them. */
  readonly tampered?: string | undefined;
  /** True where the outcome is that of an earlier request, which the caller repeated with the same Idempotency-Key; absent otherwise. */
  readonly repeated?: boolean | undefined;
  /** The result; absent where the answer was an HTTP problem. */
  readonly major?: number | undefined;
  readonly minor?: number | undefined;
  /** Status of the HTTP problem that was answered. */
  readonly status?: number | undefined;
  /** What the state store has committed for it: one that lacks it is older than the log. */
  readonly effects?: readonly Effect[] | undefined;
  /**
   * What the state store had committed for a request whose own record a crash or a full disk prevented.
   * Such a record has no outcome: the caller was not told one.
   */
  readonly replayed?: string | undefined;
}

/** Never the token itself. Issuer and identifier are there once it is verified. */
export interface IdentityTokenDetails {
  /** Of its text, as `sha256:<hexadecimal>`. */
  readonly digest: string;
  /** `iss`. */
  readonly issuer?: string;
  /** `jti`, cut to 128 characters. */
  readonly id?: string;
  /** Where it makes one certificate alone: what the state store knows it by from then on, and until when, milliseconds since epoch. */
  readonly used?: { readonly id: string; readonly until: number };
}

/** What an operator did, by signetctl or by a signal, or the service for its authorities by itself. */
export interface AdministrationEntry {
  readonly kind: 'administration';
  /** The service's own identifier of it. */
  readonly request: string;
  /** Number of the local user who asked over the admin socket; absent for a signal, and where nobody asked. */
  readonly uid?: number | undefined;
  /** As signetctl has it, such as `client revoke`; of a signal, its name; `issue OCSP responder`; `sign for an authority`. */
  readonly command: string;
  /** The client that it is about, as it is registered from then on, or was until then. */
  readonly client?: string | undefined;
  readonly tenant?: string | undefined;
  readonly roles?: readonly string[] | undefined;
  /** First 16 hexadecimal digits of the SHA-256 of the client's SubjectPublicKeyInfo. */
  readonly spki?: string | undefined;
  /** `keyReference.reference`. */
  readonly key?: string | undefined;
  /** The certificate authority that the service did it for, by its name in the configuration. */
  readonly authority?: string | undefined;
  /** Of what was issued, each as `<hash>:<hexadecimal>`. */
  readonly digests?: readonly string[] | undefined;
  /** What the token did for it, as of requests. */
  readonly uses?: readonly string[] | undefined;
  /** Members of the configuration that have other values now. */
  readonly changed?: readonly string[] | undefined;
  /** Of `state confirm`: the records that the state store had not known, and how many of their changes were made again, or are lost. */
  readonly confirmed?: { readonly from: number; readonly to: number; readonly applied: number; readonly lost: number } | undefined;
  /** As of a request. */
  readonly effects?: readonly Effect[] | undefined;
  /** Why it was not done, or how it failed. */
  readonly fault?: string | undefined;
  /** What the state store had committed for it, where a crash or a full disk prevented its own record. */
  readonly replayed?: string | undefined;
}

/** Clients that were refused before any operation, added up. */
export interface RefusedEntry {
  readonly kind: 'refused-clients';
  readonly reason: string;
  readonly count: number;
  readonly since: string;
  /** The address of the first of them. */
  readonly address: string | undefined;
}

export interface CheckpointEntry {
  readonly kind: 'checkpoint';
  readonly checkpoint: Checkpoint;
  /** Number of the last record that the state store is known to name as its own place in the log; 0: none. */
  readonly kept: number;
  /** ECDSA-Sig-Value (RFC 3279 §2.2.3), base64. */
  readonly signature: string;
  /** Where the chains of the token host's account of uses ended, or were later. The next checkpoint covers it. */
  readonly account?: readonly AccountHead[] | undefined;
}

/** What a checkpoint's signature is over: the log up to and with one record. */
export interface Checkpoint {
  /** Name of the log. */
  readonly log: string;
  /** Number of the last record that it covers: the count of all records so far. */
  readonly records: number;
  /** Hash of that record's line. */
  readonly hash: string;
  readonly time: string;
}

/** The first record of each file. */
export interface OpenEntry {
  readonly kind: 'open';
  readonly log: string;
  /** The number in the file's name. */
  readonly file: number;
  /** SubjectPublicKeyInfo of the key that signs the checkpoints of this file, DER, base64. */
  readonly publicKey: string;
  /** Why this file does not continue the one before it. */
  readonly gap?: string | undefined;
}

/** The last record of each file but the newest. */
export interface CloseEntry {
  readonly kind: 'close';
  /** Name of the file that goes on. */
  readonly next: string;
}

export interface StartEntry {
  readonly kind: 'start';
  /** Length of the half-written line that the start removed. */
  readonly cutBytes?: number | undefined;
}

/** Written when the disk takes records again. */
export interface OutageEntry {
  readonly kind: 'outage';
  readonly since: string;
  readonly reason: string;
  /** Requests that were answered 2/243 in the meantime. */
  readonly refused: number;
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
