import type { CredentialKey } from './credentials.ts';
import type { SetupProgress } from './progress.ts';

/** What a run adds to the answers: files, which may come in a later run, and how to proceed. */
export interface RunOptions {
  readonly pinFile?: string | undefined;
  readonly credentialKey: CredentialKey;
  /** Certificate of the issuing CA, from outside, and those above it, the root last. */
  readonly caCertificate?: string | undefined;
  readonly caChain: readonly string[];
  readonly serverCertificate?: string | undefined;
  readonly serverKey?: string | undefined;
  readonly serverCa?: string | undefined;
  readonly clientCa?: string | undefined;
  readonly clientCrl: readonly string[];
  readonly clientCertificate?: string | undefined;
  readonly clientKey?: string | undefined;
  /** Whether somebody can be asked. */
  readonly asks: boolean;
}

export interface StepContext {
  readonly progress: SetupProgress;
  readonly options: RunOptions;
}

/** Something that setup waits for, in words for the operator. */
export interface Waiting {
  readonly waits: string;
}

/** A step of setup. It may be repeated after a failure. */
export interface Step {
  readonly name: string;
  /** Said before it begins. */
  readonly title: string;
  run(context: StepContext): Promise<Waiting | undefined>;
}
