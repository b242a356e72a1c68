import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstBlock } from '../docs/shell-blocks.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { privateKeysOf } from '../support/token-listing.ts';

let scratch: ScratchToken | undefined;
let results = '';

const run = (command: string, ...args: string[]): string => execFileSync(command, args, { encoding: 'utf8', stdio: 'pipe' });
const result = (name: string): string => join(results, name);

beforeAll(() => {
  scratch = scratchToken();
  results = join(scratch.directory, 'results');
  mkdirSync(results);
  const commands = firstBlock(readFileSync('docs/webcrypto.md', 'utf8'), 'sh');
  run('sh', '-c', commands.replace('CONFIGURATION', scratch.configPath).replace('DIRECTORY', results));
});

afterAll(() => {
  scratch?.remove();
});

function verifyCms(file: string): string {
  const content = result('content');
  run(
    'openssl',
    'cms',
    '-verify',
    '-binary',
    '-inform',
    'DER',
    '-in',
    file,
    '-CAfile',
    result('signer.pem'),
    '-purpose',
    'any',
    '-out',
    content,
  );
  return readFileSync(content, 'utf8');
}

function verifyXml(file: string): void {
  const properties = ['--id-attr:Id', 'http://uri.etsi.org/01903/v1.3.2#:SignedProperties'];
  run('xmlsec1', '--verify', ...properties, '--trusted-pem', result('signer.pem'), file);
}

describe('docs/examples/webcrypto.ts', () => {
  it('makes a CMS signature with pkijs that OpenSSL verifies', () => {
    expect(verifyCms(result('signed.cms'))).toBe('Lu et approuvé\n');
    const changed = readFileSync(result('signed.cms'));
    changed[changed.indexOf('approuv')] = 0x41;
    writeFileSync(result('changed.cms'), changed);
    expect(() => verifyCms(result('changed.cms'))).toThrow('Verification failure');
  });

  it('makes an XML signature with xadesjs that xmlsec1 verifies', () => {
    const xml = readFileSync(result('signed.xml'), 'utf8');
    expect(xml).toContain('SignedProperties');
    verifyXml(result('signed.xml'));
    writeFileSync(result('changed.xml'), xml.replace('approuvé', 'refusé'));
    expect(() => {
      verifyXml(result('changed.xml'));
    }).toThrow('xmlsec1 --verify');
  });

  it('leaves no key on the token', () => {
    if (scratch === undefined) throw new Error('there is no token');
    const softhsmConfig = scratch.environment.SOFTHSM2_CONF;
    expect(privateKeysOf({ label: 'test', pin: scratch.pin, softhsmConfig })).toEqual([]);
  });
});
