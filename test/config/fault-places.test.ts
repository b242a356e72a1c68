import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/config/config-error.ts';
import { ListenersConfig } from '../../src/config/listeners-config.ts';
import { closestName } from '../../src/config/closest-name.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-config-'));
const path = join(directory, 'signetd.yaml');
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const good = `listeners:
  api:
    certificate: server.pem
    key: server.key
    clientCertificateAuthority: clients.pem
token:
  label: prod
  pin: "credential:pin"
certificateAuthorities:
  issuing:
    certificate: ca.pem
    keyId: "49${'0'.repeat(32)}"
tenants:
  bank:
    certificateAuthority: issuing
    profile: { keyType: P-256 }
`;

/** The lines of the error, without the path of the file. */
function faultsOf(text: string): string[] {
  writeFileSync(path, text);
  try {
    loadConfig(path);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message.split('\n').map((line) => line.slice(path.length));
  }
  return [];
}

describe('a fault of the configuration', () => {
  it.each([
    ['*hunter2', ':8:8: this value begins with *, so YAML reads it as an alias: put it in quotes'],
    ['*hunter2 x', ':8:17: '],
    ['|hunter2', ':8:9: Block scalar header includes extra characters'],
    ['>hunter2', ':8:9: Block scalar header includes extra characters'],
    ['!a!hunter2 x', ':8:8: Could not resolve tag'],
    ['!hunter2 x', ':8:3: token.pin: not of the form'],
    ['&hunter2 x', ':8:3: token.pin: not of the form'],
    ['&hunter2 *hunter2', ':8:'],
    ['"\\uhunter2"', ':8:'],
    ['%hunter2', ':8:8: '],
    ['@hunter2', ':8:8: '],
    ['hunter2: x', ':8:'],
    ['"x" hunter2', ':8:'],
    ['"hunter2', ':'],
    ['[hunter2', ':'],
    ['{ hunter2 }', ':8:3: token.pin: '],
    ['{ ? [hunter2] : x }', ':8:3: token.pin: '],
    ['hunter2', ':8:3: token.pin: not of the form'],
  ])('names the place and not the content of a secret that is written as %s', (value, fault) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const faults = faultsOf(good.replace('"credential:pin"', value));
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
    expect(faults[0]?.slice(0, fault.length)).toBe(fault);
    expect(faults.join('\n')).not.toMatch(/hunt/);
  });

  it.each<[string, unknown[]]>([
    ['clientHosts: ["tsa.example.org:65536"]', ['outgoing.clientHosts.0: a port is from 1 to 65535']],
    ['clientHosts: ["*.example.org:0"]', ['outgoing.clientHosts.0: a port is from 1 to 65535']],
    ['privateNetworks: ["10.0.0.0/8:65536"]', ['outgoing.privateNetworks.0: not a network such as 10.0.0.0/8 or 10.0.0.0/8:8080']],
    [
      'privateNetworks: ["10.1.0.5/16"]',
      [
        'outgoing.privateNetworks.0: 10.1.0.5 has bits beyond its prefix: write 10.1.0.0/16 for the network, or 10.1.0.5/32 for this address alone',
      ],
    ],
    [
      'privateNetworks: ["255.255.255.255/31:80"]',
      [expect.stringContaining('write 255.255.255.254/31:80 for the network, or 255.255.255.255/32:80 ')],
    ],
    ['privateNetworks: ["10.0.0.1/0"]', [expect.stringContaining('write 0.0.0.0/0 for')]],
    ['privateNetworks: ["fd12:3456::1/8"]', [expect.stringContaining('write fd00::/8 for the network, or fd12:3456::1/128 ')]],
    ['privateNetworks: ["2001:DB8:0:0:1:0:0:1/64"]', [expect.stringContaining('write 2001:db8::/64 for the network')]],
    ['privateNetworks: ["::ffff:10.1.2.3/120:8080"]', [expect.stringContaining('write ::ffff:a01:200/120:8080 for the network')]],
    ['privateNetworks: ["::1/0"]', [expect.stringContaining('write ::/0 for the network')]],
    ['privateNetworks: ["10.0.0.0/33"]', ['outgoing.privateNetworks.0: not a network such as 10.0.0.0/8 or 10.0.0.0/8:8080']],
    ['privateNetworks: ["::/129"]', ['outgoing.privateNetworks.0: not a network such as 10.0.0.0/8 or 10.0.0.0/8:8080']],
    [
      'privateNetworks: ["10.1.0.0/16", "10.1.0.5/32:80", "0.0.0.0/0", "::/0", "FD00:0::/8:80", "::1/128", "::ffff:0:0/96", "1:2:3:4:5:6:7:8/125"]',
      [],
    ],
    ['clientHosts: ["[2001:db8::1]", "[2001:db8::1]:65535", "tsa.example.org:1"]', []],
  ])('is a port or a network that there is not: %s', (members, faults) => {
    expect(faultsOf(`${good}outgoing: { ${members} }\n`).map((line) => line.replace(/^(:\d+)+: /, ''))).toEqual(faults);
  });

  it.each([
    ['192.0.2.7/24', 'write 192.0.2.0/24 for the network, or 192.0.2.7/32 for'],
    ['192.0.2.7/33', 'not a network such as 192.0.2.7/32 or 2001:db8::/32'],
    ['192.0.2.7/32:80', 'not a network such as 192.0.2.7/32 or 2001:db8::/32'],
  ])('is a network of shared addresses that there is not: %s', (network, words) => {
    const { error } = ListenersConfig.shape.api.shape.sharedAddresses.safeParse([network]);
    expect(error?.message).toContain(words);
    expect(ListenersConfig.shape.api.shape.sharedAddresses.parse(['192.0.2.7/32', '2001:db8::/32'])).toHaveLength(2);
  });

  it('takes aliases of anchors that are there', () => {
    expect(faultsOf(good.replace('prod', '&name prod').replace('"credential:pin"', '*name'))).toEqual([
      expect.stringMatching(/^:8:3: token\.pin: not of the form/),
    ]);
  });

  it.each([
    ['an unknown member', good.replace('label: prod', 'lable: prod'), [':7:3: token.lable: unknown member; did you mean "label"?']],
    [
      'a member in the wrong case',
      good.replace('keyType', 'KeyType'),
      [':16:16: tenants.bank.profile.KeyType: unknown member; did you mean "keyType"?'],
    ],
    ['a section that is near another', good.replace('tenants:', 'tenant:'), [':13:1: tenant: unknown member; did you mean "tenants"?']],
    ['a name that is near none', `${good}log: { zebra: 1 }\n`, [':17:8: log.zebra: unknown member; known here: level']],
    [
      'a member inside a list',
      `${good}timeStamps: { urls: [http://a.example, 5] }\n`,
      [expect.stringMatching(/^:17:\d+: timeStamps\.urls\.1: /)],
    ],
    [
      'a member of one of several forms',
      `${good}state: { kind: sqlite, pahh: x }\n`,
      [':17:24: state.pahh: unknown member; did you mean "path"?'],
    ],
    ['a missing member', good.replace('  label: prod\n', ''), [':6:1: token.label: this member is required']],
    ['a missing section', good.slice(0, good.indexOf('tenants:')), [': tenants: this member is required']],
    ['a value', good.replace('credential:pin', '1234'), [':8:3: token.pin: not of the form file:<path> or credential:<name>']],
    [
      'a reference to nothing',
      good.replace('Authority: issuing', 'Authority: isuing'),
      [':15:5: tenants.bank.certificateAuthority: no certificate authority "isuing" is configured; did you mean "issuing"?'],
    ],
    ['text that is no object', 'hello\n', [expect.stringMatching(/^:1:1: \(file\): /)]],
  ] as [string, string, string[]][])('has line, column and member: %s', (_name, text, lines) => {
    expect(faultsOf(text).toSorted()).toEqual(lines.toSorted());
  });

  it.each([
    ['an open list', good.replace('label: prod', 'label: [prod'), /^:8:\d+: /],
    ['a member twice', `${good}log: { level: info, level: debug }\n`, /^:17:21: .*unique/],
    ['a tab for indentation', good.replace('  api:', '\tapi:'), /^:2:1: /],
    ['an unknown alias', `${good}log: *none\n`, /^:17:6: .*alias/],
  ])('is one line with line and column if the file is no YAML: %s', (_name, text, line) => {
    expect(faultsOf(text)).toEqual([expect.stringMatching(line)]);
  });

  it('names the file that is missing', () => {
    expect(() => loadConfig('/nowhere/signetd.yaml')).toThrow('/nowhere/signetd.yaml: there is no such file');
  });

  it('never shows the value of a member, which may be a secret by mistake', () => {
    expect(faultsOf(good.replace('credential:pin', 'hunter2')).join()).not.toContain('hunter2');
  });
});

describe('the nearest name', () => {
  const names = ['certificate', 'certificateAuthority', 'key', 'clientRevocationLists', 'host'];

  it.each([
    ['certifcate', 'certificate'],
    ['Certificate_Authority', 'certificateAuthority'],
    ['hots', 'host'],
    ['kye', 'key'],
    ['clientRevocationList', 'clientRevocationLists'],
    ['zebra', undefined],
    ['x'.repeat(1000), undefined],
  ])('to %s is %s', (word, name) => {
    expect(closestName(word, names)).toBe(name);
  });

  it('is the name itself after one change', () => {
    fc.assert(
      fc.property(fc.constantFrom(...names.filter(({ length }) => length > 5)), fc.nat(), fc.constantFrom('x', ''), (name, seed, put) => {
        const at = seed % name.length;
        expect(closestName(name.slice(0, at) + put + name.slice(at + 1), names)).toBe(name);
      }),
    );
  });
});
