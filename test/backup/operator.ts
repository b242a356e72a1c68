import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** An operator with a key pair that age-keygen made, and a directory for backups. */
export class Operator {
  readonly directory = mkdtempSync(join(tmpdir(), 'signetd-operator-'));
  readonly identity = join(this.directory, 'key.txt');
  readonly recipient: string;

  constructor() {
    execFileSync('age-keygen', ['-o', this.identity], { stdio: 'ignore' });
    this.recipient = execFileSync('age-keygen', ['-y', this.identity], { encoding: 'utf8' }).trim();
  }

  file(name: string): string {
    return join(this.directory, name);
  }

  /** A shell command on what age decrypts and tar unpacks. */
  unpacked(backup: string, command: string): string {
    const script = `set -euo pipefail; mkdir unpacked; age --decrypt --identity "$1" "$2" | tar --extract --directory unpacked; cd unpacked; ${command}`;
    const directory = mkdtempSync(join(this.directory, 'unpack-'));
    try {
      return execFileSync('bash', ['-c', script, 'bash', this.identity, backup], { cwd: directory, encoding: 'utf8' });
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
