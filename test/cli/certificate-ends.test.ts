import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { certificateEnds } from '../../src/cli/doctor/certificate-ends.ts';
import { loadConfig } from '../../src/config/config.ts';
import { description } from '../support/api.ts';

it('tells of each certificate of the configuration in the last fifth of its lifetime, those of the authorities among them', () => {
  const config = loadConfig(description.configFile);
  const { certificate = '' } = config.timeStampAuthority ?? {};
  const { validFromDate, validToDate } = new X509Certificate(readFileSync(certificate));
  const endMs = validToDate.getTime();
  const fifthMs = (endMs - validFromDate.getTime()) / 5;
  const told = (now: number): string[] =>
    certificateEnds(config, now)
      .filter(({ text }) => text.includes(certificate))
      .map(({ state, text }) => `${state} ${text}`);
  const dayMs = 24 * 60 * 60 * 1000;
  expect(told(endMs - fifthMs - dayMs)).toEqual([]);
  expect(told(endMs - fifthMs + dayMs)).toEqual([expect.stringMatching(/^warning timeStampAuthority: .* expires on /)]);
  // The check of the configuration reports it.
  expect(told(endMs)).toEqual([]);
});

it('tells of the certificate of a digital identity, too', () => {
  const config = loadConfig(description.configFile);
  const [identity] = config.tenants['demo']?.twoDDoc.identities ?? [];
  const endMs = new X509Certificate(readFileSync(identity?.certificate ?? '')).validToDate.getTime();
  const told = certificateEnds(config, endMs - 1).filter(({ text }) => text.includes(identity?.certificate ?? 'absent'));
  expect(told.map(({ state, text }) => `${state} ${text}`)).toEqual([
    expect.stringMatching(/^warning tenants\.demo\.twoDDoc\.identities\.0: .* expires on /),
  ]);
});
