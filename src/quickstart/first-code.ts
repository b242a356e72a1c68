import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ecdsaValueToDer } from '../asn1/ecdsa-value.ts';
import { splitCode } from '../twoddoc/code/code.ts';
import { readSymbol } from '../twoddoc/picture/read-symbol.ts';
import { command } from './command.ts';
import type { Description } from './description.ts';
import { call, file } from './curl.ts';
import { errorCode } from '../telemetry/error-code.ts';

/** A 2D-Doc code for the summary at the end. */
export interface FirstCode {
  /** Path of the picture. */
  readonly picture: string;
  /** OpenSSL's word on the signature, and who read the symbol. */
  readonly verdict: string;
}

/**
 * A bill of a telephone company. The service fills in the identifiers, the date and the country.
 */
export const billSource = `<?xml version="1.0" encoding="UTF-8"?>
<document xmlns="urn:2d-doc:source:1" type="01">
  <header>
    <issueDate>2026-11-20</issueDate>
  </header>
  <message>
    <D26>FR</D26>
    <D24>75001</D24>
    <D22>12 RUE DU MOULIN</D22>
    <D25>PARIS</D25>
    <D10>MME/MARTIN/CAMILLE</D10>
    <D18>F2026118</D18>
    <D1D>42.90</D1D>
  </message>
</document>
`;

const Drawn = z.object({
  result: z.object({ majorCode: z.literal(0) }),
  image: z.string(),
});

/**
 * Has the digital identity sign a 2D-Doc code, reads its picture, and has OpenSSL verify the
 * signature over the zone that was read.
 * @returns undefined in an environment whose operator took the identity out
 */
export async function makeFirstCode(description: Description): Promise<FirstCode | undefined> {
  const { doc2dRoot, twoDDoc } = description;
  if (doc2dRoot === undefined || twoDDoc === undefined) return undefined;
  writeFileSync(file('bill.xml'), billSource);
  const dataZoneSignatureSource = {
    password: twoDDoc.password,
    dataZoneSource: { source: readFileSync(file('bill.xml')).toString('base64') },
  };
  const { image } = await call(Drawn, description, `${doc2dRoot}/creator/createImage2DDoc`, 'create-image-2ddoc.json', {
    image2DDocSource: { dataZoneSignatureSource },
  });
  const picture = file('bill.png');
  writeFileSync(picture, Buffer.from(image, 'base64'));
  const { code, reader } = await readPicture(picture);
  return { picture, verdict: `${await verdictOf(code, twoDDoc.certificate)} (read by ${reader})` };
}

/** Reads the symbol with libdmtx or, where it is not installed, with our own reader. */
async function readPicture(picture: string): Promise<{ readonly code: Uint8Array; readonly reader: string }> {
  try {
    const { stdout } = await promisify(execFile)('dmtxread', ['--stop-after=1', picture], { encoding: 'buffer' });
    return { code: stdout, reader: 'dmtxread' };
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return { code: readSymbol(readFileSync(picture)), reader: 'signetd' };
  }
}

/** Leaves the files that OpenSSL verifies beside the picture. */
async function verdictOf(code: Uint8Array, certificate: string): Promise<string> {
  const { zone, signature, curve } = splitCode(code);
  writeFileSync(file('bill.zone'), zone);
  writeFileSync(file('bill.sig'), ecdsaValueToDer(signature));
  await command('openssl', ['x509', '-in', certificate, '-pubkey', '-noout', '-out', file('bill.pub')]);
  const verify = ['dgst', `-${curve.algorithm.hash}`, '-verify', file('bill.pub'), '-signature', file('bill.sig'), file('bill.zone')];
  return (await command('openssl', verify)).trim();
}
