import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { contentDocument, certificateRequest, textOf, type Body } from '../support/api.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { signetctl } from '../support/signetctl.ts';

const environment = quickstartEnvironment();
beforeAll(() => {
  environment.prepare();
  environment.start();
});
afterAll(() => {
  environment.remove();
});

/** Changes the tenant demo and the gateways, and has the service take it over. */
async function reconfigure(tenant: object, messages: object = {}): Promise<void> {
  const { configFile } = environment.description();
  const config = parse(readFileSync(configFile, 'utf8')) as { tenants: { demo: object }; messages: { sms: object; email: object } };
  config.tenants.demo = { ...config.tenants.demo, ...tenant };
  config.messages = { ...config.messages, ...messages };
  writeFileSync(configFile, stringify(config));
  const { status, stderr } = await signetctl(['--config', configFile, 'reload']);
  expect([status, stderr]).toEqual([0, '']);
}

async function call(operation: string, body: unknown, headers: Record<string, string> = {}): Promise<Body> {
  const { baseUrl, signRoot, caCertificate, clientCertificate, clientKey } = environment.description();
  const tls = { ca: readFileSync(caCertificate), cert: readFileSync(clientCertificate), key: readFileSync(clientKey) };
  return new Promise((resolve, reject) => {
    const options = { ...tls, agent: false, method: 'POST', headers: { 'Content-Type': 'application/json', ...headers } };
    const sent = request(`${baseUrl}${signRoot}/${operation}`, options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')) as Body);
      });
    });
    sent.once('error', reject);
    sent.end(JSON.stringify(body));
  });
}

const codeOf = ({ result }: Body): string =>
  `${textOf(result?.['majorCode'] ?? result?.['resultMajor'])}/${textOf(result?.['minorCode'] ?? result?.['resultMinor'])}`;

/** Texts that arrived, each with its channel and recipient. */
function arrived(): string[] {
  const { outboxDirectory = '' } = environment.description();
  return readdirSync(outboxDirectory)
    .filter((name) => name.endsWith('.json'))
    .toSorted()
    .map((name) => {
      const { channel, to, text } = JSON.parse(readFileSync(join(outboxDirectory, name), 'utf8')) as Record<string, string>;
      return `${channel} ${to} ${text}`;
    });
}

async function newOtpKey(subscriber: object): Promise<string> {
  const subject = { country: 'FR', commonName: 'Zoe Martin' };
  const body = await call(
    'pki/createCertificate',
    certificateRequest({ signatureActivationProtocol: 'OTP', PKCS10: { attributes: { subscriber }, subject } }),
  );
  return textOf(body['keyReference']?.['reference']);
}

const digest = [{ id: 'd', digestAlgOID: '2.16.840.1.101.3.4.2.1', digestValue: 'LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=' }];
const otpRequest = (keyReference: string): object => ({ action: 'SIGN', keyReference, signerData: { digest } });
const signRequest = (reference: string, password: string): object => ({
  keyReference: { reference, password },
  parameters: { rawSignature: {} },
  inputDocuments: [contentDocument('hello')],
});

describe('a one-time password of a tenant with otpDelivery MESSAGE', () => {
  it('reaches the subscriber in the words of the tenant, is not answered, and signs', async () => {
    await reconfigure({ otpDelivery: 'MESSAGE', otpText: 'demo: {{otp}} is your code' });
    const key = await newOtpKey({ phoneNumber: '+33612345678' });
    const answer = await call('pki/sendOTP', otpRequest(key));
    expect(codeOf(answer)).toBe('0/0');
    expect(Object.keys(answer)).toEqual(['result']);
    const otp = /^sms \+33612345678 demo: (\d{8}) is your code$/.exec(arrived().at(-1) ?? '')?.[1] ?? '';
    expect(otp).toMatch(/^\d{8}$/);
    expect(codeOf(await call('signature/sign', signRequest(key, otp)))).toBe('0/0');
  });

  it('is sent once for a request that is repeated with its Idempotency-Key', async () => {
    const key = await newOtpKey({ phoneNumber: '+33612345679' });
    const headers = { 'Idempotency-Key': randomUUID() };
    const before = arrived().length;
    const answers = [await call('pki/sendOTP', otpRequest(key), headers), await call('pki/sendOTP', otpRequest(key), headers)];
    expect(answers.map(codeOf)).toEqual(['0/0', '0/0']);
    expect(arrived().slice(before)).toHaveLength(1);
  });

  it('is refused with 2/251 where the subscriber has no address', async () => {
    const key = await newOtpKey({});
    const answer = await call('pki/sendOTP', otpRequest(key));
    expect(codeOf(answer)).toBe('2/251');
    expect(Object.keys(answer)).toEqual(['result']);
  });

  it('goes by e-mail while the SMS gateway refuses; what no gateway took replaces nothing', async () => {
    const { configFile } = environment.description();
    const { messages } = parse(readFileSync(configFile, 'utf8')) as { messages: { sms: { url: string }; email: object } };
    const nowhere = { ...messages.sms, url: messages.sms.url.replace('/messages', '/nowhere') };
    await reconfigure({}, { sms: nowhere });
    const key = await newOtpKey({ phoneNumber: '+33612345670', emailAddress: 'zoe@example.org' });
    expect(codeOf(await call('pki/sendOTP', otpRequest(key)))).toBe('0/0');
    const otp = /^email zoe@example\.org demo: (\d{8}) /.exec(arrived().at(-1) ?? '')?.[1] ?? '';
    expect(otp).toMatch(/^\d{8}$/);

    await reconfigure({}, { sms: nowhere, email: { ...messages.email, port: 1 } });
    const answer = await call('pki/sendOTP', otpRequest(key));
    expect([codeOf(answer), Object.keys(answer)]).toEqual(['2/251', ['result']]);
    // The older one, which nobody replaced, is good.
    expect(codeOf(await call('signature/sign', signRequest(key, otp)))).toBe('0/0');
    const log = readFileSync(join(environment.directory, 'daemon.log'), 'utf8');
    expect(log).toContain('a gateway did not accept a message');
    expect(log).not.toContain(otp);
  });

  it('is not sent where no gateway is configured: the configuration is refused', async () => {
    const { configFile } = environment.description();
    const config = parse(readFileSync(configFile, 'utf8')) as Record<string, unknown>;
    delete config['messages'];
    const other = `${configFile}.without.yaml`;
    writeFileSync(other, stringify(config));
    const { status, stderr } = await signetctl(['--config', other, 'config', 'check']);
    expect(status).not.toBe(0);
    expect(stderr).toContain('tenants.demo.otpDelivery: MESSAGE requires a gateway, but the section messages is missing');
  });
});
