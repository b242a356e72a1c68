import { randomBytes, randomUUID } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, readlinkSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { encryptedPdf } from '../../support/encrypted-pdf.ts';
import { outsideAuthority, type OutsideAuthority, type OutsideSigner } from '../../support/outside-signer.ts';
import { agentOf, OwnService } from '../../support/own-service.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { noTracing, skipNote } from '../../support/skip-note.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { rememberSecrets } from '../../support/suite-logs.ts';
import { completion, openedIn, preSignRequest, rightValues, type OpenedSession } from '../../support/two-steps.ts';

let service: OwnService;
let authority: OutsideAuthority;
let signer: OutsideSigner;
let readable: string;

beforeAll(async () => {
  authority = outsideAuthority();
  signer = authority.certify('P-256');
  service = await OwnService.start();
  readable = join(service.description.readDirectory ?? '', randomUUID());
  mkdirSync(readable);
});
afterAll(async () => {
  await service.remove();
});

const Answer = z.object({
  result: z.object({ resultMajor: z.int(), resultMinor: z.int(), resultMessage: z.string() }),
  evidenceObject: z.object({ document: z.object({ base64Data: z.object({ base64Value: z.string() }) }) }).optional(),
});
const ask = async (operation: string, body: object): Promise<string> => {
  rememberSecrets(JSON.stringify(body));
  return service.post(`signature/${operation}`, body);
};
const open = async (documents: readonly object[]): Promise<OpenedSession> => {
  const asked = preSignRequest({ signer, authority }, { XP7Signature: { XP7Format: 'PXP_7' } }, documents);
  return openedIn(JSON.parse(await ask('remotePreSign', asked)));
};
const complete = async (session: OpenedSession): Promise<z.output<typeof Answer>> =>
  Answer.parse(JSON.parse(await ask('remoteSign', completion(session, rightValues(session, signer)))));
const codeOf = ({ result }: z.output<typeof Answer>): string => `${result.resultMajor}/${result.resultMinor}`;
function accepted(answer: z.output<typeof Answer>, original: Buffer, password?: string): void {
  expect([codeOf(answer), answer.result.resultMessage]).toEqual(['0/0', 'success']);
  const evidence = Buffer.from(answer.evidenceObject?.document.base64Data.base64Value ?? '', 'base64');
  expect(evidence.subarray(0, original.length).equals(original)).toBe(true);
  expect(pdfSignatures(evidence, password)).toMatchObject([{ validation: 'Signature is Valid.', coversAll: true }]);
  expect(qpdfFindings(evidence, password)).toEqual([]);
}

async function upload(content: Buffer): Promise<object> {
  const agent = agentOf(service.description, 'other', { keepAlive: false });
  const answer = await new Promise<string>((resolve, reject) => {
    const options = { agent, method: 'POST', headers: { 'Content-Type': 'application/pdf' } };
    const sent = request(`${service.baseUrl}/ftm/files`, options, (response) => {
      text(response).then(resolve, reject);
    });
    sent.on('error', reject);
    sent.end(content);
  });
  const { fileID, fileSize } = z.object({ fileID: z.string(), fileSize: z.int() }).parse(JSON.parse(answer));
  return { ID: 'd', FTMData: { fileID, fileSize } };
}
function written(content: Buffer, name: string = randomUUID()): { readonly path: string; readonly document: object } {
  const path = join(readable, name);
  writeFileSync(path, content);
  return { path, document: { ID: 'd', filePathData: { filePath: path } } };
}
const inline = (content: Buffer): object => ({ ID: 'd', base64Data: { base64Value: content.toString('base64') } });
function pdfOfBytes(bytes: number, more = ''): Buffer {
  const ballast = more + randomBytes(bytes / 2).toString('hex');
  return smallPdf({ objects: [`<< /Length ${ballast.length} >>\nstream\n${ballast}\nendstream`] });
}

/** Bytes of the parts of all sessions in the state store. */
function storedBytes(): number {
  const database = new DatabaseSync(join(service.environment.directory, 'state.sqlite'), { timeout: 10_000, readOnly: true });
  try {
    const [row] = database.prepare('select coalesce(sum(length(bytes)), 0) as bytes from signature_session_parts').all();
    return Number(row?.['bytes']);
  } finally {
    database.close();
  }
}

/** Everything that the service wrote: state store with its journal, audit log. Its log is searched when the suite ends. */
function writtenByService(): Buffer {
  const { directory } = service.environment;
  const files = [
    ...readdirSync(directory).filter((name) => name.startsWith('state.sqlite') || name.endsWith('.log')),
    ...readdirSync(join(directory, 'audit')).map((name) => join('audit', name)),
  ].filter((name) => statSync(join(directory, name)).isFile());
  return Buffer.concat(files.map((name) => readFileSync(join(directory, name))));
}

/** Whether the service has a file open. */
async function hasOpen(path: string): Promise<boolean> {
  const { pid } = z.object({ pid: z.int() }).parse(await (await fetch(`${service.opsUrl}/health/ready`)).json());
  return openFiles(pid).includes(path);
}

/** Paths of the files that a process has open. */
function openFiles(pid: number): string[] {
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).flatMap((descriptor) => {
    try {
      return [readlinkSync(join(directory, descriptor))];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

describe('the session of a PDF', () => {
  it.skipIf(noTracing !== undefined)(
    `leaves its file closed between the steps, after a refusal and at its end${skipNote(noTracing)}`,
    async () => {
      const content = pdfOfBytes(2_000_000);
      const { path, document } = written(content);
      const descriptor = openSync(path, 'r');
      expect(openFiles(process.pid)).toContain(path);
      closeSync(descriptor);
      const session = await open([document]);
      expect(await hasOpen(path)).toBe(false);
      const wrong = completion(session, { d: Buffer.alloc(64, 1).toString('base64') });
      expect(codeOf(Answer.parse(JSON.parse(await ask('remoteSign', wrong))))).toBe('2/222');
      expect(await hasOpen(path)).toBe(false);
      accepted(await complete(session), content);
      expect(await hasOpen(path)).toBe(false);
    },
  );

  it('has only the appended revision of a file, and content of the request as well', async () => {
    const content = pdfOfBytes(10_000_000);
    const before = storedBytes();
    const session = await open([written(content).document]);
    const afterPath = storedBytes();
    const other = await open([await upload(content)]);
    const afterTransfer = storedBytes();
    expect(afterPath - before).toBeGreaterThan(5_000);
    expect(afterPath - before).toBeLessThan(100_000);
    expect(afterTransfer - afterPath).toBeLessThan(100_000);
    const third = await open([inline(content)]);
    expect(storedBytes() - afterTransfer).toBeGreaterThan(10_000_000);
    for (const one of [session, other, third]) accepted(await complete(one), content);
  });

  it('is completed by the service that was killed and started again, whatever its source', async () => {
    const [small, large] = [pdfOfBytes(1000), pdfOfBytes(3_000_000)];
    const password = 'Passwort für alle Tage';
    const locked = encryptedPdf(large, { revision: 6, user: password, owner: 'that of the owner' });
    const sessions = [];
    for (const content of [small, large]) {
      const documents = [inline(content), written(content).document, await upload(content)];
      for (const document of documents) sessions.push({ content, session: await open([document]) });
    }
    const encrypted = await open([{ ...written(locked).document, password }]);
    await service.daemon.kill();
    await service.daemon.start();
    for (const { content, session } of sessions) accepted(await complete(session), content);
    accepted(await complete(encrypted), locked, password);
    expect(codeOf(await complete(encrypted))).toBe('2/221');
  });

  it('is stored without a readable password, path or content', async () => {
    const secrets = { password: 'opens the document of Camille', path: `named ${randomUUID()}`, content: `shown ${randomUUID()}` };
    const { password } = secrets;
    const plain = pdfOfBytes(100, secrets.content);
    const locked = encryptedPdf(plain, { revision: 4, user: password, owner: 'that of the owner' });
    const wrong = { ...inline(locked), password: 'opens no document at all' };
    const asked = preSignRequest({ signer, authority }, { XP7Signature: { XP7Format: 'PXP_7' } }, [wrong]);
    const refused = await ask('remotePreSign', asked);
    expect(codeOf(Answer.parse(JSON.parse(refused)))).toBe('2/236');
    expect(refused).not.toContain(wrong.password);
    const sessions = [await open([{ ...written(locked, secrets.path).document, password }]), await open([inline(plain)])];
    const all = writtenByService();
    expect(all.length).toBeGreaterThan(10_000);
    // The search finds what is there.
    expect(all.includes('signature_session_parts')).toBe(true);
    for (const secret of [...Object.values(secrets), wrong.password]) {
      const bytes = Buffer.from(secret);
      for (const look of [bytes, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '')])
        expect(all.includes(look)).toBe(false);
    }
    const [first, second] = sessions;
    if (first === undefined || second === undefined) throw new Error('two sessions');
    const answer = await ask('remoteSign', completion(first, rightValues(first, signer)));
    expect(answer).not.toContain(password);
    accepted(Answer.parse(JSON.parse(answer)), locked, password);
    accepted(await complete(second), plain);
    expect(writtenByService().includes(password)).toBe(false);
  });

  it('reads its file again under the rules of the configuration that is in force then', async () => {
    const { path, document } = written(pdfOfBytes(2_000_000));
    const content = readFileSync(path);
    const session = await open([document]);
    const { configFile } = service.description;
    const original = readFileSync(configFile, 'utf8');
    const Config = z.looseObject({ documents: z.looseObject({}), tenants: z.record(z.string(), z.looseObject({})) });
    const { documents, tenants, ...rest } = Config.parse(parse(original));
    const other = { ...tenants['other'], readDirectories: [join(readable, 'elsewhere')] };
    mkdirSync(join(readable, 'elsewhere'));
    const message = (why: string): string => `the document "d" cannot be read again: ${why}; the session stays open`;
    for (const [changed, expected] of [
      [
        { ...rest, documents, tenants: { ...tenants, other } },
        ['2/241', message('the path must be absolute and inside a directory that the configuration allows')],
      ],
      [
        { ...rest, documents: { ...documents, fileMaxBytes: 1_000_000 }, tenants },
        ['1/104', message(`the file has ${content.length} bytes; at most 1000000 are supported`)],
      ],
    ] as const) {
      await service.daemon.stop();
      writeFileSync(configFile, stringify(changed));
      await service.daemon.start();
      const answer = await complete(session);
      expect([codeOf(answer), answer.result.resultMessage]).toEqual(expected);
    }
    await service.daemon.stop();
    writeFileSync(configFile, original);
    await service.daemon.start();
    renameSync(path, `${path}.moved`);
    expect(codeOf(await complete(session))).toBe('2/242');
    renameSync(`${path}.moved`, path);
    accepted(await complete(session), content);
  });
});
