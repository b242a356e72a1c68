import type { Registry } from 'prom-client';
import type { Config } from '../config/config.ts';
import { writtenDirectories } from '../config/written-directories.ts';
import { freeSpaceOf } from '../service/free-space.ts';
import { authorityMetrics, timeStampMetrics } from '../telemetry/authority-metrics.ts';
import { configuredCertificateMetrics } from '../telemetry/expiry-metrics.ts';
import { requestMetrics, type RequestMetrics } from '../telemetry/http-metrics.ts';
import type { Logger } from '../telemetry/log.ts';
import { processMetrics } from '../telemetry/metrics.ts';
import { fileSystemMetrics } from '../telemetry/storage-metrics.ts';
import { configuredEnds } from './reminders.ts';

/**
 * Metrics that need nothing but the configuration: of the process and of the disks that it writes
 * to.
 */
export function machineMetrics(registry: Registry, config: Config): void {
  processMetrics(registry);
  fileSystemMetrics(registry, new Map(writtenDirectories(config).map(({ use, path }) => [use, async () => freeSpaceOf(path)])));
}

/**
 * Metrics of a service that does not serve yet, whose other parts are not open: those of the machine,
 * the ends of the certificates in configured files, and refused requests.
 */
export function standByMetrics(registry: Registry, config: Config, log: Logger): RequestMetrics {
  machineMetrics(registry, config);
  const ends = configuredEnds(config, log);
  const endOf = (file: string | undefined): number | undefined => ends.find((one) => one.file === file)?.until.getTime();
  configuredCertificateMetrics(registry, () => ends);
  const authorities = Object.entries(config.certificateAuthorities).map(([name, { certificate }]) => [name, endOf(certificate)] as const);
  const known = new Map(authorities.flatMap(([name, endsMs]) => (endsMs === undefined ? [] : [[name, endsMs] as const])));
  authorityMetrics(registry, () => known);
  timeStampMetrics(registry, () => endOf(config.timeStampAuthority?.certificate));
  return requestMetrics(registry);
}
