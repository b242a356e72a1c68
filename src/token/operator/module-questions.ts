import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TokenConfig } from '../../config/token-config.ts';
import { moduleFile } from '../../config/module-file.ts';
import { processFlags } from '../../service/node-flags.ts';
import { ownerEnvironment } from '../host/token-owner.ts';
import { Initialised, ModuleAnswer, type Initialisation, type ModuleQuestion, type PinChange } from './module-messages.ts';
import { prepareSoftwareToken } from './software-token.ts';
import { TokenFailure } from './token-failure.ts';
import type { AskToken } from './token-reports.ts';

export interface ModuleQuestions {
  readonly ask: AskToken;
  /** @throws {TokenFailure} */
  initialise(initialisation: Initialisation): Promise<Initialised>;
  /** @throws {TokenFailure} `unreachable`: it is not known whether the PIN was changed */
  changePin(change: PinChange): Promise<void>;
  close(): void;
}

/**
 * Opens the PKCS#11 module in a separate process, which can be killed if the module hangs, and
 * whose crash is reported. Use it only while no token host is running: two processes on one token
 * interfere with each other. For root, the process uses a software token as its owner.
 * @param answerMs how long an answer may take
 */
export async function openModule(config: TokenConfig, configPath: string, answerMs: number): Promise<ModuleQuestions> {
  const script = fileURLToPath(moduleFile('./module-process', import.meta.url));
  const owner = await prepareSoftwareToken(config);
  const child = fork(script, [configPath], {
    env: { ...process.env, ...config.environment, ...ownerEnvironment(owner) },
    execArgv: [...processFlags, '--no-warnings'],
    // Modules may print anything; only the IPC channel is read.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const closed = once(child, 'exit').then(([code, signal]: (number | string | null)[]): never => {
    const how = typeof signal === 'string' ? `it crashed (${signal})` : `its process ended with exit code ${code}`;
    throw new TokenFailure('unreachable', `the PKCS#11 module cannot be used: ${how}`);
  });
  closed.catch(() => undefined);

  const request = async (question: ModuleQuestion): Promise<unknown> => {
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      late.reject(new TokenFailure('unreachable', `the PKCS#11 module did not return within ${answerMs / 1000} s`));
    }, answerMs);
    try {
      const answered = Promise.withResolvers<unknown>();
      child.once('message', answered.resolve);
      child.send(question);
      const answer = ModuleAnswer.parse(await Promise.race([answered.promise, closed, late.promise]));
      if ('failure' in answer) throw new TokenFailure(answer.failure.kind, answer.failure.text);
      return answer.value;
    } finally {
      clearTimeout(timer);
    }
  };
  return {
    ask: async (name, question) => request({ kind: 'report', name, question }),
    initialise: async (initialisation) => Initialised.parse(await request({ kind: 'initialise', initialisation })),
    changePin: async (change) => {
      await request({ kind: 'changePin', change });
    },
    close() {
      if (child.connected) child.disconnect();
    },
  };
}
