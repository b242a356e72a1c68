import type { Express } from 'express';
import type { Registry } from 'prom-client';
import { admittedGroup } from '../admin/admin-socket.ts';
import type { AdminContext, ConsoleLinks } from '../admin/commands.ts';
import { CommandRefused } from '../admin/protocol.ts';
import type { Config } from '../config/config.ts';
import { consoleRouter } from '../console/console.ts';
import { MetricsHistory } from '../console/history.ts';
import { OperatorGroup } from '../console/operator-group.ts';
import { PageFiles } from '../console/page-files.ts';
import type { ServiceSources } from '../console/service-view.ts';
import type { SignIns } from '../console/sign-ins.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { Parts } from './parts.ts';

type Operations = Config['listeners']['operations'];

/** Makes the links of `signetctl console`. `address`: of the operations listener. */
export function consoleLinks({ console }: Operations, signIns: SignIns, address: () => string): ConsoleLinks {
  return {
    link(uid) {
      if (console === 'off') throw new CommandRefused('the configuration switches the console off (listeners.operations.console)');
      const { code, endsAt } = signIns.code(uid);
      return { address: address(), code, endsAt: new Date(endsAt).toISOString() };
    },
  };
}

interface Surroundings {
  readonly administration: AdminContext & Omit<ServiceSources, 'metrics'>;
  readonly signIns: SignIns;
  readonly metrics: Registry;
  readonly log: Logger;
  readonly parts: Parts;
}

/** Returns what adds the console to the operations listener; nothing if it is switched off. */
export function consoleMounts(
  { listeners, admin }: Pick<Config, 'listeners' | 'admin'>,
  { administration, signIns, metrics, log, parts }: Surroundings,
): ((app: Express) => void)[] {
  const { console, host } = listeners.operations;
  if (console === 'off') return [];
  const history = parts.opened('history of the console', new MetricsHistory(metrics), (opened) => {
    opened.stop();
  });
  history.start((error) => {
    log.warn('the console could not take a sample of the metrics', { reason: reasonOf(error) });
  });
  const router = consoleRouter({
    ...{ history, signIns, host, access: console, files: new PageFiles(), operatorGroup: new OperatorGroup(admittedGroup(admin), log) },
    administration: { ...administration, metrics },
  });
  return [
    (app) =>
      app.use('/console', router).get('/', (_request, response) => {
        response.redirect('/console/');
      }),
  ];
}
