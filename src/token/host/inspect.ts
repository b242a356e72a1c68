import type { TokenConfig } from '../../config/config.ts';
import type { ProbeReport } from '../probe-report.ts';
import { prepare } from './prepare.ts';
import { probeToken } from './probe.ts';
import { loadModule, logIn, openSession, slotOf } from './session.ts';

/** Tries everything on the token, in this process and without a host; for an operator, while no host runs. Takes seconds, for the RSA keys. */
export function inspectToken(config: TokenConfig): ProbeReport {
  const prepared = prepare(config);
  const module = loadModule(prepared.modulePath);
  const slot = slotOf(module, config.label);
  logIn(openSession(module, slot), prepared.pin);
  return probeToken(openSession(module, slot), slot, prepared.profile, { full: true }).report;
}
