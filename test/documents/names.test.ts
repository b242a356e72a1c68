import { describe, expect, it } from 'vitest';
import { evidenceBaseName, evidenceDocument, evidenceFileName, isFileName } from '../../src/documents/document.ts';
import { jsonPieces, LongAnswer } from '../../src/documents/long-answer.ts';
import { LongText } from '../../src/documents/long-text.ts';
import { denied, notFound, refusalOf } from '../../src/documents/paths/path-refusal.ts';
import { stagedNameForm, StagedNames } from '../../src/documents/paths/staged-names.ts';
import { publicationEnd, withPaths } from '../../src/documents/publications.ts';

describe('a file name', () => {
  it.each(['a', '...', '.a', 'a.', ' ', 'é\u0301', 'a b.pdf', 'x'.repeat(255), `${'é'.repeat(127)}x`, 'a:b', 'a*?'])(
    'may be %j',
    (name) => {
      expect(isFileName(name)).toBe(true);
    },
  );

  it.each(['', '.', '..', 'a/b', '/', 'a\\b', 'a\0', 'a\n', '\u007f', '\u0085', 'x'.repeat(256), 'é'.repeat(128)])('is not %j', (name) => {
    expect(isFileName(name)).toBe(false);
  });
});

describe('the name of evidence', () => {
  it('is that of the document with the ending of the format, cut where it would be too long, between characters', () => {
    expect(evidenceFileName('a.pdf', '.p7s')).toBe('a.pdf.p7s');
    expect(evidenceFileName('x'.repeat(251), '.p7s')).toBe(`${'x'.repeat(251)}.p7s`);
    expect(evidenceFileName('x'.repeat(252), '.p7s')).toBe(`${'x'.repeat(251)}.p7s`);
    expect(evidenceFileName(`${'x'.repeat(250)}é`, '.p7s')).toBe(`${'x'.repeat(250)}.p7s`);
    expect(evidenceFileName(`${'x'.repeat(248)}😀`, '.p7s')).toBe(`${'x'.repeat(248)}.p7s`);
    expect(evidenceFileName(`${'x'.repeat(247)}😀`, '.p7s')).toBe(`${'x'.repeat(247)}😀.p7s`);
  });

  it('of a signed PDF is that of the document itself', () => {
    expect(evidenceBaseName('a.pdf', '.pdf')).toBe('a');
    expect(evidenceBaseName('A.PDF', '.pdf')).toBe('A');
    expect(evidenceBaseName('a.pdf.pdf', '.pdf')).toBe('a.pdf');
    expect(evidenceBaseName('.pdf', '.pdf')).toBe('.pdf');
    expect(evidenceBaseName('apdf', '.pdf')).toBe('apdf');
    expect(evidenceBaseName('a.pdf', '.p7s')).toBe('a.pdf');
    expect(evidenceBaseName('a.xml', '.pdf')).toBe('a.xml');
  });

  it('stands in the answer if the document has a name', () => {
    const pdf = { mimeType: 'application/pdf', ending: '.pdf' };
    const content = { plainData: { plainValue: 'x' } };
    expect(evidenceDocument({ id: '1', fileName: undefined }, pdf, content)).toEqual({ ID: '1', mimeType: 'application/pdf', ...content });
    expect(evidenceDocument({ id: '1', fileName: 'a.pdf' }, pdf, content)).toMatchObject({ fileName: 'a.pdf' });
    expect(evidenceDocument({ id: '1', fileName: 'a.xml' }, pdf, content)).toMatchObject({ fileName: 'a.xml.pdf' });
    expect(evidenceDocument({ id: '1', fileName: 'a.pdf' }, { ...pdf, ending: '.p7s' }, content)).toMatchObject({ fileName: 'a.pdf.p7s' });
  });
});

describe('a long text', () => {
  it('has the length of the text itself, and is that text again', () => {
    const bytes = Buffer.from('xé=abc');
    for (let length = 0; length <= 7; length += 1) {
      const view = bytes.subarray(1, 1 + length);
      const base64 = new LongText('base64', view);
      expect([base64.toText(), base64.textBytes]).toEqual([view.toString('base64'), view.toString('base64').length]);
    }
    const text = new LongText('text', Buffer.from('é1'));
    expect([text.toText(), text.textBytes]).toEqual(['é1', 3]);
  });

  it('of an answer is sent as its bytes, wherever and however often it stands', () => {
    const [one, other] = [new LongAnswer(Buffer.from('QUJD')), new LongAnswer(Buffer.from('Rw=='))];
    const value = { a: one, list: [other, one], b: 'text' };
    const pieces = jsonPieces(value);
    expect(pieces.filter((piece) => typeof piece !== 'string')).toEqual([one.bytes, other.bytes, one.bytes]);
    const whole = '{"a":"QUJD","list":["Rw==","QUJD"],"b":"text"}';
    expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece))).toString()).toBe(whole);
    // Elsewhere it is a string like any other.
    expect(JSON.stringify(value)).toBe(whole);
    expect(jsonPieces({ a: 1 })).toEqual(['{"a":1}']);
  });

  it('of an answer that cannot be written leaves none behind for the next', () => {
    const one = new LongAnswer(Buffer.from('QUJD'));
    const broken = {
      one,
      toJSON(): never {
        throw new RangeError('it cannot be written');
      },
    };
    expect(() => jsonPieces([one, broken])).toThrow(RangeError);
    expect(JSON.stringify([one])).toBe('["QUJD"]');
  });
});

describe('a fault of the file system', () => {
  const codeOf = (code: string | undefined, what: 'file' | 'directory' = 'file'): unknown =>
    refusalOf(code === undefined ? new Error('no code') : Object.assign(new Error('a fault'), { code }), '/x', what)?.code;

  it.each([
    ['ENOENT', 'FILE_NOT_FOUND'],
    ['ENOTDIR', 'FILE_NOT_FOUND'],
    ['ENAMETOOLONG', 'FILE_NOT_FOUND'],
    ['ESTALE', 'FILE_NOT_FOUND'],
    ['EACCES', 'FILE_ACCESS_DENIED'],
    ['EPERM', 'FILE_ACCESS_DENIED'],
    ['ELOOP', 'FILE_ACCESS_DENIED'],
    ['ENOSPC', 'STORE_FULL'],
    ['EDQUOT', 'STORE_FULL'],
    ['EROFS', 'STORE_FULL'],
    ['EIO', 'STORE_FULL'],
    ['EFBIG', 'STORE_FULL'],
    ['EMFILE', undefined],
    [undefined, undefined],
  ])('%s is %s', (code, refusal) => {
    expect(codeOf(code)).toBe(refusal);
  });

  it('says where and what it is about', () => {
    expect(refusalOf(Object.assign(new Error('x'), { code: 'ENOENT' }), '/x', 'directory')).toMatchObject({
      ...{ at: '/x', message: '/x: no such directory' },
    });
    expect(notFound('/y', 'file')).toMatchObject({ code: 'FILE_NOT_FOUND', at: '/y', message: '/y: no such file' });
    expect(denied('/z')).toMatchObject({ code: 'FILE_ACCESS_DENIED', at: '/z' });
    const access = refusalOf(Object.assign(new Error('x'), { code: 'EACCES' }), '/x', 'file');
    expect(access).toMatchObject({ at: '/x', message: '/x: the service has no access to this file' });
    expect(refusalOf(Object.assign(new Error('x'), { code: 'EIO' }), '/x', 'file')).toMatchObject({ at: '/x' });
  });
});

describe('names of files that are written', () => {
  it('are of one instance, and all different', () => {
    const names = new StagedNames('one-2');
    const taken = [names.take(), names.take()];
    for (const name of taken) expect(name).toMatch(/^\.signetd\.one-2\.[0-9a-f]{32}\.tmp$/);
    for (const name of taken) expect(name).toMatch(stagedNameForm);
    expect(taken[0]).not.toBe(taken[1]);
    for (const name of ['.signetd.one.tmp', `x${taken[0]}`, `${taken[0]}x`, '.signetd.ONE.00000000000000000000000000000000.tmp'])
      expect(name).not.toMatch(stagedNameForm);
  });

  it('are planned once in a directory, until the plan ends', () => {
    const names = new StagedNames('one');
    expect([names.plan('1:2', 'a'), names.plan('1:2', 'a'), names.plan('1:3', 'a'), names.plan('1:2', 'b')]).toEqual([
      ...[true, false, true, true],
    ]);
    expect([names.isPlanned('1:2', 'a'), names.isPlanned('1:2', 'c'), names.isPlanned('1:3', 'b')]).toEqual([true, false, false]);
    names.endPlan('1:2', 'a');
    expect([names.isPlanned('1:2', 'a'), names.isPlanned('1:3', 'a'), names.plan('1:2', 'a')]).toEqual([false, true, true]);
  });
});

describe('names that evidence has in the end', () => {
  it('end its entry in the journal, or are kept in it for a day where they differ', () => {
    expect(publicationEnd('id', new Map())).toEqual({ name: 'endPublication', argument: 'id' });
    const before = Date.now();
    const { name, argument } = publicationEnd('id', new Map([['/a/b', '/a/b (1)']]));
    expect([name, argument]).toMatchObject(['keepPublishedNames', { id: 'id', renamed: '[["/a/b","/a/b (1)"]]' }]);
    const { endsAt } = argument as { readonly endsAt: number };
    expect(endsAt - before).toBeGreaterThan(24 * 3_600_000);
    expect(endsAt - before).toBeLessThan(27 * 3_600_000);
  });

  it('take the place of the planned ones in the answer, and leave everything else as it is', () => {
    const long = new LongAnswer(Buffer.from('QUJD'));
    const other = { filePathData: { filePath: '/d/other' }, fileName: 'other' };
    const answer = {
      evidence: [{ filePathData: { filePath: '/d/a' }, fileName: 'a', mimeType: 'x' }, other, { base64Data: { base64Value: long } }],
      text: '/d/a',
      nothing: null,
    };
    const changed = withPaths(answer, new Map([['/d/a', '/d/e/a (1)']]));
    expect(changed).toEqual({
      ...answer,
      evidence: [{ filePathData: { filePath: '/d/e/a (1)' }, fileName: 'a (1)', mimeType: 'x' }, other, answer.evidence[2]],
    });
    expect(changed.evidence[2]).toEqual({ base64Data: { base64Value: long } });
    expect(withPaths(answer, new Map())).toBe(answer);
  });
});
