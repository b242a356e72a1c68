import { z } from 'zod';
import type { AccountHead } from '../account-files.ts';
import { requestIsRefused, tokenIsFull } from '../pkcs11-faults.ts';
import { KeyGone, KeyHeldBack, TokenCannot, TokenFull, TokenUnavailable, type SignOutcome } from '../token.ts';
import { FieldReader } from '../wire/fields.ts';
import { statuses, type Answer } from '../wire/frames.ts';

const AccountHeads = z.array(z.strictObject({ chain: z.int(), n: z.int(), hash: z.string() }));

/** Classifies an answer's status for the metrics. */
export function outcomeOf(status: number): 'ok' | 'refused' | 'fault' {
  if (status === statuses.fault || status === statuses.lost) return 'fault';
  return status === statuses.ok ? 'ok' : 'refused';
}

/**
 * Returns the body of an answer with status `ok`.
 * @throws the error that any other status stands for
 */
export function bodyOf({ status, body }: Answer): Buffer {
  if (status === statuses.ok) return body;
  if (status === statuses.fault) {
    throw requestIsRefused(body.readUInt32BE(0)) ? new TokenCannot(faultText(body)) : new TokenUnavailable(faultText(body));
  }
  if (status === statuses.lost) throw new TokenUnavailable(faultText(body));
  const text = body.toString('utf8');
  if (status === statuses.heldBack) throw new KeyHeldBack(new Date(Number(text)));
  if (status === statuses.noSuchKey) throw new KeyGone(text);
  if (status === statuses.noMacKey) throw new TokenUnavailable(text);
  throw new Error(`the token host refuses a request: ${text}`);
}

/** The same of a request to make a key. @throws {TokenFull} if the token has no room for it */
export function madeKeyIn(answer: Answer): Buffer {
  if (answer.status === statuses.fault && tokenIsFull(answer.body.readUInt32BE(0))) throw new TokenFull(faultText(answer.body));
  return bodyOf(answer);
}

/** Returns the words of an answer with status `fault` or `lost`. */
export function faultText(body: Buffer): string {
  const reader = new FieldReader(body);
  const code = reader.u32();
  return `PKCS#11 0x${code.toString(16)}: ${reader.bytes().toString('utf8')}`;
}

/** Returns the ends of the host's account. @throws {ZodError} if the answer has another form */
export function accountHeadsIn(answer: Answer): AccountHead[] {
  return AccountHeads.parse(JSON.parse(bodyOf(answer).toString('utf8')));
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
