import { afterAll, describe, expect, it } from 'vitest';
import { MessagesConfig } from '../../src/config/messages-config.ts';
import { Messenger, type Recipient, type SenderResponses, deliverOtp } from '../../src/messages/messenger.ts';
import { Refusal } from '../../src/result-codes.ts';
import { messageMetrics } from '../../src/telemetry/outgoing-metrics.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { recordingLog } from '../support/silent-log.ts';
import { answerJson, bodyOf, StandIns, type ReceivedMail } from './stand-ins.ts';

const standIns = new StandIns();
const messengers: Messenger[] = [];
afterAll(async () => {
  for (const messenger of messengers) messenger.close();
  await standIns.remove();
});

const log = recordingLog();
const phoneNumber = '+33612345678';
const emailAddress = 'zoe@example.org';
const metrics = new Metrics();
const surroundings = {
  log,
  metrics: messageMetrics(metrics.registry),
  store: { commit: async (): Promise<never> => Promise.reject(new Error('nothing is stored here')) },
};

interface Both {
  readonly messenger: Messenger;
  readonly sms: string[];
  readonly mail: ReceivedMail[];
}

/** Both gateways; the SMS gateway answers this status, or, undefined, breaks off. */
async function gateways(status: number | undefined, refusesMail = false): Promise<Both> {
  const sms: string[] = [];
  const origin = await standIns.http((request, response) => {
    void bodyOf(request).then((body) => {
      sms.push(body);
      if (status === undefined) response.destroy();
      else answerJson(response, status, { status: 'queued', id: 'm1', detail: body });
    });
  });
  const { config, mail } = await standIns.smtp(
    refusesMail
      ? {
          onRcptTo(_address, _session, callback) {
            callback(Object.assign(new Error('no such mailbox'), { responseCode: 550 }));
          },
        }
      : {},
  );
  const messages = MessagesConfig.parse({ sms: standIns.smsConfig(origin), email: config });
  const messenger = new Messenger(messages, { ...surroundings, threads: standIns.threads });
  messengers.push(messenger);
  return { messenger, sms, mail };
}

async function refusalOf(work: Promise<unknown>): Promise<Refusal> {
  const refusal = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(refusal instanceof Refusal)) throw new Error('no refusal', { cause: refusal });
  return refusal;
}

const codes = ({ senderResponses }: SenderResponses): unknown[] => senderResponses.senderResponse.map(({ responseCode }) => responseCode);

describe('a message', () => {
  it.each<[string, Recipient, number | undefined, { sms: number; mail: number; codes: unknown[] }]>([
    ['a number alone', { phoneNumber }, 202, { sms: 1, mail: 0, codes: ['queued'] }],
    ['an address alone', { emailAddress }, 202, { sms: 0, mail: 1, codes: ['250'] }],
    ['both', { phoneNumber, emailAddress }, 202, { sms: 1, mail: 0, codes: ['queued'] }],
    ['both, and the SMS gateway refuses', { phoneNumber, emailAddress }, 500, { sms: 1, mail: 1, codes: ['queued', '250'] }],
    ['both, and the SMS gateway breaks off', { phoneNumber, emailAddress }, undefined, { sms: 1, mail: 1, codes: [undefined, '250'] }],
  ])('to %s', async (_what, recipient, status, expected) => {
    const { messenger, sms, mail } = await gateways(status);
    const answer = await messenger.send(recipient, 'a text');
    expect({ sms: sms.length, mail: mail.length, codes: codes(answer) }).toEqual(expected);
  });

  it('that no gateway accepts is refused with the answer of each gateway, in order', async () => {
    const { messenger, mail } = await gateways(500, true);
    const refusal = await refusalOf(messenger.send({ phoneNumber, emailAddress }, 'a text'));
    expect(refusal.code).toBe('MESSAGE_NOT_SENT');
    expect(codes(refusal.answer as SenderResponses)).toEqual(['queued', '550']);
    expect(mail).toHaveLength(0);
  });

  it('is counted for each gateway that was asked', async () => {
    metrics.registry.resetMetrics();
    const { messenger } = await gateways(500);
    await messenger.send({ phoneNumber, emailAddress }, 'a text');
    const { text } = await metrics.exposition();
    expect(text).toContain('signetd_messages_total{channel="sms",outcome="refused"} 1');
    expect(text).toContain('signetd_messages_total{channel="email",outcome="taken"} 1');
    expect(text).toContain('signetd_message_seconds_count{channel="email"} 1');
  });

  it('for an SMS has 1,600 characters at most; a longer one goes by e-mail, or is refused', async () => {
    const { messenger, sms, mail } = await gateways(202);
    await messenger.send({ phoneNumber, emailAddress }, '😀'.repeat(1600));
    expect(sms).toHaveLength(1);
    await messenger.send({ phoneNumber, emailAddress }, 'x'.repeat(1601));
    expect([sms.length, mail.length]).toEqual([1, 1]);
    const { code, at } = await refusalOf(messenger.send({ phoneNumber }, 'x'.repeat(1601)));
    expect([code, at]).toEqual(['FIELD_INVALID', '/message']);
    expect([sms.length, mail.length]).toEqual([1, 1]);
  });

  it('is refused without a gateway for the known addresses', async () => {
    const { config } = await standIns.smtp();
    for (const messages of [undefined, MessagesConfig.parse({ email: config })]) {
      const messenger = new Messenger(messages, { ...surroundings, threads: standIns.threads });
      messengers.push(messenger);
      const refusal = await refusalOf(messenger.send({ phoneNumber }, 'x'));
      expect([refusal.code, refusal.answer]).toEqual(['MESSAGE_NOT_SENT', {}]);
      expect(refusal.message).toContain('no gateway is configured for SMS');
    }
  });
});

describe('a one-time password', () => {
  it('is sent to its owner with the configured text', async () => {
    const { messenger, sms } = await gateways(202);
    await deliverOtp(messenger, 'Code: {{otp}} ({{ otp }})', { phoneNumber }, '12345678');
    expect(JSON.parse(sms[0] ?? '')).toMatchObject({ to: phoneNumber, text: 'Code: 12345678 (12345678)' });
  });

  it('that no gateway accepts is in no answer and in no log, whatever the gateways answer', async () => {
    const { messenger } = await gateways(500, true);
    const refusal = await refusalOf(deliverOtp(messenger, 'Code: {{otp}}', { phoneNumber, emailAddress }, '87654321'));
    expect([refusal.code, refusal.answer]).toEqual(['MESSAGE_NOT_SENT', {}]);
    expect(JSON.stringify([refusal, refusal.message, log.lines])).not.toContain('87654321');
    expect(log.lines.at(-1)).toMatch(/a gateway did not accept a message .*"outcome":"SMTP 550"/);
    expect(log.lines.join('\n')).not.toMatch(/a text|33612345678|zoe@/);
  });

  it.each([
    ['without the password', 'Your code.', /\{\{otp\}\}, the placeholder for .* is missing/],
    ['with another placeholder', '{{otp}} {{text}}', /is not allowed here/],
  ])('has no text %s', (_what, otpText, words) => {
    expect(MessagesConfig.safeParse({ otpText }).error?.issues[0]?.message).toMatch(words);
  });
});
