import { mechanismIsRefused } from '../pkcs11-faults.ts';
import { KeyGone, KeyHeldBack, TokenCannot, TokenUnavailable, type SignOutcome } from '../token.ts';
import { FieldReader } from '../wire/fields.ts';
import { statuses, type Answer } from '../wire/frames.ts';

/** Classifies an answer's status for the metrics. */
export function outcomeOf(status: number): 'ok' | 'refused' | 'fault' {
  return status === statuses.ok ? 'ok' : status === statuses.fault ? 'fault' : 'refused';
}

/**
 * Returns the body of an answer with status `ok`.
 * @throws the error that any other status stands for
 */
export function bodyOf({ status, body }: Answer): Buffer {
  if (status === statuses.ok) return body;
  if (status === statuses.fault) {
    const reader = new FieldReader(body);
    const code = reader.u32();
    const message = `PKCS#11 0x${code.toString(16)}: ${reader.bytes().toString('utf8')}`;
    throw mechanismIsRefused(code) ? new TokenCannot(message) : new TokenUnavailable(message);
  }
  const text = body.toString('utf8');
  if (status === statuses.heldBack) throw new KeyHeldBack(new Date(Number(text)));
  if (status === statuses.noSuchKey) throw new KeyGone(text);
  if (status === statuses.noMacKey) throw new TokenUnavailable(text);
  throw new Error(`the token host refuses a request: ${text}`);
}

/** Reads a body that is one list. */
export function listIn(body: Buffer): readonly Buffer[] {
  const reader = new FieldReader(body);
  const list = reader.list();
  reader.end();
  return list;
}

/** Reads the result of a signature that needs a proof. @throws as `bodyOf` */
export function signOutcome(answer: Answer): SignOutcome {
  if (answer.status === statuses.wrongSecret) return { verified: false };
  const body = bodyOf(answer);
  return { verified: true, by: body.readUInt8(0), values: listIn(body.subarray(1)) };
}
