import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { description, directory } from '../support/api.ts';
import { openssl } from '../support/openssl.ts';

/** A place as the READMEs assume it: credentials of a client, a PDF, the key and certificate of a device. */
let workplace: string;

beforeAll(() => {
  workplace = mkdtempSync(join(tmpdir(), 'signetd-client-'));
  symlinkSync(join(directory, 'tls'), join(workplace, 'tls'));
  copyFileSync(join(directory, 'first-signature', 'contract-signed.pdf'), join(workplace, 'contract.pdf'));
  const at = (name: string): string => join(workplace, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-noenc'];
  const ofCa = ['-subj', '/C=FR/CN=Device CA', '-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
  openssl(['req', '-x509', ...newKey, ...ofCa, '-days', '30', '-keyout', at('device-ca.key'), '-out', at('device-ca.pem')]);
  openssl([
    ...['req', '-x509', ...newKey, '-subj', '/C=FR/CN=Camille Martin', '-addext', 'keyUsage=critical,nonRepudiation'],
    ...['-addext', 'basicConstraints=CA:FALSE', '-CA', at('device-ca.pem'), '-CAkey', at('device-ca.key'), '-days', '10'],
    ...['-keyout', at('device.key'), '-out', at('device.pem')],
  ]);
});
afterAll(() => {
  rmSync(workplace, { recursive: true, force: true });
});

/** All examples of a README in one language, as one program for the service of this run. */
function programOf(readme: string, language: string): string {
  const blocks = Array.from(readFileSync(readme, 'utf8').matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, name, code = '']) => ({ name, code }));
  const program = blocks.filter(({ name }) => name === language).map(({ code }) => code);
  expect(program.length).toBeGreaterThan(5);
  return program.join('\n').replace('https://127.0.0.1:8443', description.baseUrl);
}

const printed = 'FIELD_INVALID 1/102 /keyReference/reference\napplication/pkcs7-signature\n';

function expectSignedPdf(): void {
  expect(execFileSync('pdfsig', [join(workplace, 'contract-signed.pdf')], { encoding: 'utf8' })).toContain('Signature #2');
  rmSync(join(workplace, 'contract-signed.pdf'));
}

it('the examples of the TypeScript client run', () => {
  const library = resolve('clients/typescript/src/index.ts');
  const program = programOf('clients/typescript/README.md', 'ts').replaceAll("'@signetd/client'", `'${library}'`);
  writeFileSync(join(workplace, 'examples.mts'), `${program}\nclient.close();\n`);
  const said = execFileSync(process.execPath, ['--disable-sigusr1', '--disable-warning=ExperimentalWarning', 'examples.mts'], {
    cwd: workplace,
    encoding: 'utf8',
  });
  expect(said).toBe(`true\n${printed}`);
  expectSignedPdf();
});

it('the examples of the Python client run', () => {
  writeFileSync(join(workplace, 'examples.py'), programOf('clients/python/README.md', 'python'));
  const environment = { ...process.env, PYTHONPATH: resolve('clients/python/src'), PYTHONDONTWRITEBYTECODE: '1' };
  const said = execFileSync('python3', ['examples.py'], { cwd: workplace, encoding: 'utf8', env: environment });
  expect(said).toBe(`True\n${printed}`);
  expectSignedPdf();
});
