import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { firstBlock, shellBlocks } from '../docs/shell-blocks.ts';
import type { Appliance } from './appliance.ts';

type Section = Record<string, unknown>;
const page = readFileSync('docs/rotating.md', 'utf8');
const address = 'http://127.0.0.1:8080';

/** The root is replaced by one with a new key while callers sign, by the commands of docs/rotating.md. */
export function rotatedRoot(appliance: Appliance): void {
  const commands = (heading: string): string[] =>
    shellBlocks(page, heading).map((block) => block.commands.replaceAll('http://pki.example.org', address));
  const startPublic = 'systemctl start signetd-public.socket';

  function add(what: string, section: Section): void {
    appliance.configure(what, (config) => {
      merge(config, section);
    });
  }

  it('has a new root beside the old one, and its callers notice nothing', async () => {
    const [make = '', start = ''] = commands('1. Make the new root');
    add('the new root', printedSection(appliance.shell(make)));
    appliance.shell(`${start}\n${startPublic}`);
    await appliance.untilReady();
    const callers = appliance.load();
    await callers.busy();
    const [certify = '', apply = ''] = commands('2. Certify the issuing CAs under the new root');
    add('the issuing CA under both', printedSection(appliance.shell(certify)));
    appliance.shell(apply);
    await appliance.untilItSigns();
    expect((await callers.end()).failures).toEqual([]);
    expect(appliance.tell('two roots')).not.toMatch(/^fault/m);
    // A certificate of before verifies under either root.
    appliance.shell(`cd /etc/signetd/pki
      openssl verify -CAfile root-2.pem -untrusted root-by-root-2.pem -untrusted issuing.pem issuing.pem
      openssl verify -CAfile root.pem issuing.pem; openssl verify -CAfile root-2.pem issuing-by-root-2.pem`);
  });

  it('goes on with the new root alone', async () => {
    add('chains end at the new root', parse(firstBlock(page, 'yaml', '4. Retire the old root')) as Section);
    const [retire = '', start = '', destroy = ''] = commands('4. Retire the old root');
    add('the old root is retired', printedSection(appliance.shell(retire)));
    appliance.shell(`${start}\n${startPublic}`);
    await appliance.untilReady();
    appliance.shell(`${destroy}\n${startPublic}`);
    await appliance.untilReady();
    await appliance.untilItSigns();
    expect(appliance.tell('the new root alone')).not.toMatch(/^fault/m);
    expect(appliance.shell('signetctl audit verify')).toContain('0 without');
    for (const root of ['root', 'root-2'])
      expect(appliance.shell(`curl --silent --fail ${address}/pki/${root}.crl | openssl crl -inform DER -noout -issuer`)).toContain('CN');
  });
}

/** The section of the configuration in what a command printed. */
function printedSection(printed: string): Section {
  const [, section = ''] = /Set this in the configuration:\n\n([^]*)$/.exec(printed) ?? [];
  return parse(section.replaceAll(/^signetctl: .*$/gm, '')) as Section;
}

function merge(into: Section, from: Section): void {
  for (const [name, value] of Object.entries(from)) {
    const present = into[name];
    if (isSection(value) && isSection(present)) merge(present, value);
    else into[name] = value;
  }
}

const isSection = (value: unknown): value is Section => typeof value === 'object' && value !== null && !Array.isArray(value);
