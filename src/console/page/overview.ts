import type { History, Overview, Sample } from './answers.ts';
import { element, type Child } from './element.ts';
import { Graph } from './graph.ts';
import { ask } from './session.ts';
import { duration, figure, moment, shortTime } from './wording.ts';

/** A service that has just started is shown in more detail. */
const leastSpanMs = 5 * 60_000;

/** Health and graphs, which everybody sees. */
export class OverviewPage {
  readonly node: HTMLElement;
  readonly #health = element('section', { class: 'health', role: 'status', 'aria-label': 'Health' });
  readonly #graphs: readonly Graph[];
  #samples: Sample[] = [];
  #shown = '';

  constructor() {
    this.#graphs = graphs();
    this.node = element(
      'div',
      { class: 'stack' },
      this.#health,
      element('div', { class: 'graphs' }, ...this.#graphs.map(({ node }) => node)),
    );
  }

  /** Reads everything again. @throws {Failure}, after it has said so */
  async refresh(): Promise<void> {
    try {
      const [overview, history] = await Promise.all([
        ask<Overview>('overview'),
        ask<History>(`history?after=${this.#samples.at(-1)?.timeMs ?? 0}`),
      ]);
      this.#showHealth(overview);
      this.#showHistory(history, Date.parse(overview.now));
    } catch (error) {
      this.#show('bad', 'No answer', ['signetd does not answer. It may be restarting; this page tries again by itself.'], []);
      throw error;
    }
  }

  #showHealth({ isReady, faults, warnings, version, started, now }: Overview): void {
    const uptime = duration((Date.parse(now) - Date.parse(started)) / 1000);
    const hasWarnings = Object.keys(warnings).length > 0;
    const about: Child[] = [`Version ${version} · running for ${uptime}, since `, moment(started), ' UTC'];
    const list = (tone: string, of: Readonly<Record<string, string>>): HTMLElement[] =>
      Object.entries(of).map(([part, text]) =>
        element('li', { class: tone }, element('strong', {}, `${part}: `), element('span', {}, text)),
      );
    const title = isReady ? (hasWarnings ? 'Ready, with warnings' : 'Ready') : 'Not ready';
    this.#show(isReady ? (hasWarnings ? 'warn' : 'good') : 'bad', title, about, [...list('bad', faults), ...list('warn', warnings)]);
  }

  /** Changes nothing while nothing changes, so that a screen reader does not repeat it. */
  #show(tone: string, title: string, about: readonly Child[], reasons: readonly HTMLElement[]): void {
    const heading = element('div', {}, element('h1', {}, title), element('p', { class: 'quiet' }, ...about));
    const children = [
      element('div', { class: 'headline' }, element('span', { class: `lamp ${tone}`, 'aria-hidden': 'true' }), heading),
      ...(reasons.length === 0 ? [] : [element('ul', { class: 'reasons' }, ...reasons)]),
    ];
    const text = children.map((child) => child.textContent).join('\n');
    if (text === this.#shown) return;
    this.#shown = text;
    this.#health.className = `health card ${tone}`;
    this.#health.replaceChildren(...children);
  }

  #showHistory({ samples, spanSeconds }: History, nowMs: number): void {
    const spanMs = spanSeconds * 1000;
    // After a restart of the service its history begins anew; the page keeps what it has.
    this.#samples = [...this.#samples, ...samples].filter(({ timeMs }) => timeMs > nowMs - spanMs);
    const toMs = Math.max(nowMs, this.#samples.at(-1)?.timeMs ?? 0);
    const known = this.#samples[0] === undefined ? 0 : toMs - this.#samples[0].timeMs;
    for (const graph of this.#graphs) graph.draw(this.#samples, toMs, Math.min(spanMs, Math.max(leastSpanMs, known)));
  }
}

function graphs(): Graph[] {
  return [
    new Graph({
      title: 'Requests per second',
      lines: [
        { name: 'all', look: 'first', isFilled: true, value: (sample) => sample.requestsPerSecond },
        { name: 'errors', look: 'error', value: (sample) => sample.errorsPerSecond },
      ],
      ...{ text: figure, without: 'The first values come in a few seconds', leastTop: 1 },
    }),
    new Graph({
      title: 'Time to answer',
      lines: [
        { name: 'median', look: 'first', value: (sample) => sample.requestP50 },
        { name: '99 %', look: 'second', value: (sample) => sample.requestP99 },
      ],
      ...{ text: shortTime, without: 'No requests yet', leastTop: 0.001 },
    }),
    new Graph({
      title: 'Time of a token call',
      lines: [
        { name: 'median', look: 'first', value: (sample) => sample.tokenP50 },
        { name: '99 %', look: 'second', value: (sample) => sample.tokenP99 },
      ],
      ...{ text: shortTime, without: 'No calls yet', leastTop: 0.001 },
    }),
    new Graph({
      title: 'Requests waiting for the token',
      lines: [{ name: 'waiting', look: 'first', isFilled: true, value: (sample) => sample.tokenWaiting }],
      ...{ text: figure, without: '', leastTop: 2 },
    }),
  ];
}
