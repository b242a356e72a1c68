import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { scratchToken } from './scratch-token.ts';
import { privateKeysOf } from './token-listing.ts';

/** Of SoftHSM's file of a private key that was just begun: its generation, and one attribute, CKA_CLASS. */
function begunKey(): Buffer {
  const [generation, type, isNumber, privateKey] = [1n, 0n, 2n, 3n];
  const file = Buffer.alloc(32);
  for (const [index, value] of [generation, type, isNumber, privateKey].entries()) file.writeBigUInt64BE(value, 8 * index);
  return file;
}

it('the list of the private keys on a token changes none of its files, not even that of a key that is being made', () => {
  const scratch = scratchToken();
  try {
    const tokens = join(scratch.directory, 'tokens');
    const files = (): string[] => readdirSync(tokens, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.object'));
    const contents = (): Record<string, string> =>
      Object.fromEntries(files().map((name) => [name, readFileSync(join(tokens, name)).toString('hex')]));
    const [some = ''] = files();
    writeFileSync(join(tokens, dirname(some), 'begun.object'), begunKey());
    const before = contents();
    privateKeysOf({ label: 'test', pin: scratch.pin, softhsmConfig: scratch.environment.SOFTHSM2_CONF });
    expect(contents()).toEqual(before);
  } finally {
    scratch.remove();
  }
});
