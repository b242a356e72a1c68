import { randomBytes, randomUUID } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AnsweringServer } from '../../support/answering-server.ts';
import { codeOf, contentDocument, description, evidenceOf, messageOf, textOf, type ApiAnswer } from '../../support/api.ts';
import { encryptedPdf } from '../../support/encrypted-pdf.ts';
import { fetchedFile } from '../../support/fetched-file.ts';
import { file, idOf, upload } from '../../support/files.ts';
import { outsideAuthority, type OutsideAuthority, type OutsideSigner } from '../../support/outside-signer.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { queryState } from '../../support/quickstart-state.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { succeeds } from '../../support/succeeds.ts';
import { completed, completion, opened, preSignRequest, rightValues, type OpenedSession } from '../../support/two-steps.ts';

let authority: OutsideAuthority;
let signer: OutsideSigner;
/** A time-stamp authority that hands requests on to the service's own. */
let stampAuthority: AnsweringServer;
const readable = join(description.readDirectory ?? '', randomUUID());
const writable = join(description.writeDirectory ?? '', randomUUID());

beforeAll(async () => {
  stampAuthority = await AnsweringServer.start(timeStamp);
  authority = outsideAuthority();
  signer = authority.certify('P-256');
  for (const directory of [readable, writable]) mkdirSync(directory);
});

afterAll(() => {
  stampAuthority.stop();
});

async function timeStamp(request: Buffer): Promise<Uint8Array> {
  const answer = await fetch(description.timestampUrl ?? '', {
    method: 'POST',
    headers: { 'Content-Type': 'application/timestamp-query' },
    body: new Uint8Array(request),
  });
  return new Uint8Array(await answer.arrayBuffer());
}

/** A PDF with so many bytes that no reader shows. */
function pdfOfBytes(bytes: number): Buffer {
  const ballast = randomBytes(bytes / 2).toString('hex');
  return smallPdf({ objects: [`<< /Length ${ballast.length} >>\nstream\n${ballast}\nendstream`] });
}
const small = pdfOfBytes(100);
const large = pdfOfBytes(2_500_000);

const pades = (more: object = {}): object => ({ XP7Signature: { XP7Format: 'PXP_7', ...more } });
const open = async (inputDocuments: readonly object[], more: object = {}, by = signer): Promise<OpenedSession> =>
  opened(preSignRequest({ signer: by, authority }, pades(more), inputDocuments));
const complete = async (session: OpenedSession, more: object = {}): Promise<ApiAnswer> =>
  completed(completion(session, rightValues(session, signer), more));
const refused = (answer: ApiAnswer): [string, string] => [codeOf(answer), messageOf(answer)];

/** Writes a file of this test alone, and returns it as a document. */
function written(content: Buffer, name = `${randomUUID()}.pdf`): { readonly path: string; readonly document: object } {
  const path = join(readable, name);
  writeFileSync(path, content);
  return { path, document: { ID: 'd', fileName: 'contract.pdf', filePathData: { filePath: path } } };
}
async function transferred(content: Buffer): Promise<{ readonly fileID: string; readonly document: object }> {
  const fileID = idOf(await upload('app', content));
  return { fileID, document: { ID: 'd', FTMData: { fileID, fileSize: content.length } } };
}

/** Expects a revision on top of the document that pdfsig and qpdf accept. */
function accepted(evidence: Buffer, original: Buffer, password?: string): void {
  expect(evidence.subarray(0, original.length).equals(original)).toBe(true);
  expect(pdfSignatures(evidence, password)).toMatchObject([
    { type: 'ETSI.CAdES.detached', validation: 'Signature is Valid.', coversAll: true },
  ]);
  expect(qpdfFindings(evidence, password)).toEqual([]);
}

const sources: readonly [string, (content: Buffer) => object | Promise<object>][] = [
  ['in the request', (content) => contentDocument(content)],
  ['at a path', (content) => written(content).document],
  ['in the transfer store', async (content) => (await transferred(content)).document],
];

describe.each(sources)('a PDF %s', (_, documentOf) => {
  it.each([
    ['small', small, 'BASE_64'],
    ['small', small, 'FILE_PATH'],
    ['large', large, 'FTM'],
    ['large', large, 'FILE_PATH'],
    ['large', large, 'BASE_64'],
  ] as const)('that is %s is signed in two steps, and delivered', async (_size, content, outputMode) => {
    const session = await open([await documentOf(content)]);
    const outputDirectory = outputMode === 'FILE_PATH' ? { outputDirectory: writable } : {};
    const answer = succeeds(await complete(session, { optionalInputs: { evidenceOutput: { outputMode, ...outputDirectory } } }));
    const document = answer.body['evidenceObject']?.['document'];
    expect(document).toMatchObject({ ID: 'd', mimeType: 'application/pdf' });
    const delivered = {
      BASE_64: async () => Promise.resolve(evidenceOf(answer)),
      FTM: async () => fetchedFile('app', textOf(document?.['FTMData']?.['fileID'])),
      FILE_PATH: async () => Promise.resolve(readFileSync(textOf(document?.['filePathData']?.['filePath']))),
    };
    accepted(await delivered[outputMode](), content);
    expect(codeOf(await complete(session))).toBe('2/221');
  });

  it('is signed by RSA, with a time-stamp, visibly, and encrypted', async () => {
    const rsa = authority.certify('RSA-2048');
    const visible = { visibleSignature: {} };
    const password = 'Mot de passe de Camille';
    const locked = encryptedPdf(small, { revision: 6, user: password, owner: 'that of the owner' });
    for (const [content, members, more] of [
      [small, {}, {}],
      [large, { timeStamp: {} }, {}],
      [large, { XP7Providers: { PXP7Parameters: visible } }, {}],
      [locked, { timeStamp: {}, XP7Providers: { PXP7Parameters: visible } }, { password }],
    ] as const) {
      const session = await open([{ ...(await documentOf(content)), ...more }], members, rsa);
      const answer = succeeds(await completed(completion(session, rightValues(session, rsa))));
      accepted(evidenceOf(answer), content, 'password' in more ? more.password : undefined);
    }
  });

  it('stays with its session after wrong values and wrong ids', async () => {
    const session = await open([await documentOf(large)]);
    const values = rightValues(session, signer);
    const other = rightValues(await open([contentDocument(small)]), signer);
    expect(refused(await completed(completion(session, other)))).toEqual(['2/222', expect.stringContaining('the session stays open')]);
    expect(codeOf(await completed(completion(session, { ...values, e: values['d'] ?? '' })))).toBe('1/103');
    expect(codeOf(await completed(completion(session, {})))).toBe('1/103');
    expect(codeOf(await completed(completion(session, values, { optionalInputs: { evidenceOutput: { outputMode: 'PLAIN' } } })))).toBe(
      '1/104',
    );
    expect(codeOf(await completed(completion(session, values), 'other'))).toBe('2/221');
    accepted(evidenceOf(succeeds(await completed(completion(session, values)))), large);
  });
});

describe('a file that remotePreSign read', () => {
  const noFile = ['2/242', 'the document "d" cannot be read again: no such file; the session stays open'];
  const denied = (why: string): [string, string] => ['2/241', `the document "d" cannot be read again: ${why}; the session stays open`];
  const other = ['1/105', 'the file of the document "d" changed since remotePreSign; the session stays open'];
  const changedByte = (content: Buffer): Buffer => {
    const changed = Buffer.from(content);
    changed.writeUInt8(changed.readUInt8(Math.trunc(content.length / 2)) ^ 1, Math.trunc(content.length / 2));
    return changed;
  };
  const remade = (path: string, make: () => void): void => {
    rmSync(path);
    make();
  };
  const changes: readonly [string, (path: string, content: Buffer) => void, readonly string[]][] = [
    [
      'is gone',
      (path) => {
        rmSync(path);
      },
      noFile,
    ],
    [
      'has another byte, and the same size',
      (path, content) => {
        writeFileSync(path, changedByte(content));
      },
      other,
    ],
    [
      'has another byte, and the same size and times',
      (path, content) => {
        const { atime, mtime } = statSync(path);
        writeFileSync(path, changedByte(content));
        utimesSync(path, atime, mtime);
      },
      other,
    ],
    [
      'is shorter',
      (path, content) => {
        truncateSync(path, content.length - 1);
      },
      other,
    ],
    [
      'is longer',
      (path, content) => {
        writeFileSync(path, Buffer.concat([content, Buffer.of(10)]));
      },
      other,
    ],
    [
      'is empty',
      (path) => {
        truncateSync(path, 0);
      },
      other,
    ],
    [
      'is a directory',
      (path) => {
        remade(path, () => {
          mkdirSync(path);
        });
      },
      denied('not a regular file'),
    ],
    [
      'is a FIFO',
      (path) => {
        remade(path, () => {
          execFileSync('mkfifo', [path]);
        });
      },
      denied('not a regular file'),
    ],
    [
      'is a link that leads out',
      (path) => {
        remade(path, () => {
          symlinkSync('/etc/hostname', path);
        });
      },
      denied('the path must be absolute and inside a directory that the configuration allows'),
    ],
    [
      'has a second name',
      (path) => {
        linkSync(path, `${path}.again`);
      },
      denied('the file has several names (hard links), one of which may be outside'),
    ],
  ];

  it.each(changes)('and then %s is refused, nothing is delivered, and the session stays open', async (_, change, expected) => {
    for (const content of [small, large]) {
      const { path, document } = written(content);
      const session = await open([document]);
      const values = rightValues(session, signer);
      const outputs = [
        {},
        { optionalInputs: { evidenceOutput: { outputMode: 'FTM' } } },
        { optionalInputs: { evidenceOutput: { outputMode: 'FILE_PATH', outputDirectory: writable } } },
      ];
      const before = readdirSync(writable);
      change(path, content);
      for (const output of outputs) {
        const answer = await completed(completion(session, values, output));
        expect(refused(answer)).toEqual(expected);
        expect(Object.keys(answer.body)).toEqual(['result']);
      }
      expect(readdirSync(writable)).toEqual(before);
      for (const one of [path, `${path}.again`]) rmSync(one, { recursive: true, force: true });
      writeFileSync(path, content);
      // The value that the device made before is still good.
      accepted(evidenceOf(succeeds(await completed(completion(session, values)))), content);
    }
  });

  it('may be another file of the same bytes, behind a link that stays inside', async () => {
    const { path, document } = written(large);
    const session = await open([document]);
    rmSync(path);
    symlinkSync(written(large).path, path);
    accepted(evidenceOf(succeeds(await complete(session))), large);
  });

  it('is compared with what was signed, not with what a repetition of the request says', async () => {
    const { path, document } = written(large);
    const session = await open([document]);
    const headers = { 'Idempotency-Key': randomUUID() };
    const request = completion(session, rightValues(session, signer));
    rmSync(path);
    expect(refused(await completed(request, 'app', headers))).toEqual(noFile);
    writeFileSync(path, large);
    const answer = succeeds(await completed(request, 'app', headers));
    accepted(evidenceOf(answer), large);
    rmSync(path);
    expect((await completed(request, 'app', headers)).text).toBe(answer.text);
  });

  it('is refused before a wrong value if it is gone or has another size, and after it if its bytes differ', async () => {
    const { path, document } = written(large);
    const session = await open([document]);
    const wrong = completion(session, { d: Buffer.alloc(64, 1).toString('base64') });
    writeFileSync(path, changedByte(large));
    expect(codeOf(await completed(wrong))).toBe('2/222');
    truncateSync(path, large.length - 1);
    expect(refused(await completed(wrong))).toEqual(other);
    rmSync(path);
    expect(codeOf(await completed(wrong))).toBe('2/242');
  });

  it.each<[string, (path: string) => void, string]>([
    [
      'has another byte',
      (path) => {
        writeFileSync(path, changedByte(large));
      },
      'a file changed while it was being signed',
    ],
    [
      'is shorter',
      (path) => {
        truncateSync(path, large.length - 1);
      },
      'the document "d": the file changed while it was being signed; the session stays open',
    ],
    [
      'was written again with the same bytes',
      (path) => {
        utimesSync(path, new Date(0), new Date(0));
      },
      'the file changed while it was read; the session stays open',
    ],
  ])('and that %s while the signature is time-stamped is refused, and nothing is delivered', async (_, change, message) => {
    const { path, document } = written(large);
    const session = await open([document], { timeStamp: { URLSource: 'CLIENT', clientURL: [stampAuthority.url] } });
    const values = rightValues(session, signer);
    stampAuthority.answering = async (request) => {
      change(path);
      return timeStamp(request);
    };
    const before = readdirSync(writable);
    for (const output of [{}, { evidenceOutput: { outputMode: 'FILE_PATH', outputDirectory: writable } }]) {
      writeFileSync(path, large);
      const answer = await completed(completion(session, values, { optionalInputs: output }));
      expect(refused(answer)).toEqual(['1/105', message]);
      expect(Object.keys(answer.body)).toEqual(['result']);
    }
    expect(readdirSync(writable)).toEqual(before);
    stampAuthority.answering = timeStamp;
    writeFileSync(path, large);
    accepted(evidenceOf(succeeds(await completed(completion(session, values)))), large);
  });
});

describe('a file of the transfer store that remotePreSign read', () => {
  const gone = ['2/242', 'the document "d" cannot be read again: no such file in the transfer store; the session stays open'];

  it('and then was deleted is refused, and the session stays open', async () => {
    const { fileID, document } = await transferred(large);
    const session = await open([document]);
    expect((await file('app', 'DELETE', fileID)).status).toBe(204);
    expect(refused(await complete(session))).toEqual(gone);
    expect(refused(await complete(session))).toEqual(gone);
    expect(codeOf(await completed(completion(session, {})))).toBe('1/103');
  });

  it('and then has expired is refused, and the session stays open', async () => {
    const { fileID, document } = await transferred(small);
    const session = await open([document]);
    queryState('update transfer_files set ends_at = 1 where id = ?', fileID);
    expect(refused(await complete(session))).toEqual(gone);
  });
});

describe('several PDFs', () => {
  it('are signed in one session, each from its own source', async () => {
    const session = await open([
      { ...contentDocument(small), ID: 'inline' },
      { ...written(large).document, ID: 'path' },
      { ...(await transferred(large)).document, ID: 'transfer' },
      { ...written(small).document, ID: 'small path' },
    ]);
    const answer = succeeds(await complete(session));
    for (const [index, content] of [small, large, large, small].entries()) accepted(evidenceOf(answer, index), content);
  });

  it('are all refused if one changed, which is named', async () => {
    const { path, document } = written(large);
    const { path: kept, document: unchanged } = written(large);
    const session = await open([
      { ...unchanged, ID: 'first' },
      { ...document, ID: 'second "one"' },
    ]);
    truncateSync(path, large.length - 1);
    const message = String.raw`the file of the document "second \"one\"" changed since remotePreSign; the session stays open`;
    expect(refused(await complete(session))).toEqual(['1/105', message]);
    writeFileSync(path, large);
    rmSync(kept);
    expect(refused(await complete(session))).toEqual(['2/242', expect.stringContaining('the document "first" cannot be read again')]);
  });
});
