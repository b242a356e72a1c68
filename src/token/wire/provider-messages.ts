import { keyIdOf, keyOwner, keyPurpose, isMacKeyId, lacksPurpose, type KeyId } from '../key-id.ts';
import { macHashes, type MacHash, type MessageAlgorithm, type MessageKeyType } from '../service-keys.ts';
import { FieldReader, FieldWriter, WireError } from './fields.ts';
import { maxFrameBytes } from './frames.ts';

/**
 * Bodies of requests on keys that sign whole messages. They name only service keys, and never the
 * MAC key.
 */

/** A message is sent to the host in one frame; 1 KiB is left for the other fields. */
export const maxMessageBytes = maxFrameBytes - 1024;

/** Code 0 is Ed25519; HMAC codes start at 1, in the order of `macHashes`. */
const ed25519Code = 0;
const maxMacKeyBytes = 512;

export function writeCreateMessageKey(id: KeyId, type: MessageKeyType): Buffer {
  return start(id, type)
    .u32(type.scheme === 'HMAC' ? type.bytes : 0)
    .finish();
}

export function readCreateMessageKey(body: Buffer): { id: KeyId; type: MessageKeyType } {
  const reader = new FieldReader(body);
  const id = readServiceKeyId(reader);
  const algorithm = readAlgorithm(reader);
  const bytes = reader.u32();
  reader.end();
  checkPurpose(id, algorithm);
  if (lacksPurpose(id)) throw new WireError('a new key must have a purpose');
  if (algorithm.scheme === 'Ed25519') return { id, type: algorithm };
  if (bytes === 0 || bytes > maxMacKeyBytes) throw new WireError(`an HMAC key of ${bytes} bytes`);
  return { id, type: { ...algorithm, bytes } };
}

/** @throws {RangeError} over `maxMessageBytes` */
export function writeSignMessage(id: KeyId, algorithm: MessageAlgorithm, message: Uint8Array): Buffer {
  return start(id, algorithm).bytes(checked(message)).finish();
}

export function readSignMessage(body: Buffer): { id: KeyId; algorithm: MessageAlgorithm; message: Buffer } {
  const reader = new FieldReader(body);
  const request = { id: readServiceKeyId(reader), algorithm: readAlgorithm(reader), message: reader.bytes() };
  reader.end();
  checkPurpose(request.id, request.algorithm);
  return request;
}

/** @throws {RangeError} over `maxMessageBytes` */
export function writeVerifyMac(id: KeyId, hash: MacHash, message: Uint8Array, mac: Uint8Array): Buffer {
  return start(id, { scheme: 'HMAC', hash }).bytes(checked(message)).bytes(mac).finish();
}

export function readVerifyMac(body: Buffer): { id: KeyId; hash: MacHash; message: Buffer; mac: Buffer } {
  const reader = new FieldReader(body);
  const id = readServiceKeyId(reader);
  const algorithm = readAlgorithm(reader);
  if (algorithm.scheme !== 'HMAC') throw new WireError('the algorithm makes no MAC');
  checkPurpose(id, algorithm);
  const request = { id, hash: algorithm.hash, message: reader.bytes(), mac: reader.bytes() };
  reader.end();
  return request;
}

function start(id: KeyId, algorithm: MessageAlgorithm): FieldWriter {
  const code = algorithm.scheme === 'HMAC' ? 1 + macHashes.indexOf(algorithm.hash) : ed25519Code;
  return new FieldWriter().bytes(Buffer.from(id, 'hex')).u8(code);
}

function checked(message: Uint8Array): Uint8Array {
  if (message.length > maxMessageBytes) {
    throw new RangeError(`a message of ${message.length} bytes; the token host accepts at most ${maxMessageBytes}`);
  }
  return message;
}

function readServiceKeyId(reader: FieldReader): KeyId {
  const id = keyIdOf(reader.bytes());
  if (keyOwner(id) !== 'service' || isMacKeyId(id)) throw new WireError('not a key that signs messages');
  return id;
}

/**
 * HMAC requires a key for HMAC, or one from before keys had purposes, which the token binds to it;
 * Ed25519 requires a key for general use.
 */
function checkPurpose(id: KeyId, { scheme }: MessageAlgorithm): void {
  const purpose = keyPurpose(id);
  const isFor = purpose === 'general' || (scheme === 'HMAC' && (purpose === 'mac' || lacksPurpose(id)));
  if (!isFor) throw new WireError('not a key for this algorithm');
}

function readAlgorithm(reader: FieldReader): MessageAlgorithm {
  const code = reader.u8();
  if (code === ed25519Code) return { scheme: 'Ed25519' };
  const hash = macHashes[code - 1];
  if (hash === undefined) throw new WireError('a value is outside its list');
  return { scheme: 'HMAC', hash };
}
