import { reasonOf } from '../../telemetry/reason-of.ts';
import { FieldWriter, WireError } from '../wire/fields.ts';
import { statuses } from '../wire/frames.ts';
import { NoSuchKey } from './find-objects.ts';
import { MacKeyMissing } from './mac-key.ts';
import { pkcs11Code } from './session.ts';
import { KeyHeldBack } from './wrong-secrets.ts';

/** The answer to a request, without its frame. */
export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

export const nothing = Buffer.alloc(0);
export const wrongSecret: Answer = { status: statuses.wrongSecret, body: nothing };
/** The host does not know all keys yet. */
export const notYet: Answer = { status: statuses.notYet, body: nothing };
/** In place of the code of PKCS#11, for an error that has none. */
const noCode = 0xffffffff;

export function ok(body: Uint8Array): Answer {
  return { status: statuses.ok, body };
}

export function forbidden(reason: string): Answer {
  return { status: statuses.forbidden, body: Buffer.from(reason) };
}

/** Returns the answer to a request that failed. */
export function failed(error: unknown): Answer {
  if (error instanceof WireError || error instanceof RangeError) {
    return { status: statuses.malformed, body: Buffer.from(error.message) };
  }
  const text = reasonOf(error);
  if (error instanceof KeyHeldBack) return { status: statuses.heldBack, body: Buffer.from(String(error.until)) };
  if (error instanceof NoSuchKey) return { status: statuses.noSuchKey, body: Buffer.from(text) };
  if (error instanceof MacKeyMissing) return { status: statuses.noMacKey, body: Buffer.from(text) };
  return { status: statuses.fault, body: faultBody(error) };
}

/** Returns the answer to a request that failed because the host no longer serves. */
export function lost(error: unknown): Answer {
  return { status: statuses.lost, body: faultBody(error) };
}

function faultBody(error: unknown): Uint8Array {
  return new FieldWriter()
    .u32(pkcs11Code(error) ?? noCode)
    .bytes(Buffer.from(reasonOf(error)))
    .finish();
}
