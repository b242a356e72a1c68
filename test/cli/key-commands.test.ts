import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { call, codeOf, contentDocument, description, directory, newKey, secretOf } from '../support/api.ts';
import { keyIdOf } from '../support/quickstart-state.ts';
import { signetctlHere as runHere } from '../support/signetctl-here.ts';
import { signetctl as run, type CommandRun } from '../support/signetctl.ts';
import { privateKeysOnToken } from '../support/token-listing.ts';

const signetctl = async (...args: string[]): Promise<CommandRun> => run(['--config', description.configFile, ...args]);
const signetctlHere = async (...args: string[]): Promise<CommandRun> => runHere(['--config', description.configFile, ...args]);
const sign = async (keyReference: object): Promise<string> =>
  codeOf(await call('other', 'signature/sign', { keyReference, parameters: { rawSignature: {} }, inputDocuments: [contentDocument('x')] }));
const auditLog = (): string => {
  const audit = join(directory, 'audit');
  return readdirSync(audit)
    .map((name) => readFileSync(join(audit, name), 'utf8'))
    .join('');
};

describe('signetctl key', () => {
  it('unlock gives a locked key its attempts again, at once, and is audited', async () => {
    const key = await newKey('other');
    for (let attempt = 0; attempt < 5; attempt += 1) await sign({ reference: key.reference, password: 'wrong' });
    expect(await sign(secretOf(key))).toBe('2/203');
    const { status, stdout } = await signetctl('key', 'unlock', key.reference.toUpperCase());
    expect([status, stdout]).toEqual([0, "The key's attempts are reset; its state is ACTIVE."]);
    expect(await sign(secretOf(key))).toBe('0/0');
    expect(auditLog()).toMatch(new RegExp(`"command":"key unlock".*${key.reference}`));
  });

  it('remove destroys a private key without its secret, once, and is audited', async () => {
    const key = await newKey('other');
    expect(await sign(secretOf(key))).toBe('0/0');
    const id = keyIdOf(key.reference);
    expect((await signetctl('key', 'remove', key.reference)).status).toBe(0);
    expect(privateKeysOnToken(directory)).not.toContain(id);
    expect(await sign(secretOf(key))).toBe('2/204');
    const again = await signetctlHere('key', 'remove', key.reference);
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('is already destroyed; its state is REMOVED')]);
    expect(auditLog()).toMatch(new RegExp(`"command":"key remove".*${key.reference}`));
  });

  it.each(['unlock', 'remove'])('%s refuses a key that is not there, and what names none', async (command) => {
    const unknown = await signetctlHere('key', command, '0'.repeat(40));
    expect([unknown.status, unknown.stderr]).toEqual([5, expect.stringContaining('there is no key')]);
    expect((await signetctlHere('key', command, 'x')).status).toBe(2);
  });
});
