import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** What xmlsec1 needs beside the document. */
export interface XmlsecOptions {
  /** Trusted root, PEM. */
  readonly root: string | Uint8Array;
  /** Elements of the document that have Ids, as `namespace:name`; xmlsec1 knows no attribute for an Id without a schema. */
  readonly idElements?: readonly string[];
  /** Name of their attribute. */
  readonly idAttribute?: string;
  /** Files that references name, by their paths relative to the document. */
  readonly files?: Readonly<Record<string, Uint8Array | string>>;
  /** Position of the signature among those of the document; the first is 1. */
  readonly signature?: number;
}

/**
 * Has xmlsec1 verify a signature: its references, the value, and the chain of the certificate in it. Returns `OK`, or all that it
 * printed.
 */
export function xmlsecVerdict(
  document: Uint8Array | string,
  { root, idElements = [], idAttribute = 'Id', files = {}, signature = 1 }: XmlsecOptions,
): string {
  const directory = mkdtempSync(join(tmpdir(), 'signetd-xmlsec-'));
  try {
    for (const [name, content] of Object.entries(files)) {
      const path = join(directory, 'files', name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
    }
    mkdirSync(join(directory, 'files'), { recursive: true });
    const [documentPath, rootPath] = [join(directory, 'signed.xml'), join(directory, 'root.pem')];
    writeFileSync(documentPath, document);
    writeFileSync(rootPath, root);
    const ids = idElements.flatMap((name) => [`--id-attr:${idAttribute}`, name]);
    const which = [
      '--node-xpath',
      `(//*[local-name()='Signature' and namespace-uri()='http://www.w3.org/2000/09/xmldsig#'])[${signature}]`,
    ];
    const args = ['--verify', ...ids, ...which, '--trusted-pem', rootPath, documentPath];
    const printed = execFileSync('sh', ['-c', 'xmlsec1 "$@" 2>&1 || echo "status $?"', 'xmlsec1', ...args], {
      cwd: join(directory, 'files'),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    });
    return /^OK$/m.test(printed) && !/^status /m.test(printed) ? 'OK' : printed;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
