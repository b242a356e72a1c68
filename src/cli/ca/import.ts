import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import { checkAuthorityKey, loadAuthority, readChain } from '../../certificates/configured-authority.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { keyPurpose, parseKeyId } from '../../token/key-id.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { configurationOutcome, publishedUrls, writeNew } from './authority-files.ts';
import { authorityNameOf } from './options.ts';
import { withOperatorToken } from './token-work.ts';

export const ImportOptions = z.object({
  name: z.string(),
  keyId: z.string(),
  certificate: z.string(),
  chain: z.array(z.string()),
  directory: z.string(),
  publicUrl: z.string().optional(),
});

/**
 * `ca import`: imports a certificate that an external root issued for a key on the token, after
 * checking that it can be used.
 */
export async function caImport(configPath: string, options: z.output<typeof ImportOptions>): Promise<Outcome> {
  const entry = authorityNameOf(options.name, '--name');
  const files = { certificate: resolve(options.certificate), chain: options.chain.map((file) => resolve(file)) };
  const keyId = keyIdOf(options.keyId);
  const certificates = orRefused(() => readChain(files));
  const [own] = certificates;
  if (own === undefined) throw new Error('a chain begins with the certificate');
  if (!certificates.every(({ ca }) => ca)) throw refused('one of the certificates is not a CA certificate');
  if (new Date(own.validTo) <= new Date()) throw refused('the certificate has expired');
  const last = certificates.at(-1);
  if (last !== undefined && !last.checkIssued(last)) throw refused('the chain does not end with a self-signed certificate');
  await withOperatorToken(configPath, 'ca import', async (token) => {
    const issuer = loadAuthority(token, { ...files, keyId });
    await checkAuthorityKey(entry, issuer).catch(() => {
      throw refused('the key on the token is missing or does not match the certificate');
    });
  });
  const written = writeNew(options.directory, `${entry}.pem`, 'CERTIFICATE', own.raw);
  const chain = certificates
    .slice(1)
    .map(({ raw }, index) => writeNew(options.directory, `${entry}-above-${index + 1}.pem`, 'CERTIFICATE', raw));
  return configurationOutcome(
    { [entry]: { certificate: written, chain, keyId, ...publishedUrls(options.publicUrl, entry) } },
    `The certificate ${new X509Certificate(readFileSync(written)).fingerprint} matches the key on the token.`,
  );
}

function keyIdOf(text: string): string {
  const keyId = orRefused(() => parseKeyId(text));
  if (keyPurpose(keyId) !== 'authority') throw refused('--key-id takes the CKA_ID of a CA, as printed by signetctl ca request');
  return keyId;
}

function orRefused<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw refused(reasonOf(error));
  }
}

function refused(message: string): CommandError {
  return new CommandError(exitCodes.refused, message);
}
