import type { Socket } from 'node:net';
import * as fc from 'fast-check';
import type { SMTPServerOptions } from 'smtp-server';
import { afterAll, describe, expect, it } from 'vitest';
import type { EmailConfig } from '../../src/config/email-config.ts';
import { EmailGateway } from '../../src/messages/email-gateway.ts';
import { hourMs, ScratchAuthority } from '../support/scratch-authority.ts';
import { StandIns } from './stand-ins.ts';

const standIns = new StandIns();
const gateways: EmailGateway[] = [];
const gatewayTo = (config: EmailConfig): EmailGateway => {
  const gateway = new EmailGateway(config, standIns.threads);
  gateways.push(gateway);
  return gateway;
};
afterAll(async () => {
  for (const gateway of gateways) gateway.close();
  await standIns.remove();
});

const failing = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode });

describe('an e-mail', () => {
  it('goes over STARTTLS with authentication, from the configured sender, and has the identifier that is answered', async () => {
    const { config, mail } = await standIns.smtp();
    const before = Date.now();
    const { accepted, answer } = await gatewayTo({ ...config, fromName: 'Signatures, Example', subject: 'Ünterschrift' }).send(
      'zoe@example.org',
      'Bonjour Zoé,\n.\nà bientôt',
    );
    expect(accepted).toBe(true);
    expect(answer).toMatchObject({ responseCode: '250', url: `smtp://127.0.0.1:${config.port}`, messageID: 'Q1' });
    expect(answer.date).toBeGreaterThanOrEqual(before);
    const [one] = mail;
    expect(one).toMatchObject({ from: 'signatures@example.org', to: ['zoe@example.org'], secure: true, user: 'signetd' });
    expect(one?.email).toMatchObject({
      from: { name: 'Signatures, Example', address: 'signatures@example.org' },
      to: [{ name: '', address: 'zoe@example.org' }],
      subject: 'Ünterschrift',
      messageId: `<${answer.ID}@example.org>`,
      text: 'Bonjour Zoé,\n.\nà bientôt\n',
    });
    expect(one?.raw).toContain('Auto-Submitted: auto-generated');
  });

  it('goes over TLS from the start where that is configured', async () => {
    const { config, mail } = await standIns.smtp({ secure: true });
    expect((await gatewayTo({ ...config, security: 'TLS' }).send('zoe@example.org', 'x')).accepted).toBe(true);
    expect(mail).toHaveLength(1);
  });

  it('uses a connection again for the next message, and makes another when that one has ended', async () => {
    const closed = Promise.withResolvers<void>();
    const { config, mail } = await standIns.smtp({
      socketTimeout: 500,
      onClose: () => {
        closed.resolve();
      },
    });
    const gateway = gatewayTo({ ...config, connectionsMax: 1 });
    for (let count = 0; count < 3; count += 1) expect((await gateway.send('zoe@example.org', 'x')).accepted).toBe(true);
    expect(new Set(mail.map(({ session }) => session)).size).toBe(1);
    await closed.promise;
    expect((await gateway.send('zoe@example.org', 'x')).accepted).toBe(true);
    expect(new Set(mail.map(({ session }) => session)).size).toBe(2);
  });

  it('delivers any text unchanged, and nothing of it becomes a header or a command', async () => {
    const { config, mail } = await standIns.smtp();
    const gateway = gatewayTo(config);
    const line = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        '.',
        '..',
        'From ',
        '\tBcc: eve@example.org',
        'RCPT TO:<eve@example.org>',
        '{{otp}}',
        '=3D',
        'x'.repeat(2000),
        ' ',
        '-- ',
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 6 }), async (lines) => {
        const text = lines.join('\n').replaceAll(/[^\P{Cc}\n\t]/gu, '');
        fc.pre(text !== '');
        mail.length = 0;
        expect((await gateway.send('zoe@example.org', text)).accepted).toBe(true);
        expect(mail).toHaveLength(1);
        expect(mail[0]?.to).toEqual(['zoe@example.org']);
        const names = mail[0]?.email.headers.map(({ key }) => key).toSorted();
        expect(names?.filter((name) => !usualHeaders.has(name))).toEqual([]);
        expect(mail[0]?.email.text?.replaceAll('\r\n', '\n').replace(/\n+$/, '')).toBe(text.replace(/\n+$/, ''));
      }),
      { numRuns: 60 },
    );
  });
});

const usualHeaders = new Set([
  ...['from', 'to', 'subject', 'message-id', 'date', 'mime-version', 'auto-submitted'],
  ...['content-type', 'content-transfer-encoding'],
]);

describe('a server that refuses', () => {
  const refusal = (responseCode: number, text: string): ((...args: [unknown, unknown, (fault: Error) => void]) => void) => {
    return (_what, _session, callback) => {
      callback(failing(responseCode, text));
    };
  };

  it.each<[string, SMTPServerOptions, string, RegExp]>([
    ['the password', { onAuth: refusal(535, 'authentication failed') }, '535', /authentication at the gateway failed/],
    ['a sender', { onMailFrom: refusal(553, 'not this sender') }, '553', /not this sender/],
    ['a recipient for good', { onRcptTo: refusal(550, 'no such mailbox') }, '550', /no such mailbox/],
    ['a recipient for now (greylisting)', { onRcptTo: refusal(451, 'greylisted') }, '451', /greylisted/],
    ['a connection', { onConnect: (_session, callback) => callback(failing(554, 'not from there')) }, '554', /not from there/],
  ])('%s is answered with its code and words', async (_what, options, code, words) => {
    const { config, mail } = await standIns.smtp(options);
    const { accepted, answer, outcome } = await gatewayTo(config).send('zoe@example.org', 'a text');
    expect(accepted).toBe(false);
    expect(answer.responseCode).toBe(code);
    expect(answer.freeText).toMatch(words);
    expect(outcome).toBe(`SMTP ${code}`);
    expect(mail).toHaveLength(0);
  });

  it('a wrong password gets no text', async () => {
    const { config, mail } = await standIns.smtp();
    const { accepted, answer } = await gatewayTo({ ...config, password: standIns.secret('wrong', 'wrong') }).send('zoe@example.org', 'x');
    expect({ accepted, code: answer.responseCode }).toEqual({ accepted: false, code: '535' });
    expect(mail).toHaveLength(0);
  });

  it('the text, after receiving it, is answered in the same way', async () => {
    const { config } = await standIns.smtp({
      onData(stream, _session, callback) {
        stream.resume().once('end', () => {
          callback(failing(552, 'mailbox full'));
        });
      },
    });
    expect((await gatewayTo(config).send('zoe@example.org', 'x')).answer).toMatchObject({
      responseCode: '552',
      freeText: '552 mailbox full',
    });
  });

  it('never returns an answer that contains the password', async () => {
    const { config } = await standIns.smtp({
      onRcptTo(_address, _session, callback) {
        callback(failing(550, `you said right and ${Buffer.from('right').toString('base64')}`));
      },
    });
    expect((await gatewayTo(config).send('zoe@example.org', 'x')).answer.freeText).toBe('550 you said … and …');
  });

  it('never returns the answer of a server that repeats the credentials', async () => {
    const sent = Buffer.from('\0signetd\0right').toString('base64');
    for (const repeated of [sent, sent.slice(0, 16)]) {
      const { config } = await standIns.smtp({
        onAuth(_given, _session, callback) {
          callback(failing(535, `AUTH PLAIN ${repeated} is not known`));
        },
      });
      const { answer } = await gatewayTo(config).send('zoe@example.org', 'x');
      expect(answer).toMatchObject({ responseCode: '535', freeText: 'authentication at the gateway failed' });
    }
    const { config } = await standIns.smtp({
      onRcptTo(_address, _session, callback) {
        callback(failing(550, `after AUTH PLAIN ${sent}`));
      },
    });
    expect((await gatewayTo(config).send('zoe@example.org', 'x')).answer.freeText).toBe('550 after AUTH PLAIN …');
  });

  it('does not block the service with an answer on which a pattern runs for ever', async () => {
    const { config } = await standIns.smtp({
      onData(stream, _session, callback) {
        stream.resume().once('end', () => {
          callback(null, `queued as ${'a'.repeat(2000)}!`);
        });
      },
    });
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 10);
    const { accepted, answer } = await gatewayTo({ ...config, messageIdPattern: 'as ((?:a+)+)$' }).send('zoe@example.org', 'x');
    clearInterval(turning);
    expect({ accepted, messageID: answer.messageID }).toEqual({ accepted: true, messageID: undefined });
    expect(turns).toBeGreaterThan(20);
  });
});

describe('a server that is not to be trusted', () => {
  const stranger = new ScratchAuthority(standIns.directory, 'stranger');
  it.each([
    ['of another authority', stranger.issue('localhost', { extendedKeyUsage: 'serverAuth', subjectAltName: 'DNS:localhost,IP:127.0.0.1' })],
    ['for another host', standIns.authority.issue('other', { extendedKeyUsage: 'serverAuth', subjectAltName: 'DNS:other.example' })],
    [
      'that has expired',
      standIns.authority.issue('old', {
        extendedKeyUsage: 'serverAuth',
        subjectAltName: 'IP:127.0.0.1',
        from: new Date(Date.now() - 2 * hourMs),
        until: new Date(Date.now() - hourMs),
      }),
    ],
  ])('with a certificate %s gets neither password nor text', async (_what, files) => {
    for (const security of ['STARTTLS', 'TLS'] as const) {
      const { config, mail } = await standIns.smtp(
        {
          secure: security === 'TLS',
          onAuth() {
            throw new Error('the password came');
          },
        },
        files,
      );
      const { accepted, answer } = await gatewayTo({ ...config, security }).send('zoe@example.org', 'x');
      expect(accepted).toBe(false);
      expect(answer.responseCode).toBeUndefined();
      expect(answer.freeText).toMatch(/certificate|altnames/i);
      expect(mail).toHaveLength(0);
    }
  });

  it('without STARTTLS gets nothing', async () => {
    const { config, mail } = await standIns.smtp({ hideSTARTTLS: true, allowInsecureAuth: true, disabledCommands: ['STARTTLS'] });
    expect((await gatewayTo(config).send('zoe@example.org', 'x')).accepted).toBe(false);
    expect(mail).toHaveLength(0);
  });

  it('is used without TLS only if configured, and then without authentication', async () => {
    const { config, mail } = await standIns.smtp({ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] });
    const { user: _user, password: _password, ...open } = config;
    expect((await gatewayTo({ ...open, security: 'NONE' }).send('zoe@example.org', 'x')).accepted).toBe(true);
    expect(mail[0]).toMatchObject({ secure: false, to: ['zoe@example.org'] });
  });
});

describe('a faulty server', () => {
  const quick = { connectTimeoutSeconds: 1, replyTimeoutSeconds: 1, totalTimeoutSeconds: 2 };

  it.each<[string, (socket: Socket) => void]>([
    ['says nothing', () => undefined],
    ['speaks garbage', (socket) => socket.end('\u0000\u0001 hello?\r\nno\r\n')],
    ['hangs up', (socket) => socket.destroy()],
    ['speaks HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    [
      'never ends its greeting',
      (socket) => {
        const more = setInterval(() => socket.write('220-still\r\n'), 20);
        socket.on('close', () => {
          clearInterval(more);
        });
      },
    ],
    ['floods', (socket) => void socket.write(`220-${'x'.repeat(4 * 1024 * 1024)}`)],
  ])('that %s is a failure within the time', async (_what, speak) => {
    const gateway = gatewayTo(standIns.emailConfig(await standIns.tcp(speak), quick));
    const started = Date.now();
    const { accepted, answer } = await gateway.send('zoe@example.org', 'x');
    expect(accepted).toBe(false);
    expect(answer.freeText).toBeTruthy();
    expect(Date.now() - started).toBeLessThan(10_000 * quick.totalTimeoutSeconds);
  });

  it('that replies byte by byte is given up in time, and the next message has a connection', async () => {
    let drips = true;
    let ended = 0;
    const port = await standIns.tcp((socket) => {
      socket.write('220 here\r\n');
      socket.on('data', (bytes: Buffer) => {
        const command = bytes.toString('latin1');
        if (!drips || !command.startsWith('RCPT')) {
          socket.write(command.startsWith('DATA') ? '354 go on\r\n' : '250 OK\r\n');
          return;
        }
        // Never silent for as long as a reply may take.
        const more = setInterval(() => socket.write('250-wait\r\n'), 50);
        socket.on('close', () => {
          ended += 1;
          clearInterval(more);
        });
      });
    });
    const { user: _user, password: _password, ...open } = standIns.emailConfig(port, quick);
    const gateway = gatewayTo({ ...open, security: 'NONE', connectionsMax: 1 });
    const late = await gateway.send('zoe@example.org', 'x');
    expect(late.answer).toMatchObject({ freeText: 'no answer within 2 s' });
    expect(late.outcome).toBe('no answer');
    drips = false;
    expect((await gateway.send('zoe@example.org', 'y')).accepted).toBe(true);
    expect(ended).toBe(1);
  });

  it('is a failure if nobody listens', async () => {
    const port = await standIns.tcp(() => undefined);
    await standIns.close(port);
    const { answer, outcome } = await gatewayTo(standIns.emailConfig(port, quick)).send('zoe@example.org', 'x');
    expect(answer.freeText).toBe('no connection (ECONNREFUSED)');
    expect(outcome).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
  });
});
