/*
 * The answers of the console's own interface, as the service sends them and the page reads them.
 * Times are ISO 8601 in UTC unless a name has a unit.
 */

/** What the console lets a signed-in operator do. */
export type Access = 'read' | 'operate';

/** `overview`: for everybody who reaches the listener; it says what /health/ready says. */
export interface Overview {
  readonly version: string;
  /** Time of the service's clock. */
  readonly now: string;
  readonly started: string;
  readonly isReady: boolean;
  /** By part, why it is not ready. */
  readonly faults: Readonly<Record<string, string>>;
  /** By part, what needs attention. */
  readonly warnings: Readonly<Record<string, string>>;
}

/** Values of one moment in the history; null where there is none. Durations are in seconds. */
export interface Sample {
  /** Milliseconds since epoch. */
  readonly timeMs: number;
  /** Requests answered per second since the sample before: all, and those with an error. */
  readonly requestsPerSecond: number | null;
  readonly errorsPerSecond: number | null;
  readonly requestP50: number | null;
  readonly requestP99: number | null;
  readonly tokenP50: number | null;
  readonly tokenP99: number | null;
  /** Requests that wait for the token. */
  readonly tokenWaiting: number | null;
  /** 1 if the token host is connected, else 0. */
  readonly tokenReady: number | null;
}

/** `history`: the samples after a moment, oldest first. */
export interface History {
  readonly intervalSeconds: number;
  /** Seconds that the service remembers. */
  readonly spanSeconds: number;
  readonly samples: readonly Sample[];
}

/** `sign-in`. */
export interface SignedIn {
  /** Goes into the header of every request; the cookie alone opens nothing. */
  readonly token: string;
  readonly operator: string;
  readonly access: Access;
  readonly endsAt: string;
}

/** A certificate or list that ends. */
export interface End {
  readonly what: 'API certificate' | 'client CRL' | 'CA certificate' | 'CRL' | 'OCSP responder' | 'time-stamp authority';
  /** Name of the authority; empty where there is only one. */
  readonly name: string;
  readonly at: string;
}

export interface OpenSessions {
  readonly tenant: string;
  readonly count: number;
  readonly oldestAgeSeconds: number;
  /** When the last of them ends. */
  readonly lastEnds: string;
}

/** Limits in force: of a tenant, or of clients of it. */
export interface Limits {
  readonly tenant: string;
  /** Null: all clients of the tenant together; empty: each client that is not named. */
  readonly client: string | null;
  readonly requestsPerSecond: number | null;
  readonly requestsBurst: number | null;
  readonly requestsMax: number;
  readonly connectionsMax: number;
}

/** `service`: the running service in detail. */
export interface Service {
  readonly operator: string;
  readonly access: Access;
  /** When the operator is signed out. */
  readonly signedInUntil: string;
  readonly pid: number;
  readonly api: string;
  readonly configuration: string;
  readonly notLoaded: readonly string[];
  readonly lastReload: { readonly at: string; readonly faults: readonly string[] } | null;
  readonly tenants: readonly string[];
  readonly clients: number;
  readonly state: string;
  readonly audit: {
    readonly enabled: boolean;
    readonly writable: boolean;
    readonly lastCheckpoint: string | null;
    readonly recordsSinceCheckpoint: number;
  };
  readonly token: {
    readonly label: string;
    readonly profile: string;
    readonly threads: number;
    readonly isReady: boolean;
    readonly waiting: number;
    readonly waitingMax: number;
    /** Keys made in advance, by type. */
    readonly pool: Readonly<Record<string, number>>;
    readonly keysLeft: readonly { readonly tokenId: string; readonly reason: string }[];
  };
  readonly limits: readonly Limits[];
  readonly ends: readonly End[];
  /** Null if the state store does not answer. */
  readonly sessions: readonly OpenSessions[] | null;
}

export interface Key {
  readonly reference: string;
  readonly tenant: string;
  readonly type: string;
  readonly protocol: string;
  readonly state: string;
  readonly subject: string;
  readonly tokenId: string;
  readonly created: string;
  readonly notAfter: string;
  readonly remainingAttempts: number;
  readonly failuresSinceSuccess: number;
  readonly lockedUntil: string | null;
}

/** `keys`: keys that were found. */
export interface FoundKeys {
  readonly keys: readonly Key[];
  /** Where the search goes on, as `after`; null at the end. */
  readonly next: string | null;
  /** Number of keys that were looked at. */
  readonly looked: number;
}

/** `audit`: the last records, or those that were searched for, newest first, as they are in the log. */
export interface AuditRecords {
  readonly records: readonly Readonly<Record<string, unknown>>[];
  /** Of a search that reached its bounds: the record before which it can go on. */
  readonly next?: number;
}

/** `configuration`: the configuration in force, with secrets hidden. */
export interface ConfigurationInForce {
  readonly path: string;
  readonly sections: Readonly<Record<string, unknown>>;
}
