import { readFileSync } from 'node:fs';
import { z } from 'zod';

const Target = z.object({ refId: z.string(), expr: z.string() });
const Dashboard = z.object({
  panels: z.array(z.object({ title: z.string(), type: z.string(), targets: z.array(Target).default([]) })),
  annotations: z.object({ list: z.array(z.object({ name: z.string(), expr: z.string() })) }),
  templating: z.object({ list: z.array(z.object({ name: z.string() })) }),
});

interface DashboardQuery {
  /** The panel and the number of the query in it. */
  readonly place: string;
  readonly expression: string;
}

const dashboard = Dashboard.parse(JSON.parse(readFileSync('packaging/monitoring/signetd-dashboard.json', 'utf8')));

/** The queries of the panels of the dashboard, with all jobs and instances. */
export const panelQueries: readonly DashboardQuery[] = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ refId, expr }) => ({ place: `${title} ${refId}`, expression: filledIn(expr) })),
);

/** Panels that show nothing. */
export const emptyPanels = dashboard.panels.filter(({ type, targets }) => type !== 'row' && targets.length === 0).map(({ title }) => title);

/** The queries of the marks on all panels. */
export const annotationQueries: readonly string[] = dashboard.annotations.list.map(({ expr }) => filledIn(expr));

function filledIn(expression: string): string {
  return expression.replaceAll('$__rate_interval', '10m').replaceAll(/\$(?:job|instance)\b/g, '.+');
}
