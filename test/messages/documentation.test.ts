import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Config } from '../../src/config/config.ts';
import { MessagesConfig } from '../../src/config/messages-config.ts';
import { SmsRequestTemplate } from '../../src/messages/sms-request.ts';

const page = readFileSync('docs/messages.md', 'utf8');
const examples = Array.from(page.matchAll(/```yaml\n(.*?)```/gs), ([, text = '']) => parse(text) as Record<string, unknown>);

describe('the examples of docs/messages.md', () => {
  it('are configurations that signetd accepts', () => {
    const sections = examples.flatMap(({ messages }) => (messages === undefined ? [] : [MessagesConfig.parse(messages)]));
    expect(sections).toHaveLength(4);
    for (const { sms } of sections) {
      if (sms === undefined) continue;
      const names = ['phoneNumber', 'phoneDigits', 'text', 'id', 'secret.key'];
      const values = new Map(names.map((name): [string, string] => [name, '33600000000']));
      expect(new SmsRequestTemplate(sms).requestFor(values).url.hostname).toMatch(/gateway\.example$/);
    }
  });

  it('have only existing members of a tenant', () => {
    const tenants = examples.flatMap((example) => Object.values((example['tenants'] ?? {}) as Record<string, Record<string, unknown>>));
    expect(tenants).toHaveLength(1);
    const known = Object.keys(Config.shape.tenants.valueType.shape);
    for (const name of Object.keys(tenants[0] ?? {})) expect(known).toContain(name);
  });
});
