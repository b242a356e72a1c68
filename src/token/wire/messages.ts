import { keyTypes, type KeyType } from '../../config/key-types.ts';
import { keyIdBytes, keyIdLength, keyIdOf, lacksPurpose, type KeyId, type KeyPurpose } from '../key-id.ts';
import { claimOutcomes, secretKinds, type ClaimOutcome, type Proofs, type SecretKind } from '../token.ts';
import { FieldReader, FieldWriter, WireError, writeList } from './fields.ts';
import { readProofs, secretKindOf, writeProofs } from './proofs.ts';

/**
 * Bodies of requests, written by the client and read by the host: one pair of functions for each
 * operation. Signatures: `sign-message.ts`.
 */

export function writeVerifyProof(id: KeyId, proofs: Proofs): Buffer {
  return Buffer.concat([keyIdBytes(id), writeProofs(proofs)]);
}

export function readVerifyProof(body: Buffer): { id: KeyId; proofs: Proofs } {
  return { id: keyIdOf(body.subarray(0, keyIdLength)), proofs: readProofs(body, keyIdLength) };
}

/** @param generation number of the MAC key */
export function writeMakeMac(id: KeyId, kind: SecretKind, secret: Uint8Array, scope: Uint8Array, generation = 0): Buffer {
  return new FieldWriter().bytes(keyIdBytes(id)).u8(secretKinds[kind]).bytes(secret).bytes(scope).u32(generation).finish();
}

export function readMakeMac(body: Buffer): { id: KeyId; kind: SecretKind; secret: Buffer; scope: Buffer; generation: number } {
  const reader = new FieldReader(body);
  const key = { id: keyIdOf(reader.bytes()), kind: secretKindOf(reader.u8()) };
  const request = { ...key, secret: reader.bytes(), scope: reader.bytes(), generation: generationIn(reader) };
  reader.end();
  return request;
}

/** The host's answer: salt, then MAC. @throws {WireError} */
export function readMadeMac(body: Buffer): { salt: Buffer; mac: Buffer } {
  if (body.length !== 16 + 32) throw new WireError(`a salt and a MAC of ${body.length} bytes`);
  return { salt: body.subarray(0, 16), mac: body.subarray(16) };
}

export function writeCreateKey(id: KeyId, type: KeyType): Buffer {
  return new FieldWriter().bytes(keyIdBytes(id)).u8(keyTypes.indexOf(type)).finish();
}

export function readCreateKey(body: Buffer): { id: KeyId; type: KeyType } {
  const reader = new FieldReader(body);
  const request = { id: keyIdOf(reader.bytes()), type: member(keyTypes, reader.u8()) };
  reader.end();
  return request;
}

export function writeClaimKey(id: KeyId, claim: string): Buffer {
  return new FieldWriter().bytes(keyIdBytes(id)).bytes(Buffer.from(claim)).finish();
}

export function readClaimKey(body: Buffer): { id: KeyId; claim: string } {
  const reader = new FieldReader(body);
  const request = { id: keyIdOf(reader.bytes()), claim: reader.bytes().toString('utf8') };
  reader.end();
  if (!/^[0-9a-f]{32}$/.test(request.claim)) throw new WireError('a claim must have 32 hexadecimal digits');
  return request;
}

export function writeClaimOutcome(outcome: ClaimOutcome): Buffer {
  return Buffer.of(claimOutcomes.indexOf(outcome));
}

export function readClaimOutcome(body: Buffer): ClaimOutcome {
  return member(claimOutcomes, body.readUInt8(0));
}

/**
 * Purposes that may be assigned to keys of earlier versions; for the other purposes the service
 * makes new keys by itself.
 */
export const assignablePurposes = ['root', 'authority', 'timeStamps'] as const satisfies readonly KeyPurpose[];
export type AssignablePurpose = (typeof assignablePurposes)[number];

export function writeAssignPurpose(id: KeyId, purpose: AssignablePurpose): Buffer {
  return new FieldWriter().bytes(keyIdBytes(id)).u8(assignablePurposes.indexOf(purpose)).finish();
}

/** @throws {WireError} for a key that already has a purpose, and for the MAC key */
export function readAssignPurpose(body: Buffer): { id: KeyId; purpose: AssignablePurpose } {
  const reader = new FieldReader(body);
  const request = { id: keyIdOf(reader.bytes()), purpose: member(assignablePurposes, reader.u8()) };
  reader.end();
  if (!lacksPurpose(request.id)) throw new WireError('the key already has a purpose');
  return request;
}

/**
 * Input of a MAC: key, kind of secret, salt, scope, secret. The parts before the secret have fixed
 * lengths, so no two inputs have the same encoding.
 */
export function macInput(id: KeyId, kind: SecretKind, salt: Uint8Array, secret: Uint8Array, scope: Uint8Array): Buffer {
  if (salt.length !== 16) throw new WireError('a salt must have 16 bytes');
  if (scope.length !== 32) throw new WireError('a scope must have 32 bytes');
  return Buffer.concat([Buffer.from('signetd secret v2\0'), keyIdBytes(id), Buffer.of(secretKinds[kind]), salt, scope, secret]);
}

function member<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new WireError('a value is outside its list');
  return value;
}

/** Maximum number of keys in one answer: with their lengths they fill most of a frame. */
export const keysInAnswerMax = 40_000;

/**
 * Request for one page of key identifiers in ascending order: those after `after`, or the first
 * ones.
 */
export interface ListKeys {
  readonly after: KeyId | undefined;
  readonly limit: number;
}

export function writeListKeys({ after, limit }: ListKeys): Buffer {
  return new FieldWriter()
    .u32(limit)
    .bytes(after === undefined ? Buffer.alloc(0) : keyIdBytes(after))
    .finish();
}

/** @throws {WireError} */
export function readListKeys(body: Buffer): ListKeys {
  const reader = new FieldReader(body);
  const limit = reader.u32();
  const after = reader.bytes();
  reader.end();
  if (limit < 1 || limit > keysInAnswerMax) throw new WireError(`a page of ${limit} keys`);
  return { limit, after: after.length === 0 ? undefined : keyIdOf(after) };
}

export function readKeyId(body: Buffer): KeyId {
  const reader = new FieldReader(body);
  const id = keyIdOf(reader.bytes());
  reader.end();
  return id;
}

/** Most keys that are looked for in one request: each may take a search. */
export const keysToFindMax = 50;

export function writeFindKeys(ids: readonly KeyId[]): Buffer {
  return writeList(ids.map(keyIdBytes));
}

/** @throws {WireError} */
export function readFindKeys(body: Buffer): KeyId[] {
  const reader = new FieldReader(body);
  const ids = reader.list().map(keyIdOf);
  reader.end();
  if (ids.length > keysToFindMax) throw new WireError(`${ids.length} keys to look for`);
  return ids;
}

/** The number of a MAC key. */
export function writeGeneration(generation: number): Buffer {
  return new FieldWriter().u32(generation).finish();
}

/** No body names the first. @throws {WireError} */
export function readGeneration(body: Buffer): number {
  if (body.length === 0) return 0;
  const reader = new FieldReader(body);
  const generation = generationIn(reader);
  reader.end();
  return generation;
}

/** A MAC key to be destroyed, and the one in force. */
export function writeDestroyMacKey(generation: number, current: number): Buffer {
  return new FieldWriter().u32(generation).u32(current).finish();
}

/** @throws {WireError} if the key is not older than the one in force */
export function readDestroyMacKey(body: Buffer): { readonly generation: number; readonly current: number } {
  const reader = new FieldReader(body);
  const request = { generation: generationIn(reader), current: generationIn(reader) };
  reader.end();
  if (request.generation >= request.current) throw new WireError('the MAC key in force is not destroyed');
  return request;
}

const generationMax = 0xffff;

function generationIn(reader: FieldReader): number {
  const generation = reader.u32();
  if (generation > generationMax) throw new WireError(`MAC key number ${generation}`);
  return generation;
}
