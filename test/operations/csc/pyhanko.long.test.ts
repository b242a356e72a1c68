import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Level } from '../../conformance/levels.ts';
import { pdfDocument, pdfNames, signedTwice } from '../../conformance/pades-documents.ts';
import { call, certificateRequest, description, directory, subject, textOf, type ClientName } from '../../support/api.ts';
import { judged, noValidator } from '../../support/judge.ts';
import { pdfSignatures } from '../../support/pdf-judges.ts';
import { skipNote } from '../../support/skip-note.ts';

const python = join(process.env['SIGNETD_TOOLS_CACHE'] ?? join(homedir(), '.cache/signetd-tools'), 'venv/bin/python');
const reason = existsSync(python) ? undefined : `there is no ${python}`;

const clients = { rsa: 'app', pss: 'app', ecdsa: 'other' } as const satisfies Record<string, ClientName>;
const schemes = ['rsa', 'pss', 'ecdsa'] as const;
const levels = ['B', 'T', 'LT'] as const satisfies readonly Level[];
const activations = ['PIN', 'OTP', 'PIN and OTP'] as const;
const hashes = ['sha256', 'sha384', 'sha512'] as const;

/** Kinds of PDF in turn, without those that are encrypted, and those of hybrid cross-references, in which pyHanko signs nothing. */
const kinds = endless(pdfNames.filter((name) => name !== signedTwice).filter((name) => name !== 'hybrid' && !/^R\d$/.test(name)));

interface Transaction {
  readonly scheme: (typeof schemes)[number];
  readonly level: (typeof levels)[number];
  readonly activation: (typeof activations)[number];
  readonly hash: (typeof hashes)[number];
  readonly files: readonly string[];
}

const workplace = mkdtempSync(join(tmpdir(), 'signetd-pyhanko-'));
afterAll(() => {
  rmSync(workplace, { recursive: true, force: true });
});

/** Every scheme at every level with every activation, each with one of the hashes; and one of each scheme and level for several documents. */
const transactions: readonly Transaction[] = schemes.flatMap((scheme, row) =>
  levels.flatMap((level, column) =>
    activations.map((activation, index) => ({
      ...{ scheme, level, activation, hash: hashes[(row + column + index) % hashes.length] ?? 'sha256' },
      files: unsigned(`${scheme}-${level}-${activation.replaceAll(' ', '-')}`, index === 0 ? 3 : 1),
    })),
  ),
);

function unsigned(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => {
    const document = kinds.next().value ?? 'table';
    const file = join(workplace, `${name}-${index}-${document.replace('/', '')}.pdf`);
    writeFileSync(file, pdfDocument(document).bytes);
    return file;
  });
}

function* endless<T>(values: readonly T[]): Generator<T, undefined> {
  for (;;) yield* values;
}

/** What the Python program needs to know of a key, whose subscriber has a mailbox if one-time passwords go there. */
async function newCredential({ scheme, activation }: Transaction, index: number): Promise<object> {
  const email = activation === 'PIN' ? undefined : `signer-${index}@pyhanko.example`;
  const subscriber = email === undefined ? {} : { emailAddress: email };
  const request = certificateRequest({
    signatureActivationProtocol: activation === 'OTP' ? 'OTP' : 'PASSWORD',
    PKCS10: { attributes: { subscriber }, subject },
  });
  const { body } = await call(clients[scheme], 'pki/createCertificate', request);
  const { reference, password } = z.object({ reference: z.string(), password: z.string().optional() }).parse(body['keyReference']);
  return { credentialID: reference, ...(password === undefined ? {} : { pin: password }), ...(email === undefined ? {} : { email }) };
}

const Outcome = z.strictObject({
  transactions: z.int(),
  findings: z.array(z.strictObject({ accepted: z.boolean(), stamped: z.boolean(), mechanism: z.string() })),
});
type Outcome = z.output<typeof Outcome>;

/** Has pyHanko sign all documents of the transactions, in one process, and answers what it finds of their signatures. */
async function signed(tasks: readonly object[]): Promise<Outcome[]> {
  const said = await new Promise<string>((resolve, reject) => {
    const program = ['test/operations/csc/pyhanko-signer.py', join(directory, 'quickstart.json')];
    const child = execFile(python, program, { maxBuffer: 1e8 }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`pyHanko: ${stderr}`, { cause: error }));
    });
    child.stdin?.end(JSON.stringify(tasks));
  });
  return said
    .trimEnd()
    .split('\n')
    .map((line) => Outcome.parse(JSON.parse(line)));
}

const mechanismOf = ({ scheme, hash }: Transaction): string => ({ rsa: `${hash}_rsa`, pss: 'rsassa_pss', ecdsa: `${hash}_ecdsa` })[scheme];

describe.skipIf(reason !== undefined)(`pyHanko's CSCSigner over mTLS${skipNote(reason)}`, () => {
  let outcomes: Outcome[] = [];
  beforeAll(async () => {
    const tasks = [];
    for (const [index, transaction] of transactions.entries()) {
      const { scheme, level, hash, files } = transaction;
      // The service neither needs a bearer token nor looks at it.
      const token = index % 2 === 0 ? {} : { oauthToken: 'none' };
      const credential = await newCredential(transaction, index);
      tasks.push({ ...credential, ...token, level, hash, files, client: clients[scheme], pss: scheme === 'pss' });
    }
    outcomes = await signed(tasks);
  });

  it.each(transactions.map((transaction, index) => ({ ...transaction, index, count: transaction.files.length })))(
    'signs $count PDF in one transaction: $scheme, $hash, level $level, activated by $activation',
    ({ index, files, level, ...transaction }) => {
      const expected = { accepted: true, stamped: level !== 'B', mechanism: mechanismOf({ ...transaction, files, level }) };
      expect(outcomes[index]).toEqual({ transactions: 1, findings: files.map(() => expected) });
      for (const file of files) {
        const signatures = pdfSignatures(readFileSync(file));
        expect(signatures).toMatchObject([{ type: 'ETSI.CAdES.detached', validation: 'Signature is Valid.', coversAll: level !== 'LT' }]);
      }
    },
  );

  it.skipIf(noValidator !== undefined)(`every signature is valid at its level for all validators${skipNote(noValidator)}`, async () => {
    const requests = transactions.flatMap(({ files, level }) =>
      files.map((file) => ({ file, trust: description.trustAnchors, require: level })),
    );
    const judgements = await judged(requests);
    const refused = judgements.flatMap((judgement, index) => {
      const { file = '', require: level } = requests[index] ?? {};
      const isGood = judgement.verdict === 'valid' || (level !== 'LT' && judgement.verdict === 'valid-except-revocation');
      return isGood && textOf(judgement.level) === `PAdES-BASELINE-${level}` ? [] : [{ file, judgement }];
    });
    expect(refused).toEqual([]);
    expect(judgements).toHaveLength(requests.length);
  });
});
