import type { Attribute, Handle } from 'pkcs11js';
import type { z } from 'zod';
import { keyIdOf, keyOwner, type KeyId } from '../key-id.ts';
import type { InventoryPage, ObjectReport } from '../wire/reports.ts';
import { findObjects } from './find-objects.ts';
import { pkcs11js, type Session } from './session.ts';

/**
 * Each object takes several calls, a few milliseconds each on a network HSM: a page blocks its
 * thread for about a second.
 */
const pageObjects = 200;

const kinds: Readonly<Record<number, string>> = {
  [pkcs11js.CKO_DATA]: 'data',
  [pkcs11js.CKO_CERTIFICATE]: 'certificate',
  [pkcs11js.CKO_PUBLIC_KEY]: 'public key',
  [pkcs11js.CKO_PRIVATE_KEY]: 'private key',
  [pkcs11js.CKO_SECRET_KEY]: 'secret key',
};

const curveNames: Readonly<Record<string, string>> = {
  '06082a8648ce3d030107': 'P-256',
  '06052b81040022': 'P-384',
  '06052b81040023': 'P-521',
};

/**
 * Returns one page of the token's objects, in the order of their handles, which stay valid as long
 * as the host runs. An object made or destroyed between pages may or may not be listed; each other
 * object is listed once.
 */
export function inventoryPage(session: Session, from: string | undefined): z.output<typeof InventoryPage> {
  const handles = findObjects(session, [{ type: pkcs11js.CKA_TOKEN, value: true }]).toSorted((left, right) =>
    handleText(left).localeCompare(handleText(right), 'en'),
  );
  const rest = from === undefined ? handles : handles.filter((handle) => handleText(handle) >= from);
  const objects: ObjectReport[] = [];
  const foreign: Record<string, number> = {};
  for (const handle of rest.slice(0, pageObjects)) {
    const read = attributeReader(session, handle);
    const kind = kindOf(read);
    const id = ownId(read);
    if (id === undefined) foreign[kind] = (foreign[kind] ?? 0) + 1;
    else objects.push(reportObject(kind, id, read));
  }
  const next = rest[pageObjects];
  return { objects, foreign, next: next === undefined ? null : handleText(next) };
}

type ReadAttribute = (type: number) => Attribute['value'] | undefined;

/** Reads one attribute in each call: a token fails a list as a whole if it lacks one of them. */
function attributeReader({ module, handle }: Session, object: Handle): ReadAttribute {
  return (type) => {
    try {
      return module.C_GetAttributeValue(handle, object, [{ type }])[0]?.value;
    } catch {
      return undefined;
    }
  };
}

function reportObject(kind: string, id: KeyId, read: ReadAttribute): ObjectReport {
  const label = read(pkcs11js.CKA_LABEL);
  const isKey = kind.endsWith('key');
  return {
    kind,
    owner: keyOwner(id),
    id,
    label: Buffer.isBuffer(label) ? label.toString('utf8') : '',
    type: isKey ? keyType(read) : '',
    sensitive: isKey ? booleanOf(read(pkcs11js.CKA_SENSITIVE)) : null,
    extractable: isKey ? booleanOf(read(pkcs11js.CKA_EXTRACTABLE)) : null,
    sign: isKey ? booleanOf(read(pkcs11js.CKA_SIGN)) : null,
  };
}

function keyType(read: ReadAttribute): string {
  const type = numberOf(read(pkcs11js.CKA_KEY_TYPE));
  if (type === pkcs11js.CKK_RSA) {
    const modulus = read(pkcs11js.CKA_MODULUS);
    return Buffer.isBuffer(modulus) ? `RSA-${8 * (modulus[0] === 0 ? modulus.length - 1 : modulus.length)}` : 'RSA';
  }
  if (type === pkcs11js.CKK_EC) {
    const parameters = read(pkcs11js.CKA_EC_PARAMS);
    const curve = Buffer.isBuffer(parameters) ? curveNames[parameters.toString('hex')] : undefined;
    return curve ?? 'EC, another curve';
  }
  if (type === pkcs11js.CKK_GENERIC_SECRET) {
    const bytes = numberOf(read(pkcs11js.CKA_VALUE_LEN));
    return bytes === undefined ? 'generic secret' : `generic secret, ${bytes} bytes`;
  }
  return type === undefined ? 'unknown' : `type 0x${type.toString(16)}`;
}

function kindOf(read: ReadAttribute): string {
  const objectClass = numberOf(read(pkcs11js.CKA_CLASS));
  return (objectClass === undefined ? undefined : kinds[objectClass]) ?? 'other object';
}

function ownId(read: ReadAttribute): KeyId | undefined {
  const id = read(pkcs11js.CKA_ID);
  try {
    return Buffer.isBuffer(id) ? keyIdOf(id) : undefined;
  } catch {
    return undefined;
  }
}

function handleText(handle: Handle): string {
  return handle.readBigUInt64LE().toString(16).padStart(16, '0');
}

/** CK_BBOOL. */
function booleanOf(value: Attribute['value'] | undefined): boolean | null {
  if (typeof value === 'boolean') return value;
  return Buffer.isBuffer(value) && value.length === 1 ? value[0] !== 0 : null;
}

/** CK_ULONG. */
function numberOf(value: Attribute['value'] | undefined): number | undefined {
  if (typeof value === 'number') return value;
  return Buffer.isBuffer(value) && value.length === 8 ? Number(value.readBigUInt64LE()) : undefined;
}
