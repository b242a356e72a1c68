import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import type { DigitalIdentityDescription } from '../../../src/quickstart/digital-identity.ts';
import { codeOf, type ApiAnswer, type Body } from '../../support/api.ts';
import { openssl } from '../../support/openssl.ts';
import { OwnService } from '../../support/own-service.ts';
import type { QuickstartEnvironment } from '../../support/quickstart-environment.ts';
import { signetctlHere } from '../../support/signetctl-here.ts';
import { jsonOf } from '../../support/signetctl.ts';
import { succeeds } from '../../support/succeeds.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { opensslVerifies, partsOf, publicKeyOf } from '../../support/two-d-doc-codes.ts';
import { base64, codeSignature, decoded, expectNoPicture, expectRefusal, openSourceOf, zoneDocuments } from './calls.ts';

const ca = 'FR00';
/** More identities of tenant demo: the curve and the types of each. */
const added = { '0002': { curve: 'P-384', type: '01' }, '0003': { curve: 'P-521', type: '03' } } as const;
type Added = keyof typeof added;

let service: OwnService;
let identity: DigitalIdentityDescription;
const passwords = new Map<string, string>();
const publicKeys = new Map<string, string>();

beforeAll(async () => {
  service = await OwnService.start(addIdentities);
  const { twoDDoc } = service.description;
  if (twoDDoc === undefined) throw new Error('the quickstart has an identity');
  identity = twoDDoc;
  passwords.set('0001', identity.password);
  publicKeys.set('0001', publicKeyOf(readFileSync(identity.certificate, 'utf8')));
});
afterAll(async () => {
  await service.remove();
});

interface Settings {
  readonly tenants: { readonly demo: { readonly twoDDoc: { readonly identities: object[] } } };
}

/** Adds the identities as an operator does, with certificates of the quickstart's CA for tests. */
async function addIdentities(environment: QuickstartEnvironment): Promise<void> {
  const { configFile, twoDDoc } = environment.description();
  const directory = dirname(twoDDoc?.certificate ?? '');
  const settings = parse(readFileSync(configFile, 'utf8')) as Settings;
  for (const [certificateId, { curve, type }] of Object.entries(added)) {
    const who = ['--tenant', 'demo', '--ca', ca, '--certificate-id', certificateId, '--organization', 'Example', '--siren', '732829320'];
    const args = ['--config', configFile, '--json', 'twoddoc', 'identity', 'add', ...who, '--curve', curve, '--directory', directory];
    const { request, password } = jsonOf(await signetctlHere(args)) as { request: string; password: string };
    const certificate = join(directory, `${ca}-${certificateId}.pem`);
    const authority = ['-CA', join(directory, `${ca}.pem`), '-CAkey', join(directory, `${ca}.key`)];
    openssl(['x509', '-req', '-in', request, ...authority, '-days', '2', '-out', certificate]);
    settings.tenants.demo.twoDDoc.identities.push({ ca, certificateId, certificate, types: [type] });
    passwords.set(certificateId, password);
    publicKeys.set(certificateId, publicKeyOf(readFileSync(certificate, 'utf8')));
  }
  writeFileSync(configFile, stringify(settings));
}

async function post(operation: string, body: object, more: Parameters<OwnService['post']>[3] = {}): Promise<ApiAnswer> {
  const text = await service.post(operation, body, 'app', more);
  const answer = JSON.parse(text) as Body;
  return { status: 'status' in answer ? Number(answer['status']) : 200, headers: {}, text, body: answer };
}

const image = async (image2DDocSource: object, other: object = {}, headers: Record<string, string> = {}): Promise<ApiAnswer> =>
  post('creator/createImage2DDoc', { image2DDocSource, ...other }, { root: '/doc2d', headers });
const zone = async (source: string): Promise<ApiAnswer> =>
  post('creator/createDataZone', { dataZoneSource: { source: base64(source) } }, { root: '/doc2d' });
const fromZone = (dataZone: Uint8Array, password = identity.password): object => ({
  dataZoneSignatureSource: { password, dataZone: base64(dataZone) },
});
const named = (certificateId: string): string =>
  openSourceOf('01').replace('<header>', `<header><certificate>${certificateId}</certificate>`);
const zoneOf = async (source: string): Promise<Buffer> => decoded(succeeds(await zone(source)).body['dataZone']);

/** What checkKey says without a secret: attempts that are left, and the state. */
async function standing(): Promise<unknown[]> {
  const { body } = succeeds(await post('pki/checkKey', { keyReference: { reference: identity.keyReference } }));
  return [body['state'], body['remainingAttempts']];
}

interface Written {
  readonly kind: string;
  readonly [member: string]: unknown;
}

const auditText = (): string => {
  const directory = join(service.environment.directory, 'audit');
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('');
};
const lastRequest = (): Written | undefined =>
  auditText()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Written)
    .findLast(({ kind }) => kind === 'request');

describe('several identities of a tenant', () => {
  it('leave identifiers that fit more than one to the source', async () => {
    expectRefusal(await zone(openSourceOf('01')), '1/105', /several digital identities may: FR00 0001, FR00 0002/);
    expectNoPicture(
      await image({ dataZoneSignatureSource: { password: 'x', dataZoneSource: { source: base64(openSourceOf('01')) } } }),
      '1/105',
      /several/,
    );
    for (const certificateId of ['0001', '0002'])
      expect((await zoneOf(named(certificateId))).toString('latin1')).toContain(ca + certificateId);
    // One alone may sign these.
    expect((await zoneOf(openSourceOf('03'))).toString('latin1')).toContain('FR000003');
    expect((await zoneOf(openSourceOf('A0'))).toString('latin1')).toContain('FR000001');
  });

  it.each(Object.keys(added) as Added[])('sign with the curve of each, %s, and with its own password alone', async (certificateId) => {
    const { type } = added[certificateId];
    const source = type === '01' ? named(certificateId) : openSourceOf(type);
    const given = (password = ''): object => ({ dataZoneSignatureSource: { password, dataZoneSource: { source: base64(source) } } });
    const { body } = succeeds(await image(given(passwords.get(certificateId))));
    const { dmtxread = Buffer.alloc(0), zxing } = await readByOthers(decoded(body['image']));
    expect(zxing).toEqual(dmtxread);
    const code = partsOf(dmtxread);
    expect(code.signatureText).toHaveLength({ '0002': 154, '0003': 212 }[certificateId]);
    expect(opensslVerifies(code, publicKeys.get(certificateId) ?? '')).toBe(true);
    succeeds(await image({ signedCode: base64(dmtxread) }));
    expectNoPicture(await image(given(identity.password)), '2/202');
    succeeds(await image(given(passwords.get(certificateId))));
  });
});

describe('the record of a request', () => {
  it('of createImage2DDoc names key, digest and outcome, and has neither password nor content', async () => {
    const signed = await zoneOf(named('0001'));
    succeeds(await image(fromZone(signed), { requestID: 'order 4711' }));
    const record = {
      ...{ client: 'app', tenant: 'demo', operation: 'creator/createImage2DDoc', requestID: 'order 4711', key: identity.keyReference },
      ...{ digests: [`sha256:${createHash('sha256').update(signed).digest('hex')}`], major: 0, minor: 0 },
    };
    expect(lastRequest()).toEqual(expect.objectContaining(record));
    expectNoPicture(await image(fromZone(signed, 'a wrong password'), { requestID: 'order 4711' }), '2/202');
    expect(lastRequest()).toEqual(expect.objectContaining({ ...record, major: 2, minor: 202 }));
    succeeds(await image(fromZone(signed)));
  });

  it('of sign is like those of other signatures', async () => {
    const signed = [await zoneOf(named('0001')), await zoneOf(openSourceOf('A0'))];
    const keyReference = { reference: identity.keyReference, password: identity.password };
    const body = { keyReference, parameters: codeSignature(), inputDocuments: zoneDocuments(...signed) };
    succeeds(await post('signature/sign', body));
    expect(lastRequest()).toEqual(
      expect.objectContaining({
        ...{ operation: 'signature/sign', key: identity.keyReference, major: 0, minor: 0 },
        digests: signed.map((bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`),
      }),
    );
  });

  it('of createDataZone names no key', async () => {
    await zoneOf(named('0001'));
    const record = lastRequest();
    expect(record).toEqual(expect.objectContaining({ client: 'app', operation: 'creator/createDataZone', major: 0, minor: 0 }));
    expect(record?.['key']).toBeUndefined();
  });

  it('has no password and nothing of a zone, nor has the state store', async () => {
    const signed = await zoneOf(named('0001'));
    succeeds(await image(fromZone(signed)));
    const { directory } = service.environment;
    const stores = readdirSync(directory).filter((name) => name.startsWith('state.sqlite'));
    const texts = [auditText(), ...stores.map((name) => readFileSync(join(directory, name), 'latin1'))];
    expect(texts.join('').includes(identity.keyReference)).toBe(true);
    for (const secret of [
      ...passwords.values(),
      'a wrong password',
      signed.toString('latin1').slice(20),
      base64(signed),
      base64(named('0001')),
    ])
      for (const text of texts) expect(text.includes(secret)).toBe(false);
  });
});

describe('attempts on the key of an identity', () => {
  it('are counted where the password reaches the token, and nothing else is', async () => {
    const signed = await zoneOf(named('0001'));
    expect(await standing()).toEqual(['ACTIVE', 5]);
    expectNoPicture(await image(fromZone(signed, 'wrong'), { requestID: 'r' }), '2/202');
    expect(await standing()).toEqual(['ACTIVE', 4]);
    const text = signed.toString('latin1');
    // What is refused before, in the order of the checks, although the password is wrong.
    const wrong = (zoneText: string): object => fromZone(Buffer.from(zoneText, 'latin1'), 'wrong');
    expectNoPicture(await image(wrong(text.replace('26FR', '26ZZZ'))), '1/105');
    expectNoPicture(await image(wrong(text.replace('FR000001', 'FR009999'))), '2/261');
    expectNoPicture(await image(wrong(text.replace('0101FR', '0301FR'))), '1/105');
    expectNoPicture(await image(wrong(text), { textOptions: { value: 'A'.repeat(65) } }), '1/102');
    expectNoPicture(await image(wrong(text), { more: 1 }), '1/102');
    expectNoPicture(await image({ dataZoneSignatureSource: { password: 'wrong' } }), '1/103');
    const keyReference = { reference: identity.keyReference, password: 'wrong' };
    const checked = codeSignature({ checkDigitalIdentity: true });
    const ask = async (parameters: object, content: string): Promise<ApiAnswer> =>
      post('signature/sign', { keyReference, parameters, inputDocuments: zoneDocuments(Buffer.from(content, 'latin1')) });
    expectRefusal(await ask(checked, text.replace('26FR', '26ZZZ')), '1/105');
    expectRefusal(await ask(checked, text.replace('FR000001', 'FR009999')), '2/261');
    expectRefusal(await ask({ rawSignature: {} }, text), '1/104');
    expect(await standing()).toEqual(['ACTIVE', 4]);
    expectRefusal(await ask(checked, text), '2/202');
    expect(await standing()).toEqual(['ACTIVE', 3]);
    // A code that is drawn uses no key, and a signature resets the counter.
    expectNoPicture(await image({ signedCode: base64(`${text}\u001f${'A'.repeat(103)}`) }), '1/105');
    expect(await standing()).toEqual(['ACTIVE', 3]);
    succeeds(await image(fromZone(signed)));
    expect(await standing()).toEqual(['ACTIVE', 5]);
  });

  it('are counted once where a request is repeated with its Idempotency-Key', async () => {
    const signed = await zoneOf(named('0001'));
    const headers = { 'Idempotency-Key': randomUUID() };
    const first = await image(fromZone(signed, 'wrong'), {}, headers);
    expectNoPicture(first, '2/202');
    for (let time = 0; time < 6; time += 1) expect((await image(fromZone(signed, 'wrong'), {}, headers)).text).toBe(first.text);
    expect(await standing()).toEqual(['ACTIVE', 4]);
    succeeds(await image(fromZone(signed)));
  });

  it('that come at the same time are five', async () => {
    const signed = await zoneOf(named('0001'));
    const guesses = await Promise.all(Array.from({ length: 12 }, async (_, index) => image(fromZone(signed, `guess ${index}`))));
    const codes = guesses.map((answer) => codeOf(answer));
    for (const guess of guesses) expectNoPicture(guess, codeOf(guess));
    expect(codes.toSorted()).toEqual([...Array.from({ length: 5 }, () => '2/202'), ...Array.from({ length: 7 }, () => '2/203')]);
    await unlock();
    succeeds(await image(fromZone(signed)));
  });

  async function unlock(): Promise<void> {
    const args = ['twoddoc', 'identity', 'unlock', '--tenant', 'demo', '--ca', ca, '--certificate-id', '0001'];
    expect((await signetctlHere(['--config', service.description.configFile, ...args])).status).toBe(0);
  }

  it('lock it, which is answered before the password is looked at, until an operator unlocks it', async () => {
    const signed = await zoneOf(named('0001'));
    for (let left = 4; left >= 0; left -= 1) {
      expectNoPicture(await image(fromZone(signed, 'wrong')), '2/202');
      if (left > 0) expect(await standing()).toEqual(['ACTIVE', left]);
    }
    expect((await standing())[0]).toBe('LOCKED');
    for (const password of [identity.password, 'wrong']) {
      const locked = await image(fromZone(signed, password), { requestID: 'locked' });
      expectNoPicture(locked, '2/203');
      expect(locked.body['requestID']).toBe('locked');
      const body = { parameters: codeSignature(), inputDocuments: zoneDocuments(signed) };
      expectRefusal(await post('signature/sign', { ...body, keyReference: { reference: identity.keyReference, password } }), '2/203');
    }
    // The zone names the key, so it is read first; `sign` is told the key.
    expectNoPicture(await image(fromZone(Buffer.from('DC04'))), '1/105');
    const keyReference = { reference: identity.keyReference };
    const broken = { parameters: codeSignature(), inputDocuments: zoneDocuments(Buffer.from('DC04')) };
    expectRefusal(await post('signature/sign', { ...broken, keyReference }), '2/203');
    // The other identities are not concerned.
    const source = { source: base64(named('0002')) };
    succeeds(await image({ dataZoneSignatureSource: { password: passwords.get('0002'), dataZoneSource: source } }));
    const headers = { 'Idempotency-Key': randomUUID() };
    expectNoPicture(await image(fromZone(signed), {}, headers), '2/203');
    await unlock();
    // That a key is locked is no outcome that is kept.
    succeeds(await image(fromZone(signed), {}, headers));
    expect(await standing()).toEqual(['ACTIVE', 5]);
  });
});
