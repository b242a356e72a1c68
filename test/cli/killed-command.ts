import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Runs signetctl and kills it, with its token host, at any moment of that time; it may have ended before.
 * @param tokens below it are the files of SoftHSM tokens, if there are any
 */
export async function killedWithin(ms: number, tokens: string, ...command: readonly string[]): Promise<void> {
  // A group of its own: its token host ends with it.
  const child = spawn(process.execPath, ['--disable-sigusr1', 'dist/cli.js', ...command], { stdio: 'ignore', detached: true });
  const ended = once(child, 'exit');
  await Promise.race([ended, delay(randomInt(ms))]);
  if (child.exitCode === null && child.pid !== undefined) await killGroup(child.pid, tokens);
  await ended;
}

/**
 * Kills a group of processes at once, but not while SoftHSM has emptied the file of a token and has not yet written it again, as it does at each
 * login and change of a PIN (2.6.1: ftruncate, then write): the token would be lost, whoever uses it.
 */
export async function killGroup(leader: number, tokens: string): Promise<void> {
  while (send(leader, 'SIGSTOP')) {
    while (!isStopped(leader)) await delay(1);
    if (!hasEmptyToken(tokens)) break;
    send(leader, 'SIGCONT');
    await delay(1);
  }
  send(leader, 'SIGKILL');
}

/** Returns false if the group has ended. */
function send(leader: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}

function hasEmptyToken(directory: string): boolean {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('token.object'))
    .some((name) => statSync(join(directory, name), { throwIfNoEntry: false })?.size === 0);
}

/** Whether no thread of a group runs. One that waits for a stopped child to begin its program is in an uninterruptible sleep. */
function isStopped(leader: number): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap(threadsOf)
    .filter(({ group }) => group === leader)
    .every(({ state }) => 'TZXD'.includes(state));
}

function threadsOf(pid: string): { readonly state: string; readonly group: number }[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map((thread) => {
      // After the name, which may hold anything: state, parent, group (proc_pid_stat(5)).
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'latin1');
      const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return { state, group: Number(group) };
    });
  } catch {
    // It has ended meanwhile.
    return [];
  }
}
