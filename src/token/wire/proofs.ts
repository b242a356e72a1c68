import { secretKinds, signingKinds, type Candidate, type Proof, type Proofs, type SecretKind } from '../token.ts';
import { WireError } from './fields.ts';

/**
 * Proofs at the end of a request. Each: role (u8), kind of secret (u8), length of the secret (u16),
 * length of the MAC (u8), salt (16 bytes), scope (32 bytes), MAC, secret. Roles: a candidate that
 * is only verified, one that signs, and a proof that must verify in addition (at most one, last).
 */
const roles = { verifies: 0, signs: 1, also: 2 } as const;
const saltBytes = 16;
const scopeBytes = 32;
const scopeStart = 5 + saltBytes;
const fixedBytes = scopeStart + scopeBytes;
const maxSecretBytes = 0xffff;
const maxProofs = 8;

const kinds = new Map<number, SecretKind>(Object.entries(secretKinds).map(([name, code]) => [code, name as SecretKind]));

/** @throws {WireError} */
export function secretKindOf(code: number): SecretKind {
  const kind = kinds.get(code);
  if (kind === undefined) throw new WireError('unknown kind of secret');
  return kind;
}

/**
 * @throws {RangeError} if a salt, a scope or a secret has a wrong length, or if there are too many
 * proofs
 */
export function writeProofs({ anyOf, also }: Proofs): Buffer {
  if (anyOf.length === 0 || anyOf.length > maxProofs) throw new RangeError(`${anyOf.length} candidates`);
  const parts = anyOf.map((candidate) => writeProof(candidate, candidate.signs ? roles.signs : roles.verifies));
  if (also !== undefined) parts.push(writeProof(also, roles.also));
  return Buffer.concat(parts);
}

function writeProof({ kind, salt, scope, mac, secret }: Proof, role: number): Buffer {
  if (salt.length !== saltBytes) throw new RangeError('a salt must have 16 bytes');
  if (scope.length !== scopeBytes) throw new RangeError('a scope must have 32 bytes');
  if (secret.length > maxSecretBytes) throw new RangeError('a secret is too long');
  const bytes = Buffer.allocUnsafe(fixedBytes + mac.length + secret.length);
  bytes[0] = role;
  bytes[1] = secretKinds[kind];
  bytes.writeUInt16BE(secret.length, 2);
  bytes.writeUInt8(mac.length, 4);
  bytes.set(salt, 5);
  bytes.set(scope, scopeStart);
  bytes.set(mac, fixedBytes);
  bytes.set(secret, fixedBytes + mac.length);
  return bytes;
}

/** Reads to the end of the body. @throws {WireError} */
export function readProofs(body: Buffer, start: number): Proofs {
  const anyOf: Candidate[] = [];
  let also: Proof | undefined;
  for (let offset = start; offset < body.length;) {
    if (offset + fixedBytes > body.length) throw new WireError('the frame ends early');
    if (also !== undefined || anyOf.length > maxProofs) throw new WireError('too many proofs');
    const role = body.readUInt8(offset);
    const kind = secretKindOf(body.readUInt8(offset + 1));
    const secretStart = offset + fixedBytes + body.readUInt8(offset + 4);
    const end = secretStart + body.readUInt16BE(offset + 2);
    if (end > body.length) throw new WireError('the frame ends early');
    const proof: Proof = {
      kind,
      salt: body.subarray(offset + 5, offset + scopeStart),
      scope: body.subarray(offset + scopeStart, offset + fixedBytes),
      mac: body.subarray(offset + fixedBytes, secretStart),
      secret: body.subarray(secretStart, end),
    };
    if (role === roles.signs && !signingKinds.has(kind)) throw new WireError('a secret of this kind does not let a key sign');
    if (role === roles.also) also = proof;
    else if (role === roles.signs || role === roles.verifies) anyOf.push({ ...proof, signs: role === roles.signs });
    else throw new WireError('unknown role of a proof');
    offset = end;
  }
  if (anyOf.length === 0) throw new WireError('no candidate');
  if (anyOf.length > maxProofs) throw new WireError('too many proofs');
  return { anyOf, also };
}
