import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { documentBytes } from '../text-string.ts';
import { rc4 } from './rc4.ts';

/** What the standard security handler keeps in its dictionary (ISO 32000-2, 7.6.4.2, table 21). */
export interface StandardEntries {
  /** R: 2 to 6. */
  readonly revision: number;
  /** Length of the file encryption key. */
  readonly keyBytes: number;
  readonly owner: Uint8Array;
  readonly user: Uint8Array;
  /** OE and UE, from revision 5 on. */
  readonly ownerEncrypted: Uint8Array;
  readonly userEncrypted: Uint8Array;
  /** P, as a signed number of 32 bits. */
  readonly permissions: number;
  readonly encryptsMetadata: boolean;
  /** The first string of ID in the trailer. */
  readonly firstId: Uint8Array;
}

export interface FileKey {
  readonly key: Uint8Array;
  readonly isOwner: boolean;
}

/** Finds the file encryption key (7.6.4.3). Undefined if the password is none of this file. */
export function fileKey(entries: StandardEntries, password: string): FileKey | undefined {
  for (const given of encodings(entries, password)) {
    const found = entries.revision >= 5 ? newKey(entries, given) : oldKey(entries, given);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * As the standard has it first: some programs write a password in UTF-8 as it is, whatever the
 * revision.
 */
function encodings({ revision }: StandardEntries, password: string): readonly Buffer[] {
  const usual = revision >= 5 ? Buffer.from(prepared(password)) : documentBytes(password);
  const other = Buffer.from(password);
  return usual === undefined || Buffer.compare(usual, other) === 0 ? [other] : [Buffer.from(usual), other];
}

/** Algorithm 2, step a. */
const padding = Buffer.from('28bf4e5e4e758a4164004e56fffa01082e2e00b6d0683e802f0ca9fe6453697a', 'hex');

function padded(password: Uint8Array): Uint8Array {
  return Buffer.concat([password.subarray(0, 32), padding]).subarray(0, 32);
}

function md5(...parts: readonly Uint8Array[]): Buffer {
  const digest = createHash('md5');
  for (const part of parts) digest.update(part);
  return digest.digest();
}

function oldKey(entries: StandardEntries, given: Uint8Array): FileKey | undefined {
  const ofOwner = keyOfUser(entries, userPassword(entries, given));
  if (isUserKey(entries, ofOwner)) return { key: ofOwner, isOwner: true };
  const ofUser = keyOfUser(entries, given);
  return isUserKey(entries, ofUser) ? { key: ofUser, isOwner: false } : undefined;
}

/** Algorithm 2. */
function keyOfUser(
  { revision, keyBytes, owner, permissions, firstId, encryptsMetadata }: StandardEntries,
  password: Uint8Array,
): Uint8Array {
  const bits = Buffer.alloc(4);
  bits.writeInt32LE(permissions);
  const withMetadata = revision >= 4 && !encryptsMetadata ? Buffer.alloc(4, 0xff) : new Uint8Array();
  let digest = md5(padded(password), owner.subarray(0, 32), bits, firstId, withMetadata);
  if (revision >= 3) for (let round = 0; round < 50; round += 1) digest = md5(digest.subarray(0, keyBytes));
  return digest.subarray(0, keyBytes);
}

/** Algorithms 4 and 5. */
function isUserKey({ revision, user, firstId }: StandardEntries, key: Uint8Array): boolean {
  if (revision === 2) return Buffer.compare(rc4(key, padding), user.subarray(0, 32)) === 0;
  let value: Uint8Array = md5(padding, firstId);
  for (let round = 0; round < 20; round += 1) value = rc4(xored(key, round), value);
  return Buffer.compare(value, user.subarray(0, 16)) === 0;
}

/** Algorithm 7: the password of the user, if the one that is given is the owner's. */
function userPassword({ revision, keyBytes, owner }: StandardEntries, password: Uint8Array): Uint8Array {
  let digest = md5(padded(password));
  if (revision >= 3) for (let round = 0; round < 50; round += 1) digest = md5(digest);
  const key = digest.subarray(0, keyBytes);
  let value: Uint8Array = owner.subarray(0, 32);
  if (revision === 2) return rc4(key, value);
  for (let round = 19; round >= 0; round -= 1) value = rc4(xored(key, round), value);
  return value;
}

function xored(key: Uint8Array, value: number): Uint8Array {
  return key.map((byte) => byte ^ value);
}

const passwordMaxBytes = 127;

/** Algorithm 2.A. */
function newKey({ revision, owner, user, ownerEncrypted, userEncrypted }: StandardEntries, password: Uint8Array): FileKey | undefined {
  const given = password.subarray(0, passwordMaxBytes);
  const ofUser = user.subarray(0, 48);
  const hashed = (salted: Uint8Array, from: number, userData: Uint8Array): Uint8Array =>
    hardened(revision, given, salted.subarray(from, from + 8), userData);
  const none = new Uint8Array();
  if (Buffer.compare(hashed(owner, 32, ofUser), owner.subarray(0, 32)) === 0)
    return { key: unwrapped(hashed(owner, 40, ofUser), ownerEncrypted), isOwner: true };
  if (Buffer.compare(hashed(user, 32, none), user.subarray(0, 32)) === 0)
    return { key: unwrapped(hashed(user, 40, none), userEncrypted), isOwner: false };
  return undefined;
}

function unwrapped(key: Uint8Array, encrypted: Uint8Array): Uint8Array {
  const cipher = createDecipheriv('aes-256-cbc', key, Buffer.alloc(16)).setAutoPadding(false);
  return Buffer.concat([cipher.update(encrypted.subarray(0, 32)), cipher.final()]);
}

/** Algorithm 2.B; revision 5, of Adobe's extension level 3, has SHA-256 alone. */
function hardened(revision: number, password: Uint8Array, salt: Uint8Array, userData: Uint8Array): Uint8Array {
  let key: Uint8Array = createHash('sha256').update(password).update(salt).update(userData).digest();
  if (revision === 5) return key;
  let last = 0;
  for (let round = 0; round < 64 || last > round - 32; round += 1) {
    const repeated = Buffer.concat(Array<Uint8Array>(64).fill(Buffer.concat([password, key, userData])));
    const cipher = createCipheriv('aes-128-cbc', key.subarray(0, 16), key.subarray(16, 32)).setAutoPadding(false);
    const encrypted = cipher.update(repeated);
    const sum = encrypted.subarray(0, 16).reduce((total, byte) => total + byte, 0);
    key = createHash(['sha256', 'sha384', 'sha512'][sum % 3] ?? 'sha256')
      .update(encrypted)
      .digest();
    last = encrypted.at(-1) ?? 0;
  }
  return key.subarray(0, 32);
}

/** Characters that SASLprep leaves out (RFC 3454, table B.1). */
const mappedToNothing = new RegExp(String.raw`\u00ad|\u034f|\u1806|[\u180b-\u180d]|[\u200b-\u200d]|\u2060|[\ufe00-\ufe0f]|\ufeff`, 'gu');

/** SASLprep (RFC 4013), without its checks: a password that it forbids opens no file. */
function prepared(password: string): string {
  return password
    .replaceAll(/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, ' ')
    .replaceAll(mappedToNothing, '')
    .normalize('NFKC');
}
