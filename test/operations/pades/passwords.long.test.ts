import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  call,
  codeOf,
  contentDocument,
  description,
  directory,
  evidenceOf,
  messageOf,
  newKey,
  secretOf,
  type ApiAnswer,
  type TestKey,
} from '../../support/api.ts';
import { encryptedPdf, securityRevisions, type Encryption, type SecurityRevision } from '../../support/encrypted-pdf.ts';
import { outsideAuthority } from '../../support/outside-signer.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { succeeds } from '../../support/succeeds.ts';
import { preSignRequest } from '../../support/two-steps.ts';

let key: TestKey;
beforeAll(async () => {
  key = await newKey('app');
});

const user = 'password of the user';
const owner = 'password of the owner';
/** With an empty signature field. */
const plain = smallPdf({
  catalog: '/AcroForm << /Fields [12 0 R] >>',
  page: '/Annots [12 0 R]',
  objects: ['<< /Type /Annot /Subtype /Widget /FT /Sig /T (Existing) /F 4 /Rect [0 0 0 0] /P 4 0 R >>'],
});
const intoNewField = { XP7Signature: { XP7Format: 'PXP_7' } };
const intoExistingField = {
  XP7Signature: {
    ...{ XP7Format: 'PXP_7' },
    XP7Providers: { PXP7Parameters: { visibleSignature: { signatureField: 'Existing' } } },
  },
};
const sign = async (
  pdf: Buffer,
  password?: unknown,
  parameters: object = intoNewField,
  headers: Record<string, string> = {},
): Promise<ApiAnswer> =>
  call(
    'app',
    'signature/sign',
    { keyReference: secretOf(key), parameters, inputDocuments: [{ ...contentDocument(pdf), password }] },
    headers,
  );
const refused = (answer: ApiAnswer): [string, string] => [codeOf(answer), messageOf(answer)];

/** Expects a signature that pdfsig and qpdf accept when they open the file by a password. */
function accepted(answer: ApiAnswer, original: Buffer, password?: string): void {
  const evidence = evidenceOf(succeeds(answer));
  expect(evidence.subarray(0, original.length).equals(original)).toBe(true);
  expect(pdfSignatures(evidence, password)).toMatchObject([{ validation: 'Signature is Valid.', coversAll: true }]);
  expect(qpdfFindings(evidence, password)).toEqual([]);
}

const wrongPassword = ['2/236', '/inputDocuments/0: the password does not open the file'];
const noPassword = ['2/236', '/inputDocuments/0: the file is encrypted and needs a password'];
const noPermission = ['2/236', '/inputDocuments/0: the permissions of the encrypted document do not allow a signature with this password'];

describe.each(securityRevisions)('a PDF that is encrypted by revision %d', (revision) => {
  const encrypted = (more: Partial<Encryption> = {}): Buffer => encryptedPdf(plain, { revision, user, owner, ...more });

  it('is signed with the password of the user and with that of the owner, and with no other', async () => {
    const pdf = encrypted();
    for (const password of [user, owner]) accepted(await sign(pdf, password), pdf, password);
    expect(refused(await sign(pdf))).toEqual(noPassword);
    for (const password of ['x', user.toUpperCase(), ` ${user}`, `${user}${'x'.repeat(40)}`, 'x'.repeat(1024)])
      expect(refused(await sign(pdf, password))).toEqual(wrongPassword);
  });

  it('needs no password if an empty one opens it, and refuses a wrong one even so', async () => {
    const pdf = encrypted({ user: '' });
    accepted(await sign(pdf), pdf);
    accepted(await sign(pdf, owner), pdf);
    expect(refused(await sign(pdf, 'wrong password'))).toEqual(wrongPassword);
  });

  it('that allows nothing is signed with the password of the owner alone', async () => {
    const nothing = revision === 2 ? ['--modify=n', '--annotate=n'] : ['--modify=none', '--annotate=n', '--form=n'];
    for (const { user: own, given } of [
      { user, given: user },
      { user: '', given: undefined },
    ]) {
      const pdf = encrypted({ user: own, permissions: nothing });
      for (const parameters of [intoNewField, intoExistingField]) {
        expect(refused(await sign(pdf, given, parameters))).toEqual(noPermission);
        accepted(await sign(pdf, owner, parameters), pdf, owner);
      }
    }
  });
});

describe('permissions for the password of the user', () => {
  const cases: readonly [SecurityRevision, readonly string[], { readonly newField: boolean; readonly existingField: boolean }][] = [
    [2, ['--modify=n', '--annotate=y'], { newField: false, existingField: true }],
    [2, ['--modify=y', '--annotate=n'], { newField: false, existingField: false }],
    [2, ['--print=n', '--extract=n'], { newField: true, existingField: true }],
    ...([3, 4, 5, 6] as const).flatMap((revision): typeof cases => [
      [revision, ['--modify-other=n'], { newField: false, existingField: true }],
      [revision, ['--annotate=n'], { newField: false, existingField: true }],
      [revision, ['--annotate=n', '--form=n'], { newField: false, existingField: false }],
      [revision, ['--form=n'], { newField: true, existingField: true }],
      [revision, ['--modify-other=n', '--annotate=n', '--form=y'], { newField: false, existingField: true }],
      [revision, ['--print=none', '--extract=n', '--assemble=n', '--accessibility=n'], { newField: true, existingField: true }],
    ]),
  ];

  it.each(cases)('of revision %d with %o decide: %o', async (revision, permissions, { newField, existingField }) => {
    const pdf = encryptedPdf(plain, { revision, user, owner, permissions });
    for (const [parameters, isAllowed] of [
      [intoNewField, newField],
      [intoExistingField, existingField],
    ] as const) {
      const answer = await sign(pdf, user, parameters);
      if (isAllowed) accepted(answer, pdf, user);
      else expect(refused(answer)).toEqual(noPermission);
      accepted(await sign(pdf, owner, parameters), pdf, owner);
    }
  });
});

describe('a password that is not in ASCII', () => {
  it.each([
    [3, 'pâté à l’œuf, 5 €'],
    // The characters of PDFDocEncoding that are in another place than in Latin-1.
    [4, '˘ˇˆ˙˝˛˚˜•†‡…—–ƒ⁄‹›−‰'],
    [4, '„“”‘’‚™\ufb01\ufb02ŁŒŠŸŽıłœšž€'],
    [4, 'Straße, Œuvre, Žlutá Ł'],
    [6, 'пароль для всех'],
    [6, 'pâté à l’œuf, 5 €'],
    [6, '文書のパスワード'],
  ] as const)('opens a file of revision %d: %s', async (revision, password) => {
    const pdf = encryptedPdf(plain, { revision, user: password, owner });
    // pdfsig does not encode passwords.
    accepted(await sign(pdf, password), pdf, owner);
    expect(refused(await sign(pdf, password.replace(/[^ -~]/u, 'x')))).toEqual(wrongPassword);
  });

  it('is not taken for another one that has the same low bytes', async () => {
    const password = 'abcdefghijkl';
    const pdf = encryptedPdf(plain, { revision: 4, user: password, owner });
    const other = Array.from(password, (character) => String.fromCharCode(character.charCodeAt(0) + 256)).join('');
    expect(refused(await sign(pdf, other))).toEqual(wrongPassword);
  });
});

describe('the password of a document', () => {
  it.each<[string, object]>([
    ['CXP_7', { XP7Signature: { XP7Format: 'CXP_7', XP7Providers: { CXP7Parameters: { detached: true } } } }],
    ['DXXP_7', { XP7Signature: { XP7Format: 'DXXP_7' } }],
    ['EXXP_7', { XP7Signature: { XP7Format: 'EXXP_7' } }],
    ['EGXXP_7', { XP7Signature: { XP7Format: 'EGXXP_7' } }],
    ['rawSignature', { rawSignature: {} }],
    ['envelopedXAdESSignature', { envelopedXAdESSignature: {} }],
  ])('is refused with %s, in one step and in two', async (_, parameters) => {
    const message = '/inputDocuments/0/password: a password is allowed only for PDF documents, with XP7Format PXP_7';
    expect(refused(await sign(plain, user, parameters))).toEqual(['1/103', message]);
    const authority = outsideAuthority();
    const signer = authority.certify('P-256');
    const asked = preSignRequest({ signer, authority }, parameters, [{ ...contentDocument(plain), password: user }]);
    expect(refused(await call('app', 'signature/remotePreSign', asked))).toEqual(['1/103', message]);
  });

  it.each([
    ['empty', ''],
    ['longer than 1024 bytes', 'é'.repeat(513)],
    ['a number', 12],
    ['null', null],
  ])('is 1/102 if it is %s', async (_, password) => {
    expect(refused(await sign(plain, password))).toEqual(['1/102', expect.stringMatching(/^\/inputDocuments\/0\/password: /)]);
  });

  it('changes nothing for a PDF that is not encrypted', async () => {
    accepted(await sign(plain, 'opens what is open'), plain);
  });

  it('belongs to its document alone', async () => {
    const pdfs = (['one password', 'another password'] as const).map((password) => ({
      password,
      pdf: encryptedPdf(plain, { revision: 6, user: password, owner }),
    }));
    const documents = (passwords: readonly string[]): object[] =>
      pdfs.map(({ pdf }, index) => ({ ...contentDocument(pdf, `d${index}`), password: passwords[index] }));
    const ask = async (passwords: readonly string[]): Promise<ApiAnswer> =>
      call('app', 'signature/sign', { keyReference: secretOf(key), parameters: intoNewField, inputDocuments: documents(passwords) });
    const right = succeeds(await ask(pdfs.map(({ password }) => password)));
    for (const [index, { password }] of pdfs.entries())
      expect(pdfSignatures(evidenceOf(right, index), password)).toMatchObject([{ validation: 'Signature is Valid.' }]);
    expect(refused(await ask(['one password', 'one password']))).toEqual([
      '2/236',
      '/inputDocuments/1: the password does not open the file',
    ]);
    expect(codeOf(await ask(['another password', 'one password']))).toBe('2/236');
  });

  it('does not count as one of the key if it is wrong, and is tried after that of the key', async () => {
    const other = await newKey('app');
    const pdf = encryptedPdf(plain, { revision: 6, user, owner });
    const ask = async (secret: string, password: string): Promise<string> =>
      codeOf(
        await call('app', 'signature/sign', {
          ...{ keyReference: { reference: other.reference, password: secret }, parameters: intoNewField },
          inputDocuments: [{ ...contentDocument(pdf), password }],
        }),
      );
    for (let round = 0; round < 6; round += 1) expect(await ask(other.password, 'not that of the file')).toBe('2/236');
    expect(await ask('not that of the key', 'not that of the file')).toBe('2/202');
    expect(await ask(other.password, user)).toBe('0/0');
  });

  it('is in no answer, and in nothing that the service writes', async () => {
    const passwords = { user: `of the user ${randomUUID()}`, owner: `of the owner ${randomUUID()}` };
    const wrong = `no password ${randomUUID()}`;
    const pdf = encryptedPdf(plain, { revision: 4, ...passwords });
    const path = join(description.readDirectory ?? '', `${randomUUID()}.pdf`);
    writeFileSync(path, pdf);
    const answers: ApiAnswer[] = [];
    for (const password of [passwords.user, passwords.owner, wrong]) {
      answers.push(await sign(pdf, password, intoNewField, { 'Idempotency-Key': randomUUID() }));
      const atPath = { ID: 'd', filePathData: { filePath: path }, password };
      answers.push(
        await call('app', 'signature/sign', { keyReference: secretOf(key), parameters: intoNewField, inputDocuments: [atPath] }),
      );
    }
    expect(answers.map(codeOf)).toEqual(['0/0', '0/0', '0/0', '0/0', '2/236', '2/236']);
    expect(Object.keys(answers[0]?.body['evidenceObject']?.['document'] ?? {}).toSorted()).toEqual(['ID', 'base64Data', 'mimeType']);
    const all = written();
    // The search finds what is there.
    expect(all.includes(key.reference)).toBe(true);
    for (const secret of [...Object.values(passwords), wrong]) {
      const bytes = Buffer.from(secret);
      for (const look of [secret, bytes.toString('hex'), bytes.toString('base64').replace(/=+$/, '')]) {
        expect(all.includes(look)).toBe(false);
        for (const { text } of answers) expect(text).not.toContain(look);
      }
    }
  });
});

/** Everything that the service wrote: state store with its journal, log, audit log. */
function written(): Buffer {
  const files = [
    ...readdirSync(directory).filter((name) => name.startsWith('state.sqlite') || name.endsWith('.log')),
    ...readdirSync(join(directory, 'audit')).map((name) => join('audit', name)),
  ].filter((name) => statSync(join(directory, name)).isFile());
  return Buffer.concat(files.map((name) => readFileSync(join(directory, name))));
}
