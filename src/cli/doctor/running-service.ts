import type { ClientView, StatusView } from '../../admin/views.ts';
import { fault, good, warning, type Diagnosis } from './diagnosis.ts';

const lateCheckpointMs = 10 * 60 * 1000;

/** What the service says of itself: it has asked its token for a signature and its state store for a write. */
export function runningService(status: StatusView, clients: readonly ClientView[]): Diagnosis[] {
  // It waits for the operator, and has asked nobody anything.
  const { stateAge: age } = status.faults;
  if (age !== undefined) return [service(status), fault('state store', age)];
  return [
    service(status),
    token(status),
    ...keysLeft(status),
    ...timeStamps(status),
    state(status),
    auditLog(status),
    ...registrations(status, clients),
  ];
}

function service({ pid, version, started, notLoaded, lastReload }: StatusView): Diagnosis {
  const refused = lastReload === null ? [] : lastReload.faults;
  if (refused.length > 0) return fault('service', `the last reload was refused: ${refused.join('; ')}; mend it, then signetctl reload`);
  if (notLoaded.length > 0) {
    return warning(
      'service',
      `it runs with another configuration than the file's (${notLoaded.join(', ')}): signetctl reload, or restart it`,
    );
  }
  return good('service', `${version}, process ${pid}, since ${started}`);
}

function token({ faults, tokenWaitingRequests }: StatusView): Diagnosis {
  if (faults['token'] !== undefined) return fault('signing', `${faults['token']}: see the log of signetd, and signetctl token probe`);
  return good('signing', `the token signs; ${tokenWaitingRequests} requests wait for it`);
}

function keysLeft({ keysLeft: left }: StatusView): Diagnosis[] {
  return left.map(({ tokenId, reason }) =>
    warning(
      'signing',
      `key ${tokenId} should be gone and is still on the token (${reason}): see that the token lets keys be destroyed; signetd tries again`,
    ),
  );
}

/** The other warnings are those of certificates and CRLs, which have lines of their own. */
function timeStamps({ warnings: { timeStampAuthority } }: StatusView): Diagnosis[] {
  if (timeStampAuthority === undefined) return [];
  return [
    warning('time-stamps', `${timeStampAuthority}: see to NTP, to timeStampAuthority.clockErrorMaxMilliseconds and to its certificate`),
  ];
}

function state({ faults, state: where }: StatusView): Diagnosis {
  if (faults['state'] !== undefined) return fault('state store', `${where}: ${faults['state']}: look for a full disk, or for its server`);
  return good('state store', `${where} takes writes`);
}

function auditLog({ audit, faults }: StatusView): Diagnosis {
  if (!audit.enabled) return warning('audit log', 'it is switched off: set audit.enabled to true, and restart signetd');
  if (faults['audit'] !== undefined) return fault('audit log', `${faults['audit']}: make room on its disk; signetd goes on by itself`);
  const last = audit.lastCheckpoint === null ? undefined : Date.parse(audit.lastCheckpoint);
  if (audit.recordsSinceCheckpoint > 1 && (last === undefined || Date.now() - last > lateCheckpointMs)) {
    return fault(
      'audit log',
      `no checkpoint since ${audit.lastCheckpoint ?? 'the start'}: the token has to sign them; see the log of signetd`,
    );
  }
  return good('audit log', `it takes records; last checkpoint ${audit.lastCheckpoint ?? 'none yet'}`);
}

function registrations({ tenants }: StatusView, clients: readonly ClientView[]): Diagnosis[] {
  if (clients.length === 0) return [warning('clients', 'nobody is registered: signetctl client add')];
  const homeless = clients.filter(({ tenant }) => !tenants.includes(tenant));
  if (homeless.length === 0) return [good('clients', `${clients.length} are registered`)];
  return homeless.map(({ name, tenant, publicKey }) =>
    warning(
      'clients',
      `${name} is refused, since no tenant "${tenant}" is configured: configure it, or signetctl client revoke ${publicKey}`,
    ),
  );
}
