import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { joinCode, splitCode } from '../../src/twoddoc/code/code.ts';
import { signedDocument } from '../../src/twoddoc/code/signed-document.ts';
import { pictureOf } from '../../src/twoddoc/picture/picture.ts';
import { symbolOf } from '../../src/twoddoc/symbol/symbol.ts';
import { openssl } from '../support/openssl.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import { jsonOf, type CommandRun } from '../support/signetctl.ts';
import { usualPicture } from '../support/usual-picture.ts';

interface Sample {
  readonly id: string;
  readonly version: string;
  readonly certificate: string | null;
  readonly verifies: boolean;
  readonly dataZone: string;
  readonly payloadBase64: string;
}

interface Decoded {
  readonly header: { readonly id: string; readonly value: string; readonly raw: string }[];
  readonly message: {
    readonly id: string;
    readonly name: string;
    readonly value: string;
    readonly raw: string;
    readonly truncated: boolean;
  }[];
  readonly annex: object[] | null;
  readonly unread: string | null;
  readonly brokenRule: string | null;
  readonly signature: { readonly curve: string; readonly verified: boolean | null };
  readonly certificate: { readonly issuer: string; readonly subject: string; readonly types: string[]; readonly fits: boolean } | null;
}

const { certificates, samples } = JSON.parse(readFileSync('test/fixtures/2d-doc/samples.json', 'utf8')) as {
  readonly certificates: Record<string, { readonly pem: string }>;
  readonly samples: readonly Sample[];
};
const printed = 'test/twoddoc/data/printed-symbols';
const proof = sampleOf('ants326-204-094');
const pasted = proof.toString('latin1');

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-decode-'));
  for (const [name, { pem }] of Object.entries(certificates)) writeFileSync(certificateOf(name), pem);
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

function sampleOf(id: string): Buffer {
  return Buffer.from(samples.find((one) => one.id === id)?.payloadBase64 ?? '', 'base64');
}
function certificateOf(name: string): string {
  return join(directory, `${name.replace('/', '-')}.pem`);
}
function written(name: string, content: string | Uint8Array): string {
  const file = join(directory, name);
  writeFileSync(file, content);
  return file;
}

/** No configuration is at the path: none is needed. */
const run = async (...args: string[]): Promise<CommandRun> =>
  signetctlHere(['--config', join(directory, 'none.yaml'), 'twoddoc', 'decode', ...args]);
const decoded = async (...args: string[]): Promise<Decoded> => jsonOf(await run('--json', ...args)) as Decoded;
const verify = async (input: string): Promise<CommandRun> => run(input, '--certificate', certificateOf('FR00/0001'));

/** Runs the built program. */
function piped(input: string | Uint8Array, ...args: string[]): CommandRun {
  const command = ['--disable-sigusr1', 'dist/cli.js', '--config', join(directory, 'none.yaml'), 'twoddoc', 'decode', '-', ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { input, encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('codes of the specification', () => {
  it.each(samples.filter(({ certificate }) => certificate !== null))('$id is shown, and verified with its certificate', async (sample) => {
    const file = written(sample.id, Buffer.from(sample.payloadBase64, 'base64'));
    const name = sample.certificate ?? '';
    const shown = await decoded(file, '--certificate', certificateOf(name));
    expect(shown.signature).toEqual({ curve: 'P-256', verified: sample.verifies });
    expect(shown.header[0]).toMatchObject({ id: 'version', raw: sample.version });
    const { issuer, subject } = shown.certificate ?? {};
    expect(`${issuer}/${subject}`).toBe(name);
    // Every byte of the zone is shown.
    const values = shown.message.map(({ id, raw }) => id + raw).join('');
    const header = shown.header.map(({ raw }) => raw).join('');
    expect(`DC${header}${values}`).toBe(sample.dataZone.replaceAll(/<[GR]S>/g, ''));
  });

  it('are read from their pictures', async () => {
    const picture = await verify(join(printed, '204-094.png'));
    expect(picture.stdout).toBe((await verify(written('proof.bin', proof))).stdout);
    expect([picture.status, picture.stderr]).toEqual([0, '']);
    expect(picture.stdout).toMatch(/^10 {2}Ligne 1 .* MLLE\/SAMPLE\/ANGELA$/m);
    expect(picture.stdout).toMatch(/^document type: +00 \(Document émis/m);
    expect(picture.stdout).toMatch(/^signature: +P-256; verified with the certificate$/m);
    expect(picture.stdout).toMatch(/^rules of the tables: +none is broken$/m);
  });

  it('of version 01 are read from pictures, files and base64, but not from text, which cannot hold their signatures', async () => {
    const first = sampleOf('ants326-214-114');
    const inputs = [join(printed, '214-114.png'), written('first.bin', first), first.toString('base64')];
    for (const input of inputs) {
      const { status, stdout } = await verify(input);
      expect([status, stdout]).toEqual([0, expect.stringContaining('verified with the certificate')]);
    }
    const text = await verify(`DC01FR000001125E125C00${'A'.repeat(90)}`);
    expect([text.status, text.stderr]).toEqual([2, expect.stringContaining('version 01 ends with 64 bytes that text cannot hold')]);
  });
});

describe('a code is read', () => {
  const spelled = (gs: string, us: string): string => pasted.replaceAll('\u001d', gs).replaceAll('\u001f', us);

  it.each([
    ['with its separators', pasted],
    ['with their names', spelled('<GS>', '<US>')],
    ['with their names in small letters', spelled('<gs>', '<us>')],
    ['with their numbers', spelled('\\x1d', '\\x1F')],
    ['as signetctl prints it', spelled('\\u{1d}', '\\u{1f}')],
    ['as JSON has it', spelled('\\u001d', '\\u001F')],
    ['with their symbols', spelled('␝', '␟')],
    ['with lines around it', `\n ${pasted}\r\n`],
    ['as base64', proof.toString('base64')],
    ['as base64 in lines', proof.toString('base64').replaceAll(/.{76}/g, '$&\n')],
    ['as base64 of a picture', readFileSync(join(printed, '204-094.png')).toString('base64')],
  ])('from the command line or a file, %s', async (_how, text) => {
    for (const input of [...(text.length < 4000 ? [text] : []), written('text', text), written('marked', `\ufeff${text}`)])
      expect((await verify(input)).status).toBe(0);
  });

  it.each(['PNG', 'TIFF'] as const)('from a %s of signetd', async (format) => {
    const { content } = pictureOf(symbolOf(proof), { ...usualPicture, format });
    expect((await verify(written('picture', content))).status).toBe(0);
    expect((await verify(Buffer.from(content).toString('base64'))).status).toBe(0);
  });

  it('byte by byte from a file that has its separators, also if other bytes look like text', async () => {
    const zone = Buffer.from('DC04FR000001125E125B0001FR10É <GS>');
    const { message } = await decoded(written('bytes', Buffer.concat([joinCode(zone, new Uint8Array(64)), Buffer.from('\n')])));
    expect(message).toMatchObject([{ raw: Buffer.from('É <GS>').toString('latin1') }]);
  });

  it('from the XML of code2DDocSignature', async () => {
    const { zone, signature, curve } = splitCode(proof);
    const xml = signedDocument({ zone, signature, curve, certificate: undefined });
    expect((await verify(written('signed.xml', xml))).status).toBe(0);
    const changed = Buffer.from(zone.map((byte) => (byte === 0x45 ? 0x46 : byte)));
    expect((await verify(written('signed.xml', signedDocument({ zone: changed, signature, curve, certificate: undefined })))).status).toBe(
      7,
    );
  });

  it('from standard input, by the built program', () => {
    for (const input of [proof, `${proof.toString('base64')}\n`, readFileSync(join(printed, '204-094.png'))]) {
      const { status, stdout, stderr } = piped(input, '--certificate', certificateOf('FR00/0001'));
      expect([status, stdout, stderr]).toEqual([0, expect.stringContaining('MLLE/SAMPLE/ANGELA'), '']);
    }
  });

  it('without a certificate, and then it says that the signature was not checked', async () => {
    const { status, stdout, stderr } = await run(pasted);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^signature: +P-256; not checked$/m)]);
    expect(stderr).toContain('the signature was not checked');
    expect(await decoded(pasted)).toMatchObject({ signature: { verified: null }, certificate: null });
  });
});

describe('a code is shown', () => {
  const zone = 'DC04FR000001125E125B0001FR';
  const codeOf = (text: string, annex?: string): string =>
    Buffer.from(
      joinCode(Buffer.from(zone + text, 'latin1'), new Uint8Array(64), annex === undefined ? undefined : Buffer.from(annex)),
    ).toString('latin1');

  it('with its annex apart, as not signed', async () => {
    const code = codeOf('26FR245700010MLLE/SAMPLE', '01ANNEXE\u001d02');
    const [message = '', annex = ''] = (await run(code)).stdout.split('Annex, which is not signed:\n');
    expect(message).toContain('MLLE/SAMPLE');
    expect(annex).toMatch(/^ID +NAME +VALUE\n01 .* ANNEXE\n/);
    expect((await decoded(code)).annex).toMatchObject([{ id: '01', value: 'ANNEXE' }, { id: '02' }]);
  });

  it('if it breaks a rule, which is named, or has what is no field', async () => {
    const broken = await run(codeOf('26FRANCE'));
    expect([broken.status, broken.stdout]).toEqual([0, expect.stringMatching(/^rules of the tables: +broken: /m)]);
    const unread = await decoded(codeOf('26FR??'));
    expect([unread.unread, unread.brokenRule]).toEqual(['??', expect.stringContaining('not a data identifier')]);
    const first = Buffer.concat([Buffer.from('DC01FR000001125E125C0026F'), Buffer.alloc(64, 0xff)]);
    expect((await decoded(first.toString('base64'))).brokenRule).toMatch(/^field 26/);
  });

  it('with values that were cut marked', async () => {
    const { message } = await decoded(codeOf('10MLLE/SAM\u001e26FR'));
    expect(message).toMatchObject([
      { id: '10', value: 'MLLE/SAM…', raw: 'MLLE/SAM', truncated: true },
      { id: '26', truncated: false },
    ]);
  });

  it('without control of the terminal', async () => {
    const code = codeOf('10A\u001b[2J\u009b1m\r\nB\u001d?\u001b', '01\u001b]0;x\u0007');
    for (const args of [[code], ['--json', code], [code, '--certificate', certificateOf('FR03/AV01')]]) {
      const { stdout, stderr } = await run(...args);
      expect((stdout + stderr).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    }
    expect((await run(code)).stdout).toContain('A\\u{1b}[2J\\u{9b}1m\\u{d}\\u{a}B');
  });
});

describe('with a certificate, exit code 7', () => {
  it('says that a code was changed', async () => {
    const { status, stdout, stderr } = await verify(pasted.replace('ANGELA', 'ANGELO'));
    expect([status, stdout]).toEqual([7, expect.stringMatching(/^signature: +P-256; WRONG: it is not a signature of these bytes/m)]);
    expect(stdout).toContain('MLLE/SAMPLE/ANGELO');
    expect(stderr).toContain('the signature does not verify');
  });

  it.each([
    ['on another curve', ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384'], 'is on P-384, but the signature on P-256'],
    ['of another kind', ['-newkey', 'rsa:2048'], 'is not on one of the curves'],
  ])('says that the key is %s', async (_kind, newKey, message) => {
    const certificate = new ScratchAuthority(directory, 'FR00').issue('0001', { newKey, extendedKeyUsage: '' }).certificate;
    const { status, stderr } = await run(pasted, '--certificate', certificate);
    expect([status, stderr]).toEqual([7, expect.stringContaining(message)]);
  });

  it('goes with each member of the header that is not that of the certificate', async () => {
    const { status, stderr } = await run(pasted, '--certificate', certificateOf('FR03/AV01'));
    expect(status).toBe(7);
    expect(stderr.split('\n').slice(1)).toEqual([
      'signetctl: the issuer of the certificate: FR03, but the header has FR00',
      'signetctl: the subject of the certificate: AV01, but the header has 0001',
      'signetctl: the validity of the certificate: 2021-04-22 to 2024-04-21, but the date of the signature is 2012-11-13',
      'signetctl: the types of the certificate: L1, but the header has 00',
      '',
    ]);
  });
});

describe('a certificate that verifies the signature', () => {
  it('but was not valid then gives exit code 1', async () => {
    const sample = sampleOf('ants326-161-010');
    const { status, stdout, stderr } = await verify(written('later', sample));
    expect([status, stdout]).toEqual([1, expect.stringContaining('verified with the certificate')]);
    expect(stderr).toBe(
      'signetctl: the validity of the certificate: 2012-11-01 to 2015-11-01, but the date of the signature is 2020-07-21\n',
    );
  });

  it.each([
    ['P-256', 'sha256'],
    ['P-384', 'sha384'],
    ['P-521', 'sha512'],
  ])('may have a key on %s, and be DER; OpenSSL signed', async (curve, hash) => {
    const files = new ScratchAuthority(directory, 'FR99').issue('ABCD', {
      ...{ newKey: ['-newkey', 'ec', '-pkeyopt', `ec_paramgen_curve:${curve}`], extendedKeyUsage: '' },
      ...{ subjectAltName: 'otherName:1.2.250.1.177.101.0;UTF8:x' },
    });
    const today = Math.floor((Date.now() - Date.UTC(2000, 0, 1)) / 86_400_000);
    const hex = today.toString(16).toUpperCase();
    const signed = `DC04FR99ABCD${hex}${hex}0001FR26FR`;
    const value = openssl(['dgst', `-${hash}`, '-sign', files.key, '-hex', written('zone', signed)]);
    const signature = rawSignature(Buffer.from(value.split('= ')[1]?.trim() ?? '', 'hex'), { 'P-256': 32, 'P-384': 48 }[curve] ?? 66);
    const der = join(directory, 'certificate.der');
    openssl(['x509', '-in', files.certificate, '-outform', 'DER', '-out', der]);
    const code = Buffer.from(joinCode(Buffer.from(signed), signature)).toString('latin1');
    const { status, stdout } = await run(code, '--certificate', der);
    expect([status, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^signature: +${curve}; verified`, 'm'))]);
    expect(stdout).toMatch(/^types of the certificate: +00, as in the header$/m);
  });

  /** r‖s of an ECDSA-Sig-Value. */
  function rawSignature(der: Buffer, width: number): Buffer {
    let at = der[1] === 0x81 ? 3 : 2;
    const number = (): Buffer => {
      const length = der[at + 1] ?? 0;
      const digits = der.subarray(at + 2, at + 2 + length);
      at += 2 + length;
      return Buffer.concat([Buffer.alloc(width), digits]).subarray(-width);
    };
    return Buffer.concat([number(), number()]);
  }
});

describe('exit code 2 and the reason are given for', () => {
  const symbol = Buffer.from(pictureOf(symbolOf(proof), usualPicture).content);

  it.each([
    ['no file', () => join(directory, 'nothing.png'), 'there is no such file, and this is not a 2D-Doc code'],
    ['a directory', () => directory, 'directory'],
    ['a file that is no code', () => written('notes', 'notes'), 'this is not a 2D-Doc code'],
    ['an empty file', () => written('empty', ''), 'this is not a 2D-Doc code'],
    ['a picture that is cut off', () => written('cut.png', symbol.subarray(0, 300)), 'the picture cannot be read'],
    ['other XML', () => written('other.xml', '<signed2DDoc/>'), 'the XML is not a signed 2D-Doc document'],
    ['damaged XML', () => written('cut.xml', '<?xml version="1.0"?><signed2DDoc>'), 'the XML: '],
    ['a long file of lines', () => written('lines', `${'\n'.repeat(2_000_000)}x${'\n'.repeat(2_000_000)}x`), 'this is not a 2D-Doc code'],
    ['a picture of nothing', () => written('not.tiff', 'MM\0*'), 'neither a PNG nor a TIFF'],
    ['a device without an end', () => '/dev/zero', 'longer than 16777216 bytes'],
    ['a text that is longer than a name of a file', () => 'x'.repeat(9000), 'there is no such file'],
    ['a code without its signature', () => pasted.split('\u001f')[0] ?? '', 'the code has no signature'],
    ['a version that is not known', () => pasted.replace('DC02', 'DC07'), 'the version "07" is not supported'],
    ['characters that no code has', () => pasted.replace('ANGELA', '☺'), 'which a 2D-Doc code cannot hold'],
  ])('%s', async (_what, input, reason) => {
    const { status, stdout, stderr } = await run(input());
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining(reason)]);
  });

  it.each([
    ['no file', () => join(directory, 'nothing.pem'), 'no such file'],
    ['no certificate', () => written('text.pem', 'text'), 'not an X.509 certificate in PEM or DER'],
    ['a device without an end', () => '/dev/zero', 'not an X.509 certificate in PEM or DER'],
    ['standard input', () => '-', '--certificate takes a file'],
  ])('--certificate with %s', async (_what, file, reason) => {
    const { status, stderr } = await run(pasted, '--certificate', file());
    expect([status, stderr]).toEqual([2, expect.stringContaining(reason)]);
  });
});
