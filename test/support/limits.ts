import { LimitsConfig } from '../../src/config/limits-config.ts';
import { LimitsInForce } from '../../src/config/limits-in-force.ts';
import { TenantLimitsConfig } from '../../src/config/tenant-limits-config.ts';

/** The limits of a configuration with these sections. */
export function limitsInForce(limits: object, tenants: Readonly<Record<string, object>> = {}): LimitsInForce {
  return new LimitsInForce({
    limits: LimitsConfig.parse(limits),
    tenants: Object.fromEntries(Object.entries(tenants).map(([name, set]) => [name, { limits: TenantLimitsConfig.parse(set) }])),
  });
}
