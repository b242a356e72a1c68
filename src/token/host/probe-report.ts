import type { ProbeReport } from '../wire/reports.ts';
import { judgeMechanisms, reportMechanisms } from './mechanism-report.ts';
import type { Session } from './session.ts';
import { reportToken, versionText } from './token-report.ts';

/** What the module and its token say of themselves, and whether that is what signetd needs. */
export function probeReport({ module, handle }: Session): ProbeReport {
  const info = module.C_GetInfo();
  const slot = module.C_GetSessionInfo(handle).slotID;
  return {
    module: {
      description: info.libraryDescription.trim(),
      manufacturer: info.manufacturerID.trim(),
      version: versionText(info.libraryVersion),
      cryptokiVersion: versionText(info.cryptokiVersion),
    },
    token: reportToken(module, slot),
    ...judgeMechanisms(reportMechanisms(module, slot)),
  };
}
