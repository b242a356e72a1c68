import { expect, it } from 'vitest';
import { call, description } from '../support/api.ts';

it('/metrics of the operations listener parts what requests waited for the token from what it worked', async () => {
  const reading = async (): Promise<string> => (await fetch(`${description.opsUrl}/metrics`)).text();
  const count = (text: string, name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  const name = 'signetd_token_call_seconds_count\\{operation="makeMac"\\}';
  const before = count(await reading(), name);
  await call('other', 'pki/createCertificate', {
    certificationRequestInfo: {
      signatureActivationProtocol: 'PASSWORD',
      PKCS10: { attributes: { subscriber: {} }, subject: { country: 'FR', commonName: 'Metrics' } },
    },
    certificateFormat: 'CERTIFICATE',
  });
  const text = await reading();
  expect(count(text, name)).toBe(before + 1);
  expect(count(text, 'signetd_token_queue_seconds_count\\{operation="makeMac"\\}')).toBe(count(text, name));
  expect(count(text, 'signetd_token_requests_total\\{operation="makeMac",outcome="ok"\\}')).toBe(count(text, name));
  expect(count(text, 'signetd_token_ready')).toBe(1);
  // 16 buckets and the one without end.
  expect(text.match(/^signetd_token_call_seconds_bucket\{.*operation="makeMac".*\}/gm)?.length).toBe(17);
});
