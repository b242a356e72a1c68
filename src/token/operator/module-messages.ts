import { z } from 'zod';
import type { ReportName } from '../wire/reports.ts';
import { failureKinds } from './token-failure.ts';

/**
 * Request to initialise a token. Secrets are passed as references; the process that needs them
 * reads them.
 */
export interface Initialisation {
  readonly label: string;
  readonly soPin: string;
  readonly pin: string;
  /**
   * Decimal. If absent: the only slot with an uninitialised token or, to initialise again, the slot
   * of the token with the label.
   */
  readonly slot?: string;
  readonly reinitialise: boolean;
  /** The label of the token to erase, typed again. */
  readonly confirm?: string;
}

/** Request to change the user PIN. */
export interface PinChange {
  /** Reference of the new PIN. */
  readonly newPin: string;
  /** An earlier change was interrupted: the token may have the new PIN already. */
  readonly isRepeated: boolean;
}

/** A question to the process that opens the module, and its answer. */
export type ModuleQuestion =
  | { readonly kind: 'report'; readonly name: ReportName; readonly question: object }
  | { readonly kind: 'changePin'; readonly change: PinChange }
  | { readonly kind: 'initialise'; readonly initialisation: Initialisation };

export const ModuleAnswer = z.union([
  z.strictObject({ value: z.unknown() }),
  z.strictObject({ failure: z.strictObject({ kind: z.enum(failureKinds), text: z.string() }) }),
]);
export type ModuleAnswer = z.output<typeof ModuleAnswer>;

/** The initialised token. */
export const Initialised = z.strictObject({ label: z.string(), serial: z.string() });
export type Initialised = z.output<typeof Initialised>;
