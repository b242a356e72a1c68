import type { IncomingMessage } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import type { SmsConfig } from '../../src/config/sms-config.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { SmsGateway } from '../../src/messages/sms-gateway.ts';
import { asRequest } from '../../src/telemetry/current-request.ts';
import { ScratchAuthority } from '../support/scratch-authority.ts';
import { answerJson, bodyOf, StandIns } from './stand-ins.ts';

const standIns = new StandIns();
afterAll(async () => standIns.remove());
const gatewayTo = (config: SmsConfig): SmsGateway => new SmsGateway(config, standIns.threads);

interface Got {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** A gateway that keeps what it gets and answers always the same. */
async function keeping(status: number, body: unknown): Promise<{ origin: string; got: Got[] }> {
  const got: Got[] = [];
  const origin = await standIns.http((request, response) => {
    void bodyOf(request).then((text) => {
      got.push({ method: request.method, url: request.url, headers: request.headers, body: text });
      answerJson(response, status, body);
    });
  });
  return { origin, got };
}

const phone = '+33612345678';

describe('an SMS', () => {
  it('goes out as JSON, and the identifier and the code of the gateway are read', async () => {
    const { origin, got } = await keeping(202, { id: 'm-17', status: 'queued' });
    const text = 'Zoé said "{{secret.token}}" \\ \n and </x>';
    const { accepted, answer } = await gatewayTo(standIns.smsConfig(origin)).send(phone, text);
    expect(accepted).toBe(true);
    expect(answer).toMatchObject({ responseCode: 'queued', messageID: 'm-17', url: `${origin}/messages` });
    expect(got[0]).toMatchObject({ method: 'POST', url: '/messages' });
    expect(got[0]?.headers).toMatchObject({ 'content-type': 'application/json', authorization: 'Bearer tok-4711/+ =' });
    expect(JSON.parse(got[0]?.body ?? '')).toEqual({ to: phone, text, reference: answer.ID });
  });

  it('carries on the trace of the request, unless the configuration has a header of that name', async () => {
    const { origin, got } = await keeping(202, { id: 'm-17', status: 'queued' });
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
    const caller = { traceparent: `00-${trace}-00f067aa0ba902b7-01`, tracestate: 'a=1' };
    const own = standIns.smsConfig(origin, { headers: { Traceparent: 'own' } });
    for (const config of [standIns.smsConfig(origin), own]) await asRequest(caller, async () => gatewayTo(config).send(phone, 'text'));
    await gatewayTo(standIns.smsConfig(origin)).send(phone, 'text');
    expect(got.map(({ headers }) => headers['traceparent'])).toEqual([
      expect.stringMatching(new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`)),
      'own',
      undefined,
    ]);
    expect(got[0]?.headers['tracestate']).toBe('a=1');
  });

  it('is not sent if the gateway switches to another protocol, which Node does not report by itself', async () => {
    const origin = await standIns.http((request) => {
      request.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n');
    });
    const { accepted, answer } = await gatewayTo(standIns.smsConfig(origin)).send(phone, 'text');
    expect(accepted).toBe(false);
    expect(answer.freeText).toBe('the gateway answered with status 101');
  });

  it('goes out as a form with basic authentication, to a path with an account', async () => {
    const { origin, got } = await keeping(201, { sid: 'SM1', status: 'accepted' });
    const config = standIns.smsConfig(origin, {
      url: `${origin}/Accounts/AC1/Messages.json`,
      headers: {},
      basicAuthentication: { user: 'AC1', password: standIns.secret('basic', 'p:w') },
      body: { form: { To: '{{phoneNumber}}', From: '+15005550006', Body: '{{text}}' } },
      answer: { messageId: { jsonPointer: '/sid' } },
    });
    expect((await gatewayTo(config).send(phone, 'a&b=c d+é')).answer).toMatchObject({ responseCode: '201', messageID: 'SM1' });
    expect(got[0]?.headers.authorization).toBe(`Basic ${Buffer.from('AC1:p:w').toString('base64')}`);
    expect(Object.fromEntries(new URLSearchParams(got[0]?.body))).toEqual({ To: phone, From: '+15005550006', Body: 'a&b=c d+é' });
  });

  it('goes out as a query, and an answer that is plain text is read by patterns', async () => {
    const got: string[] = [];
    const origin = await standIns.http((request, response) => {
      got.push(request.url ?? '');
      response.end('ERR=0; ID=4711\r\n');
    });
    const config = standIns.smsConfig(origin, {
      method: 'GET',
      url: `${origin}/send/{{phoneDigits}}?key={{secret.token}}&text={{text}}`,
      headers: {},
      body: undefined,
      answer: { messageId: { pattern: 'ID=(\\d+)' }, code: { pattern: 'ERR=(\\d+)' }, codes: ['0'] },
    });
    const { accepted, answer } = await gatewayTo(config).send(phone, 'a&key=b#c');
    expect(accepted).toBe(true);
    expect(answer).toMatchObject({ responseCode: '0', messageID: '4711', freeText: 'ERR=0; ID=4711', url: `${origin}/send/{phoneDigits}` });
    const url = new URL(got[0] ?? '', origin);
    expect(url.pathname).toBe('/send/33612345678');
    expect([...url.searchParams]).toEqual([
      ['key', 'tok-4711/+ ='],
      ['text', 'a&key=b#c'],
    ]);
  });
});

describe('a gateway that refuses', () => {
  it.each([
    [400, { status: 'refused', reason: 'unknown number' }, 'refused'],
    [401, { status: 'refused' }, 'refused'],
    [429, { status: 'too many' }, 'too many'],
    [500, {}, '500'],
    [200, { status: 'rejected' }, 'rejected'],
    [200, {}, '200'],
    [204, undefined, '204'],
    [200, 'queued', '200'],
  ])('with %d %j is a failure with the code %s', async (status, body, code) => {
    const { origin } = await keeping(status, body);
    const { accepted, answer, outcome } = await gatewayTo(standIns.smsConfig(origin)).send(phone, 'a text');
    expect(accepted).toBe(false);
    expect(answer.responseCode).toBe(code);
    expect(outcome).toBe(`HTTP ${status}`);
  });

  it('by a redirect is not followed', async () => {
    const elsewhere = await keeping(202, { id: 'm', status: 'queued' });
    const origin = await standIns.http((_request, response) => {
      response.writeHead(307, { Location: `${elsewhere.origin}/messages` }).end();
    });
    expect((await gatewayTo(standIns.smsConfig(origin)).send(phone, 'x')).answer.responseCode).toBe('307');
    expect(elsewhere.got).toHaveLength(0);
  });

  it('and repeats what it was sent does not show its credentials to callers', async () => {
    const origin = await standIns.http((request, response) => {
      const { authorization = '' } = request.headers;
      response.writeHead(400).end(`${authorization} ${encodeURIComponent('tok-4711/+ =')} \u0007 ${'é'.repeat(1000)}`);
    });
    const { freeText = '' } = (await gatewayTo(standIns.smsConfig(origin)).send(phone, 'x')).answer;
    expect(freeText).toMatch(/^Bearer … … é+…$/);
    expect(freeText.length).toBeLessThanOrEqual(300);
  });
});

describe('a gateway that is not to be trusted', () => {
  it.each(['another authority', 'another host'])('with a certificate of %s gets nothing', async (what) => {
    const issuer = what === 'another host' ? standIns.authority : new ScratchAuthority(standIns.directory, 'stranger');
    const files = issuer.issue('x', {
      extendedKeyUsage: 'serverAuth',
      subjectAltName: what === 'another host' ? 'DNS:other.example' : 'IP:127.0.0.1',
    });
    let asked = false;
    const origin = await standIns.http(
      (_request, response) => {
        asked = true;
        response.end();
      },
      { files },
    );
    const { accepted, answer } = await gatewayTo(standIns.smsConfig(origin)).send(phone, 'x');
    expect(accepted).toBe(false);
    expect(answer).not.toHaveProperty('responseCode');
    expect(answer.freeText).toMatch(/certificate|altnames/i);
    expect(asked).toBe(false);
  });

  it('is spoken to without TLS on this machine', async () => {
    const origin = await standIns.http(
      (_request, response) => {
        answerJson(response, 200, { status: 'queued' });
      },
      { plain: true },
    );
    expect((await gatewayTo(standIns.smsConfig(origin)).send(phone, 'x')).accepted).toBe(true);
  });
});

describe('a faulty gateway', () => {
  const quick = { totalTimeoutSeconds: 1, answerMaxBytes: 1000 };

  it('that is silent is given up in time', async () => {
    const origin = await standIns.http(() => undefined);
    const { accepted, answer, outcome } = await gatewayTo(standIns.smsConfig(origin, quick)).send(phone, 'x');
    expect({ accepted, outcome }).toEqual({ accepted: false, outcome: 'no answer' });
    expect(answer.freeText).toBe('no answer within 1 s');
  });

  it('that sends its answer byte by byte is given up in time', async () => {
    const origin = await standIns.http((_request, response) => {
      const more = setInterval(() => response.write(' '), 50);
      response.on('close', () => {
        clearInterval(more);
      });
    });
    expect((await gatewayTo(standIns.smsConfig(origin, quick)).send(phone, 'x')).answer.freeText).toBe('no answer within 1 s');
  });

  it('that answers without end is cut off', async () => {
    const origin = await standIns.http((_request, response) => {
      const flood = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', flood);
      flood();
    });
    const { answer } = await gatewayTo(standIns.smsConfig(origin, { ...quick, totalTimeoutSeconds: 10 })).send(phone, 'x');
    expect(answer.freeText).toBe('the answer has more than 1000 bytes');
  });

  it.each([
    '\u0000\u0001garbage\r\n\r\n',
    '',
    'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\ncut',
    `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
  ])('that does not answer with HTTP (%#) is a failure', async (bytes) => {
    const port = await standIns.tcp((socket) => {
      socket.once('data', () => socket.end(bytes));
    });
    const { accepted, answer } = await gatewayTo(standIns.smsConfig(`http://127.0.0.1:${port}`)).send(phone, 'x');
    expect(accepted).toBe(false);
    expect(answer.freeText).toBeTruthy();
  });

  it('that answers with bytes that are not text is refused, and its answer does no harm', async () => {
    const origin = await standIns.http((_request, response) => {
      response.end(Buffer.from([0x80, 0xff, 0x1b, 0x5b, 0x32, 0x4a, 0x00]));
    });
    const { accepted, answer } = await gatewayTo(standIns.smsConfig(origin)).send(phone, 'x');
    expect(accepted).toBe(false);
    expect(answer.freeText ?? '').not.toMatch(/\p{Cc}/u);
  });

  it('is a failure if nobody listens', async () => {
    const port = await standIns.tcp(() => undefined);
    await standIns.close(port);
    const { answer, outcome } = await gatewayTo(standIns.smsConfig(`http://127.0.0.1:${port}`)).send(phone, 'x');
    expect(answer.freeText).toBe('no connection (ECONNREFUSED)');
    expect(outcome).toBe(`no answer: connect ECONNREFUSED 127.0.0.1:${port}`);
  });
});

describe('a secret that is invalid at its place in the template', () => {
  it.each([
    ['a line break in a header', { secrets: 'a\r\nX-Evil: 1' }],
    ['a letter that is not ASCII in a header', { secrets: 'clé' }],
  ])('is a fault of the configuration: %s', (_what, { secrets }) => {
    const config = standIns.smsConfig('https://127.0.0.1:1', { secrets: { token: standIns.secret('odd', secrets) } });
    expect(() => gatewayTo(config)).toThrow(ConfigError);
  });
});
