import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signer } from './xades-signer.ts';

/** Elements whose Id attributes references name. */
const idElements = ['SignedProperties', 'SignatureValue', 'Object', 'Manifest', 'Part', 'Signature'];
const idOptions = idElements.flatMap((name) => ['--id-attr:Id', name]);

type Files = Readonly<Record<string, Uint8Array | string>>;

/** Runs a command with files in a directory of their own, which is its working directory. */
function within<T>(files: Files, run: (directory: string) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-xmlsec-'));
  try {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(directory, name), content);
    return run(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What xmlsec1 says of each ds:Signature of a document, in document order: OK, or its errors. `files`: detached content by name. */
export function xmlsec1Verdicts(
  xml: Uint8Array,
  { files = {}, pems = [signer.pem] }: { files?: Files; pems?: readonly string[] } = {},
): string[] {
  const count = Number(
    within({ 'signed.xml': xml }, (directory) =>
      execFileSync('xmllint', ['--xpath', "count(//*[local-name()='Signature'])", join(directory, 'signed.xml')], { encoding: 'utf8' }),
    ),
  );
  return Array.from({ length: count }, (_, index) =>
    within({ ...files, 'signed.xml': xml, ...Object.fromEntries(pems.map((pem, ca) => [`ca-${ca}.pem`, pem])) }, (cwd) => {
      const node = `(//*[local-name()='Signature'])[${index + 1}]`;
      const args = [
        '--verify',
        ...idOptions,
        ...pems.flatMap((_pem, ca) => ['--trusted-pem', `ca-${ca}.pem`]),
        '--node-xpath',
        node,
        'signed.xml',
      ];
      const { stdout, stderr, status } = spawnSync('xmlsec1', args, { cwd, encoding: 'utf8' });
      return status === 0 ? 'OK' : `${stdout}${stderr}`;
    }),
  );
}

/** Has xmlsec1 fill in a template of a signature. */
export function xmlsec1Signs(template: string, keyPem: string, certificatePem: string): Buffer {
  return within({ 'template.xml': template, 'key.pem': keyPem, 'certificate.pem': certificatePem }, (cwd) => {
    execFileSync(
      'xmlsec1',
      ['--sign', ...idOptions, '--privkey-pem', 'key.pem,certificate.pem', '--output', 'signed.xml', 'template.xml'],
      {
        cwd,
        stdio: 'pipe',
      },
    );
    return readFileSync(join(cwd, 'signed.xml'));
  });
}
