import { keyIdBytes, keyIdLength, keyIdOf, type KeyId } from '../key-id.ts';
import { hashBytes, hashNames, type HashName, type SignatureAlgorithm } from '../signature-algorithm.ts';
import { secretKinds, type Proof, type SecretKind } from '../token.ts';
import { WireError } from './fields.ts';

/**
 * The body of a signature request. Nearly all requests are of this kind, and the host reads them without a compiler (`--jitless`), so every
 * field has a fixed place: CKA_ID (17 bytes), scheme (u8), hash (u8), hash of MGF1 (u8), salt length (u16), kind of secret (u8, 0: no proof),
 * number of digests (u16), the digests, and with a proof: salt (16 bytes), length of the MAC (u8), MAC, and the secret as what is left.
 */
export interface SignRequest {
  readonly id: KeyId;
  readonly algorithm: SignatureAlgorithm;
  readonly digests: readonly Buffer[];
  readonly proof: Proof | undefined;
}

const schemes = ['RSA_PKCS1', 'RSA_PSS', 'ECDSA'] as const;
const fixedBytes = keyIdLength + 8;
const saltLength = 16;

/** @throws {RangeError} where a digest or the salt has another length than it must have. */
export function writeSign(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proof?: Proof): Buffer {
  const digestLength = hashBytes[algorithm.hash];
  const proofBytes = proof === undefined ? 0 : saltLength + 1 + proof.mac.length + proof.secret.length;
  const body = Buffer.allocUnsafe(fixedBytes + digests.length * digestLength + proofBytes);
  body.set(keyIdBytes(id), 0);
  body[keyIdLength] = schemes.indexOf(algorithm.scheme);
  body[keyIdLength + 1] = hashNames.indexOf(algorithm.hash);
  body[keyIdLength + 2] = algorithm.scheme === 'RSA_PSS' ? hashNames.indexOf(algorithm.mgfHash) : 0;
  body.writeUInt16BE(algorithm.scheme === 'RSA_PSS' ? algorithm.saltBytes : 0, keyIdLength + 3);
  body[keyIdLength + 5] = proof === undefined ? 0 : secretKinds[proof.kind];
  body.writeUInt16BE(digests.length, keyIdLength + 6);
  let offset = fixedBytes;
  for (const digest of digests) {
    if (digest.length !== digestLength) throw new RangeError('a digest of another length than its hash');
    body.set(digest, offset);
    offset += digestLength;
  }
  if (proof !== undefined) {
    if (proof.salt.length !== saltLength) throw new RangeError('a salt has 16 bytes');
    body.set(proof.salt, offset);
    body.writeUInt8(proof.mac.length, offset + saltLength);
    body.set(proof.mac, offset + saltLength + 1);
    body.set(proof.secret, offset + saltLength + 1 + proof.mac.length);
  }
  return body;
}

/** @throws {WireError | RangeError} where the bytes are no such request. */
export function readSign(body: Buffer): SignRequest {
  if (body.length < fixedBytes) throw new WireError('the frame ends early');
  const id = keyIdOf(body.subarray(0, keyIdLength));
  const algorithm = readAlgorithm(body);
  const kind = body[keyIdLength + 5] ?? 0;
  const count = body.readUInt16BE(keyIdLength + 6);
  const digestLength = hashBytes[algorithm.hash];
  const end = fixedBytes + count * digestLength;
  if (end > body.length || (kind === 0 && end !== body.length)) throw new WireError('a request of another length than its digests');
  const digests: Buffer[] = [];
  for (let offset = fixedBytes; offset < end; offset += digestLength) digests.push(body.subarray(offset, offset + digestLength));
  return { id, algorithm, digests, proof: kind === 0 ? undefined : readProof(secretKindOf(kind), body, end) };
}

function readProof(kind: SecretKind, body: Buffer, offset: number): Proof {
  const macStart = offset + saltLength + 1;
  const secretStart = macStart + body.readUInt8(macStart - 1);
  if (secretStart > body.length) throw new WireError('the frame ends early');
  return {
    kind,
    salt: body.subarray(offset, offset + saltLength),
    mac: body.subarray(macStart, secretStart),
    secret: body.subarray(secretStart),
  };
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
      throw new WireError('an unknown scheme');
  }
}

function hashAt(body: Buffer, offset: number): HashName {
  const hash = hashNames[body[offset] ?? hashNames.length];
  if (hash === undefined) throw new WireError('an unknown hash');
  return hash;
}

function secretKindOf(code: number): SecretKind {
  if (code !== secretKinds.PASSWORD) throw new WireError('an unknown kind of secret');
  return 'PASSWORD';
}
