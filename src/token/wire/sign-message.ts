import { keyIdBytes, keyIdLength, keyIdOf, type KeyId } from '../key-id.ts';
import { hashBytes, hashNames, type HashName, type SignatureAlgorithm } from '../signature-algorithm.ts';
import type { Proofs } from '../token.ts';
import { WireError } from './fields.ts';
import { readProofs, writeProofs } from './proofs.ts';

/**
 * Body of a signature request. Nearly all requests are of this kind, and the host reads them
 * without a JIT compiler (`--jitless`), so every field has a fixed offset: CKA_ID (17 bytes),
 * scheme (u8), hash (u8), hash of MGF1 (u8), salt length (u16), whether proofs follow (u8, 0 or 1),
 * number of digests (u16), the digests, the proofs.
 */
export interface SignRequest {
  readonly id: KeyId;
  readonly algorithm: SignatureAlgorithm;
  readonly digests: readonly Buffer[];
  readonly proofs: Proofs | undefined;
}

const schemes = ['RSA_PKCS1', 'RSA_PSS', 'ECDSA'] as const;
/** Key and algorithm. */
const headBytes = keyIdLength + 5;
const fixedBytes = headBytes + 3;
/** Of P-256. */
const shortestOrderBytes = 32;
const wrongLength = 'the request does not have the length of its digests';

/** @throws {RangeError} if a digest, a salt or a secret has a wrong length */
export function writeSign(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proofs?: Proofs): Buffer {
  const digestLength = hashBytes[algorithm.hash];
  const end = proofs === undefined ? Buffer.alloc(0) : writeProofs(proofs);
  const body = Buffer.allocUnsafe(fixedBytes + digests.length * digestLength + end.length);
  writeHead(body, id, algorithm);
  body[headBytes] = proofs === undefined ? 0 : 1;
  body.writeUInt16BE(digests.length, headBytes + 1);
  let offset = fixedBytes;
  for (const digest of digests) {
    if (digest.length !== digestLength) throw new RangeError('a digest does not have the length of its hash');
    body.set(digest, offset);
    offset += digestLength;
  }
  body.set(end, offset);
  return body;
}

/** @throws {WireError | RangeError} where the bytes are no such request. */
export function readSign(body: Buffer): SignRequest {
  if (body.length < fixedBytes) throw new WireError('the frame ends early');
  const id = keyIdOf(body.subarray(0, keyIdLength));
  const { algorithm, digests, end } = digestsOf(body);
  const hasProofs = body[headBytes] !== 0;
  if (!hasProofs && end !== body.length) throw new WireError(wrongLength);
  return { id, algorithm, digests, proofs: hasProofs ? readProofs(body, end) : undefined };
}

/**
 * Reads the digests of a signature request, and where they end.
 * @throws {WireError | RangeError} where the bytes are no such request.
 */
export function digestsOf(body: Buffer): Pick<SignRequest, 'algorithm' | 'digests'> & { readonly end: number } {
  const algorithm = readAlgorithm(body);
  const digestLength = hashBytes[algorithm.hash];
  const end = fixedBytes + body.readUInt16BE(headBytes + 1) * digestLength;
  if (end > body.length) throw new WireError(wrongLength);
  const digests: Buffer[] = [];
  for (let offset = fixedBytes; offset < end; offset += digestLength) digests.push(body.subarray(offset, offset + digestLength));
  return { algorithm, digests, end };
}

/**
 * Whether a signature request wants ECDSA over digests that may be longer than the order of the
 * key's curve.
 */
export function isLongEcdsa(body: Buffer): boolean {
  const hash = hashNames[body[keyIdLength + 1] ?? -1];
  return schemes[body[keyIdLength] ?? -1] === 'ECDSA' && hash !== undefined && hashBytes[hash] > shortestOrderBytes;
}

/**
 * Request to sign a message with a service key, whose purpose the message must fit: key and
 * algorithm as above, then the message, to the end.
 */
export interface ServiceSignRequest {
  readonly id: KeyId;
  readonly algorithm: SignatureAlgorithm;
  readonly message: Buffer;
}

export function writeServiceSign(id: KeyId, algorithm: SignatureAlgorithm, message: Uint8Array): Buffer {
  const body = Buffer.allocUnsafe(headBytes + message.length);
  writeHead(body, id, algorithm);
  body.set(message, headBytes);
  return body;
}

/** @throws {WireError | RangeError} where the bytes are no such request. */
export function readServiceSign(body: Buffer): ServiceSignRequest {
  if (body.length < headBytes) throw new WireError('the frame ends early');
  return { id: keyIdOf(body.subarray(0, keyIdLength)), algorithm: readAlgorithm(body), message: body.subarray(headBytes) };
}

/** Maximum length of a data zone: several times what the largest symbol of 2D-Doc holds. */
export const maxZoneBytes = 8192;

/**
 * Request to sign messages with the key of a digital identity: key and algorithm as above, number
 * of messages (u16), each with its length (u16), then the proofs.
 */
export interface IdentitySignRequest {
  readonly id: KeyId;
  readonly algorithm: SignatureAlgorithm;
  readonly messages: readonly Buffer[];
  readonly proofs: Proofs;
}

/** @throws {RangeError} if a message is too long, or a salt or a secret has a wrong length */
export function writeIdentitySign(id: KeyId, algorithm: SignatureAlgorithm, messages: readonly Uint8Array[], proofs: Proofs): Buffer {
  const head = Buffer.alloc(headBytes + 2);
  writeHead(head, id, algorithm);
  head.writeUInt16BE(messages.length, headBytes);
  const listed = messages.map((message) => {
    if (message.length > maxZoneBytes) throw new RangeError(`a message of ${message.length} bytes`);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(message.length);
    return Buffer.concat([length, message]);
  });
  return Buffer.concat([head, ...listed, writeProofs(proofs)]);
}

/** @throws {WireError | RangeError} where the bytes are no such request. */
export function readIdentitySign(body: Buffer): IdentitySignRequest {
  if (body.length < headBytes + 2) throw new WireError('the frame ends early');
  const id = keyIdOf(body.subarray(0, keyIdLength));
  const algorithm = readAlgorithm(body);
  const messages: Buffer[] = [];
  let offset = headBytes + 2;
  for (let count = body.readUInt16BE(headBytes); count > 0; count -= 1) {
    if (offset + 2 > body.length) throw new WireError('the frame ends early');
    const end = offset + 2 + body.readUInt16BE(offset);
    if (end > body.length) throw new WireError('the frame ends early');
    messages.push(body.subarray(offset + 2, end));
    offset = end;
  }
  return { id, algorithm, messages, proofs: readProofs(body, offset) };
}

function writeHead(body: Buffer, id: KeyId, algorithm: SignatureAlgorithm): void {
  body.set(keyIdBytes(id), 0);
  body[keyIdLength] = schemes.indexOf(algorithm.scheme);
  body[keyIdLength + 1] = hashNames.indexOf(algorithm.hash);
  body[keyIdLength + 2] = algorithm.scheme === 'RSA_PSS' ? hashNames.indexOf(algorithm.mgfHash) : 0;
  body.writeUInt16BE(algorithm.scheme === 'RSA_PSS' ? algorithm.saltBytes : 0, keyIdLength + 3);
}

function readAlgorithm(body: Buffer): SignatureAlgorithm {
  const scheme = schemes[body[keyIdLength] ?? schemes.length];
  const hash = hashAt(body, keyIdLength + 1);
  switch (scheme) {
    case 'RSA_PSS':
      return { scheme, hash, mgfHash: hashAt(body, keyIdLength + 2), saltBytes: body.readUInt16BE(keyIdLength + 3) };
    case 'RSA_PKCS1':
    case 'ECDSA':
      return { scheme, hash };
    case undefined:
    default:
      throw new WireError('unknown scheme');
  }
}

function hashAt(body: Buffer, offset: number): HashName {
  const hash = hashNames[body[offset] ?? hashNames.length];
  if (hash === undefined) throw new WireError('unknown hash');
  return hash;
}
