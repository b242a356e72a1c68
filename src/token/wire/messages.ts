import { keyTypes, type KeyType } from '../../config/profile.ts';
import { keyIdOf, type KeyId } from '../key-id.ts';
import { hashNames, type HashName, type SignatureAlgorithm } from '../signature-algorithm.ts';
import { secretKinds, type Proof, type SecretKind } from '../token.ts';
import { FieldReader, FieldWriter, WireError } from './fields.ts';

/** The bodies of requests, written by the client and read by the host: one pair of functions an operation. */

const schemes = ['RSA_PKCS1', 'RSA_PSS', 'ECDSA'] as const;

export interface SignRequest {
  readonly id: KeyId;
  readonly algorithm: SignatureAlgorithm;
  readonly digests: readonly Buffer[];
  readonly proof: Proof | undefined;
}

export function writeSign(id: KeyId, algorithm: SignatureAlgorithm, digests: readonly Uint8Array[], proof?: Proof): Buffer {
  const writer = new FieldWriter().bytes(Buffer.from(id, 'hex'));
  writer.u8(schemes.indexOf(algorithm.scheme)).u8(hashNames.indexOf(algorithm.hash));
  if (algorithm.scheme === 'RSA_PSS') writer.u8(hashNames.indexOf(algorithm.mgfHash)).u32(algorithm.saltBytes);
  writer.list(digests).u8(proof === undefined ? 0 : 1);
  if (proof !== undefined) writeProof(writer, proof);
  return writer.finish();
}

export function readSign(body: Buffer): SignRequest {
  const reader = new FieldReader(body);
  const id = keyIdOf(reader.bytes());
  const algorithm = readAlgorithm(reader);
  const digests = reader.list();
  const proof = reader.u8() === 1 ? readProofFields(reader) : undefined;
  reader.end();
  return { id, algorithm, digests, proof };
}

export function writeVerifyProof(id: KeyId, proof: Proof): Buffer {
  return writeProof(new FieldWriter().bytes(Buffer.from(id, 'hex')), proof).finish();
}

export function readVerifyProof(body: Buffer): { id: KeyId; proof: Proof } {
  const reader = new FieldReader(body);
  const request = { id: keyIdOf(reader.bytes()), proof: readProofFields(reader) };
  reader.end();
  return request;
}

export function writeMakeMac(id: KeyId, kind: SecretKind, salt: Uint8Array, secret: Uint8Array): Buffer {
  return new FieldWriter().bytes(Buffer.from(id, 'hex')).u8(secretKinds[kind]).bytes(salt).bytes(secret).finish();
}

export function readMakeMac(body: Buffer): { id: KeyId; kind: SecretKind; salt: Buffer; secret: Buffer } {
  const reader = new FieldReader(body);
  const request = { id: keyIdOf(reader.bytes()), kind: secretKindOf(reader.u8()), salt: reader.bytes(), secret: reader.bytes() };
  reader.end();
  return request;
}

export function writeCreateKey(id: KeyId, type: KeyType): Buffer {
  return new FieldWriter().bytes(Buffer.from(id, 'hex')).u8(keyTypes.indexOf(type)).finish();
}

export function readCreateKey(body: Buffer): { id: KeyId; type: KeyType } {
  const reader = new FieldReader(body);
  const request = { id: keyIdOf(reader.bytes()), type: member(keyTypes, reader.u8()) };
  reader.end();
  return request;
}

/**
 * What a MAC covers: key, kind of secret, salt, secret. The parts before the secret have fixed lengths, so no two inputs are written alike.
 */
export function macInput(id: KeyId, kind: SecretKind, salt: Uint8Array, secret: Uint8Array): Buffer {
  if (salt.length !== 16) throw new WireError('a salt has 16 bytes');
  return Buffer.concat([Buffer.from('signetd secret v1\0'), Buffer.from(id, 'hex'), Buffer.of(secretKinds[kind]), salt, secret]);
}

function writeProof(writer: FieldWriter, proof: Proof): FieldWriter {
  return writer.u8(secretKinds[proof.kind]).bytes(proof.salt).bytes(proof.secret).bytes(proof.mac);
}

function readProofFields(reader: FieldReader): Proof {
  return { kind: secretKindOf(reader.u8()), salt: reader.bytes(), secret: reader.bytes(), mac: reader.bytes() };
}

function readAlgorithm(reader: FieldReader): SignatureAlgorithm {
  const scheme = member(schemes, reader.u8());
  const hash: HashName = member(hashNames, reader.u8());
  return scheme === 'RSA_PSS' ? { scheme, hash, mgfHash: member(hashNames, reader.u8()), saltBytes: reader.u32() } : { scheme, hash };
}

function secretKindOf(code: number): SecretKind {
  if (code !== secretKinds.PASSWORD) throw new WireError('an unknown kind of secret');
  return 'PASSWORD';
}

function member<T>(values: readonly T[], index: number): T {
  const value = values[index];
  if (value === undefined) throw new WireError('a value outside its list');
  return value;
}
