import { expect } from 'vitest';
import { call, codeOf, description, messageOf, send, textOf, type ApiAnswer, type ClientName } from '../../support/api.ts';
import { succeeds } from '../../support/succeeds.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { validSourceOf } from '../../support/two-d-doc-sources.ts';

const { twoDDoc } = description;
if (twoDDoc === undefined) throw new Error('the quickstart has a digital identity');
/** The digital identity of tenant demo. Its certificate is valid from today. */
export const identity = twoDDoc;

export const base64 = (content: string | Uint8Array): string => Buffer.from(content).toString('base64');
export const decoded = (value: unknown): Buffer => Buffer.from(textOf(value), 'base64');

/** Calls createDataZone or createImage2DDoc. */
export async function callCreator(
  client: ClientName,
  operation: 'createDataZone' | 'createImage2DDoc',
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const path = `${description.doc2dRoot ?? ''}/creator/${operation}`;
  return send(client, { path, headers: { 'Content-Type': 'application/json', ...headers } }, text);
}

/** Asks for the zone of a source. */
export async function zoneFor(client: ClientName, source: string | Uint8Array, more: object = {}): Promise<ApiAnswer> {
  return callCreator(client, 'createDataZone', { dataZoneSource: { source: base64(source) }, ...more });
}

/** The zone that createDataZone makes of a source. */
export async function zoneOf(client: ClientName, source: string | Uint8Array): Promise<Buffer> {
  return decoded(succeeds(await zoneFor(client, source)).body['dataZone']);
}

/** A valid source of a type without the identifiers and the date of the signature: those of the one identity, and today. */
export function openSourceOf(type: string, version: '02' | '03' | '04' = '04'): string {
  return validSourceOf(type, { version })
    .replace(/<ca>.*<\/certificate>/, '')
    .replace(/<signatureDate>.*<\/signatureDate>/, '');
}

/** Asks for a picture of what is given. */
export async function imageOf(
  client: ClientName,
  image2DDocSource: object,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<ApiAnswer> {
  return callCreator(client, 'createImage2DDoc', { image2DDocSource, ...more }, headers);
}

/** Expects a picture that is as wide and high as the answer says, and returns it. */
export function pictureIn(answer: ApiAnswer): Buffer {
  const { body } = succeeds(answer);
  expect([body['width'], body['height']]).toEqual([expect.any(Number), expect.any(Number)]);
  const picture = decoded(body['image']);
  if (picture[0] === 0x89) expect([picture.readUInt32BE(16), picture.readUInt32BE(20)]).toEqual([body['width'], body['height']]);
  return picture;
}

/** Expects the refusal of createImage2DDoc, with 0 × 0 pixels and no picture. `message`: a part of it. */
export function expectNoPicture(answer: ApiAnswer, code: string, message: string | RegExp = ''): void {
  expect([codeOf(answer), messageOf(answer)]).toEqual([code, expect.stringMatching(message)]);
  const { width, height, image } = answer.body;
  expect({ width, height, image }).toEqual({ width: 0, height: 0, image: undefined });
}

/** Expects a refusal, with a part of its message. */
export function expectRefusal(answer: ApiAnswer, code: string, message: string | RegExp = ''): void {
  expect([codeOf(answer), messageOf(answer)]).toEqual([code, expect.stringMatching(message)]);
}

export interface CodeOptions {
  readonly text?: string;
  readonly imageFormat?: 'PNG' | 'TIFF';
  readonly checkDigitalIdentity?: boolean;
  readonly outputMode?: 'SIGNED_CODE' | 'XML' | 'IMAGE';
  readonly textPosition?: 'TOP' | 'RIGHT' | 'BOTTOM' | 'LEFT';
}

export const codeSignature = (code2DDocParameters?: CodeOptions): object => ({
  code2DDocSignature: code2DDocParameters === undefined ? {} : { code2DDocParameters },
});

/** Documents with these contents and the IDs d0, d1 and so on. */
export const zoneDocuments = (...zones: readonly Uint8Array[]): object[] =>
  zones.map((zone, index) => ({ ID: `d${index}`, fileName: `zone${index}.txt`, base64Data: { base64Value: base64(zone) } }));

/** Asks for the signature of zones with a key. */
export async function signZones(
  client: ClientName,
  keyReference: object,
  inputDocuments: readonly object[],
  options?: CodeOptions,
  more: object = {},
): Promise<ApiAnswer> {
  return call(client, 'signature/sign', { keyReference, parameters: codeSignature(options), inputDocuments, ...more });
}

export const identityKey = { reference: identity.keyReference, password: identity.password };

/** What createImage2DDoc signs with the identity: a source, or a ready-made zone. */
export const fromSource = (source: string | Uint8Array): object => ({
  dataZoneSignatureSource: { password: identity.password, dataZoneSource: { source: base64(source) } },
});
export const fromZone = (dataZone: string | Uint8Array, more: object = {}): object => ({
  dataZoneSignatureSource: { password: identity.password, dataZone: base64(dataZone), ...more },
});

export const signatureText = `${'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.repeat(4).slice(0, 102)}A`;
/** A code of another issuer, as far as anybody can tell. */
export const foreignCode = `DC04FR98AB12125E125B0101FR26FR2475001\u001f${signatureText}`;
export const foreign = { signedCode: base64(foreignCode) };

/** Returns what both readers find in a picture. */
export async function readIn(picture: Uint8Array): Promise<Buffer> {
  const { dmtxread, zxing } = await readByOthers(picture);
  expect(dmtxread).toBeDefined();
  expect(zxing).toEqual(dmtxread);
  return dmtxread ?? Buffer.alloc(0);
}
