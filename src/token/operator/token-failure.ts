/**
 * `unreachable`: no module, no token, no answer. `pinRefused`: the PIN was tried once. `refused`: it must not be done as things are.
 * `configuration`: what the configuration names cannot be used.
 */
export const failureKinds = ['unreachable', 'pinRefused', 'refused', 'configuration'] as const;
export type FailureKind = (typeof failureKinds)[number];

/** Why an operator's question to the token has no answer: one sentence that says what to do where something can be done. */
export class TokenFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'TokenFailure';
    this.kind = kind;
  }
}
