import { unusableFile, type ClientView, type StatusView } from '../../admin/views.ts';
import { fixedMembers, needsRestart } from '../../config/changes.ts';
import { version as installedVersion } from '../../telemetry/version.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';

/** Warnings about what only the running service knows to end. */
const endOfUnlisted = /^(client certificate|CRL of|OCSP responder of) /;
const lateCheckpointMs = 10 * 60 * 1000;

/**
 * Diagnoses the running service from its status: it has tested its token with a signature and its
 * state store with a write.
 * @param clients undefined if the service did not list them
 * @param isFaulty whether the faults of the configuration file are already reported
 */
export function runningService(status: StatusView, clients: readonly ClientView[] | undefined, isFaulty: boolean): Diagnosis[] {
  // It waits for the operator and has not tested anything.
  const { stateAge: age, clock: time } = status.faults;
  if (time !== undefined) return [service(status, isFaulty), fault('service', `it waits: ${time}`)];
  if (age !== undefined) return [service(status, isFaulty), fault('state store', age)];
  return [
    service(status, isFaulty),
    token(status),
    ...keysLeft(status),
    ...timeStamps(status),
    ...syslog(status),
    ...transferStore(status),
    state(status),
    auditLog(status),
    ...(clients === undefined ? [] : registrations(status, clients)),
    ...clientLists(status),
    ...limits(status),
    ...reminders(status),
  ];
}

function service(
  { pid, version, started, notLoaded, lastReload }: StatusView,
  isFaulty: boolean,
  installed = installedVersion(),
): Diagnosis {
  const refused = lastReload === null ? [] : lastReload.faults;
  if (isFaulty) {
    return warning(
      'service',
      `${version}, process ${pid}: it runs with an earlier configuration; correct the file, then run signetctl reload`,
    );
  }
  if (refused.length > 0)
    return fault('service', `the last reload was refused: ${refused.join('; ')}; ${reloadRemedy(refused, notLoaded)}`);
  if (notLoaded.includes(unusableFile))
    return warning('service', 'the file cannot be loaded as it is now: signetctl config check shows its faults');
  if (notLoaded.length > 0) {
    return warning('service', `its configuration differs from the file (${notLoaded.join(', ')}): ${loadingRemedy(notLoaded)}`);
  }
  if (version !== installed) {
    return warning('service', `process ${pid} runs version ${version}, and ${installed} is installed: restart signetd-token and signetd`);
  }
  return good('service', `${version}, process ${pid}, since ${started}`);
}

/** How to proceed after a reload that was refused; the file may have changed since. */
function reloadRemedy(refused: readonly string[], notLoaded: readonly string[]): string {
  const isSound = refused.every(needsRestart) && !notLoaded.includes(unusableFile);
  return isSound ? loadingRemedy(notLoaded) : `fix the configuration, then ${loadingRemedy(notLoaded)}`;
}

function loadingRemedy(notLoaded: readonly string[]): string {
  const fixed = fixedMembers(notLoaded.filter((member) => member !== unusableFile));
  return fixed.length === 0 ? 'run signetctl reload' : `restart signetd, since a reload cannot change ${fixed.join(', ')}`;
}

function token({ faults, tokenWaitingRequests }: StatusView): Diagnosis {
  if (faults['token'] !== undefined)
    return fault('signing', `${faults['token']}; the log of signetd and systemctl status signetd-token say more`);
  return good('signing', `the token signs; ${tokenWaitingRequests} requests are waiting for it`);
}

function keysLeft({ keysLeft: left }: StatusView): Diagnosis[] {
  return left.map(({ tokenId, reason }) =>
    warning(
      'signing',
      `key ${tokenId} should have been destroyed but is still on the token (${reason}): make sure that the token allows keys to be destroyed; signetd tries again`,
    ),
  );
}

function timeStamps({ warnings: { timeStampAuthority } }: StatusView): Diagnosis[] {
  if (timeStampAuthority === undefined) return [];
  return [warning('time-stamps', `${timeStampAuthority}: check NTP, timeStampAuthority.clockErrorMaxMilliseconds and its certificate`)];
}

function syslog({ faults, warnings: { auditSyslog } }: StatusView): Diagnosis[] {
  const { auditSyslog: refusing } = faults;
  if (refusing !== undefined) return [fault('syslog', `${refusing}: check the server and audit.syslog; signetd then continues by itself`)];
  return auditSyslog === undefined
    ? []
    : [warning('syslog', `${auditSyslog}: check the server and audit.syslog; nothing is lost meanwhile`)];
}

function transferStore({ warnings: { transferStore: reason } }: StatusView): Diagnosis[] {
  return reason === undefined
    ? []
    : [warning('transfer store', `${reason}: check transferStore.s3 and its server; requests for files are answered 503 meanwhile`)];
}

function state({ faults, state: where }: StatusView): Diagnosis {
  if (faults['state'] !== undefined)
    return fault('state store', `${where}: ${faults['state']}: check for a full disk, or check its server`);
  return good('state store', `${where} is writable`);
}

function auditLog({ audit, faults }: StatusView): Diagnosis {
  if (!audit.enabled) return warning('audit log', 'disabled: set audit.enabled to true and restart signetd');
  if (audit.writable === null) return good('audit log', 'not open yet: it is checked once the service has what it waits for');
  if (faults['audit'] !== undefined)
    return fault('audit log', `${faults['audit']}: free space on its disk; signetd then continues by itself`);
  const last = audit.lastCheckpoint === null ? undefined : Date.parse(audit.lastCheckpoint);
  if ((audit.recordsSinceCheckpoint ?? 0) > 1 && (last === undefined || Date.now() - last > lateCheckpointMs)) {
    return fault(
      'audit log',
      `no checkpoint since ${audit.lastCheckpoint ?? 'the start'}: the token must sign them; the log of signetd says more`,
    );
  }
  return good('audit log', `writable; last checkpoint ${audit.lastCheckpoint ?? 'none yet'}`);
}

function registrations({ tenants }: StatusView, clients: readonly ClientView[]): Diagnosis[] {
  if (clients.length === 0) return [warning('clients', 'no client is registered: run signetctl client add')];
  const homeless = clients.filter(({ tenant }) => !tenants.includes(tenant));
  if (homeless.length === 0) return [good('clients', `${clients.length} registered`)];
  return homeless.map(({ name, tenant, publicKey }) =>
    warning(
      'clients',
      `${name} is refused, since no tenant "${tenant}" is configured: configure it, or run signetctl client revoke ${publicKey}`,
    ),
  );
}

/** Diagnoses the CRLs of client CAs. */
function clientLists({ faults, warnings }: StatusView): Diagnosis[] {
  const part = 'client CRLs';
  const { clients: refused } = faults;
  const { clients: ending, clientCrlFetch: unfetched, clientCrlsKept: notKept } = warnings;
  return [
    ...(refused === undefined ? [] : [fault(part, `${refused}: check listeners.api.clientRevocationLists and clientRevocationUrls`)]),
    ...(ending === undefined ? [] : [warning(part, ending)]),
    ...(unfetched === undefined ? [] : [warning(part, `${unfetched}: check the server, and the network rules of the unit`)]),
    ...(notKept === undefined ? [] : [warning(part, `${notKept}: free space, or let the service write there`)]),
  ];
}

/** Diagnoses limits of clients that are not registered. */
function limits({ warnings }: StatusView): Diagnosis[] {
  return Object.entries(warnings)
    .filter(([name]) => name.startsWith('limits of '))
    .map(([, text]) => warning('limits', `${text}: see signetctl client list`));
}

/**
 * Diagnoses certificates of clients that end, and CRLs and OCSP responders that the service should
 * have renewed. Certificates in configured files are reported with all others.
 */
function reminders({ warnings }: StatusView): Diagnosis[] {
  return Object.entries(warnings)
    .filter(([name]) => endOfUnlisted.test(name))
    .map(([, text]) => (text.includes(' expired on ') ? fault('reminders', text) : warning('reminders', text)));
}
