import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { configurationView } from '../../src/console/configuration-view.ts';

/** Returns what is shown of parts of a configuration. */
function shown(parts: object): Readonly<Record<string, unknown>> {
  // Only what is shown matters, not whether a service could start with it.
  return configurationView(parts as Config);
}

describe('the configuration in the console', () => {
  it('shows where secrets are read from', () => {
    expect(shown({ token: { pin: 'credential:pin', label: 'main' }, state: { password: 'file:/etc/signetd/password' } })).toEqual({
      token: { pin: 'credential:pin', label: 'main' },
      state: { password: 'file:/etc/signetd/password' },
    });
  });

  it.each([
    ['headers of a gateway', { messages: { sms: { headers: { Authorization: 'Bearer s3cr3t' } } } }],
    ['the body of a gateway', { messages: { sms: { body: { json: { account: { key: 's3cr3t' } } } } } }],
    ['a form of a gateway', { messages: { sms: { body: { form: { key: 's3cr3t' } } } } }],
    ['the query of a URL', { messages: { sms: { url: 'https://sms.example/send?key=s3cr3t&to={{phoneNumber}}' } } }],
    ['user and password in a URL', { timeStamps: { urls: ['https://user:s3cr3t@tsa.example/'] } }],
    ['environment variables of a module', { token: { environment: { VENDOR_PIN: 's3cr3t' } } }],
    ['a value where a reference belongs', { token: { pin: 's3cr3t' } }],
    ['values of a list of secrets', { identityProviders: { main: { secrets: ['s3cr3t', { key: 's3cr3t' }] } } }],
    ['a path without a scheme next to a password', { x: { passphrase: 's3cr3t', apiKey: 's3cr3t', authorization: 's3cr3t' } }],
  ])('hides %s', (_what, parts) => {
    const text = JSON.stringify(shown(parts));
    expect(text).not.toContain('s3cr3t');
    expect(text).toContain('(hidden)');
  });

  it('shows the rest of a URL, and settings whose names only resemble secrets', () => {
    expect(shown({ messages: { sms: { url: 'https://user@sms.example/a?b=c' } }, revocation: { url: 'https://crl.example/a' } })).toEqual({
      messages: { sms: { url: 'https://(hidden)@sms.example/a?(hidden)' } },
      revocation: { url: 'https://crl.example/a' },
    });
    expect(shown({ token: { wrongSecretsMax: 5, threads: 2 }, tenants: { demo: { revocationNeedsSecret: true } } })).toEqual({
      token: { wrongSecretsMax: 5, threads: 2 },
      tenants: { demo: { revocationNeedsSecret: true } },
    });
  });
});
