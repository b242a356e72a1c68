import { expect, it } from 'vitest';
import type { Appliance } from './appliance.ts';

/** A client comes, is renewed and revoked; then another one. */
export function clients(appliance: Appliance): void {
  /** The status of an answer to a request with files of this name, 000 where the connection is refused. */
  const status = (directory: string, name: string): string =>
    appliance.attempt(`curl --silent --output /dev/null --write-out '%{http_code}' --cacert /etc/signetd/tls/server-ca.pem \\
        --cert ${directory}/${name}.pem --key ${directory}/${name}.key --header 'Content-Type: application/json' \\
        --data '{}' https://localhost:8443/sign/signature/sign`).output;
  const newestIn = (directory: string): string =>
    appliance
      .shell(`cd ${directory}; ls -t *.key | head -n 1`)
      .trim()
      .replace(/\.key$/, '');

  it.each(['billing', 'archive'])('%s is issued a certificate, renewed, and revoked', async (name) => {
    const directory = `/root/${name}`;
    appliance.shell(`signetctl client issue --name ${name} --tenant main --roles signature,keys --directory ${directory}`);
    const first = newestIn(directory);
    // The service understands the request of a client that it knows.
    expect(status(directory, first)).toMatch(/^[24]00/);
    const old = await oldRefused(name, directory, first);
    appliance.shell(`signetctl client list; signetctl client revoke ${name}`);
    expect(status(directory, old)).toMatch(/^(?:000|403)/);
    expect(appliance.shell('signetctl client list')).not.toContain(name);
    appliance.tell(`${name} is revoked`);
    // Issued, added, renewed, added again, the old key revoked, the new one revoked.
    expect(appliance.recordsWith(`"${name}"`).length).toBeGreaterThan(4);
  });

  /** Renews the certificate. Answers the name of the new files. */
  async function oldRefused(name: string, directory: string, first: string): Promise<string> {
    appliance.shell(`signetctl client renew ${name} --directory ${directory} --revoke-old`);
    const second = newestIn(directory);
    expect(second).not.toBe(first);
    await appliance.machine.until('the old certificate is refused', () => /^(?:000|403)/.test(status(directory, first)));
    expect(status(directory, second)).toMatch(/^[24]00/);
    return second;
  }
}
