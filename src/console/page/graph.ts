import type { Sample } from './answers.ts';
import { element, svgElement } from './element.ts';
import { duration } from './wording.ts';

const [width, height] = [600, 150];

/** A line of a graph. */
export interface Line {
  readonly name: string;
  /** Class of its colour. */
  readonly look: 'first' | 'second' | 'error';
  readonly isFilled?: boolean;
  readonly value: (sample: Sample) => number | null;
}

export interface GraphOptions {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly text: (value: number) => string;
  /** Said in place of a picture while there are no values. */
  readonly without: string;
  /** The scale is never smaller. */
  readonly leastTop: number;
}

/**
 * A graph of the last hour or less, with its figures in words below: the picture says nothing more.
 */
export class Graph {
  readonly node: HTMLElement;
  readonly #options: GraphOptions;
  readonly #plot = svgElement('svg', {
    class: 'plot',
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  });
  readonly #top = element('span', { class: 'top' });
  readonly #middle = element('span', { class: 'middle' });
  readonly #without = element('span', { class: 'without' });
  readonly #from = element('span');
  readonly #legend = element('ul', { class: 'legend' });
  readonly #readout = element('p', { class: 'readout', 'aria-hidden': 'true' });
  #shown: { readonly samples: readonly Sample[]; readonly fromMs: number; readonly spanMs: number } | undefined;

  constructor(options: GraphOptions) {
    this.#options = options;
    const frame = element('div', { class: 'frame', 'aria-hidden': 'true' }, this.#plot, this.#top, this.#middle, this.#without);
    const axis = element('div', { class: 'axis', 'aria-hidden': 'true' }, this.#from, this.#readout, element('span', {}, 'now'));
    this.node = element('section', { class: 'card graph' }, element('h2', {}, options.title), this.#legend, frame, axis);
    frame.addEventListener('pointermove', (event) => {
      this.#point((event.clientX - frame.getBoundingClientRect().left) / frame.clientWidth);
    });
    frame.addEventListener('pointerleave', () => {
      this.#readout.textContent = '';
      this.#plot.querySelector('.cursor')?.remove();
    });
  }

  draw(samples: readonly Sample[], toMs: number, spanMs: number): void {
    const { lines, text, leastTop, without } = this.#options;
    const fromMs = toMs - spanMs;
    this.#shown = { samples, fromMs, spanMs };
    const values = lines.flatMap(({ value }) => samples.map(value)).filter((value) => value !== null);
    const top = roundedUp(Math.max(leastTop, ...values));
    const x = (timeMs: number): number => (width * (timeMs - fromMs)) / spanMs;
    const y = (value: number): number => height - (height * value) / top;
    // The first line lies above the others.
    const paths = lines.toReversed().flatMap((line) => pathsOf(line, samples, x, y));
    const rules = [0.5, 1].map((part) => svgElement('path', { class: 'rule', d: `M0 ${(height * (1 - part)).toFixed(1)}H${width}` }));
    this.#plot.replaceChildren(...outages(samples, x), ...rules, ...paths);
    this.#top.textContent = text(top);
    this.#middle.textContent = text(top / 2);
    this.#legend.replaceChildren(...lines.map((line) => legendEntry(line, samples, text)));
    if (samples.some(isOutage)) {
      const key = element('span', { class: 'key outage', 'aria-hidden': 'true' });
      this.#legend.append(element('li', {}, key, element('span', { class: 'name' }, 'token not connected')));
    }
    this.#without.textContent = values.length === 0 ? without : '';
    this.#from.textContent = `${duration(spanMs / 1000)} ago`;
  }

  /** Shows the values at a place of the plot, 0 to 1. */
  #point(place: number): void {
    if (this.#shown === undefined) return;
    const { samples, fromMs, spanMs } = this.#shown;
    const wantedMs = fromMs + place * spanMs;
    const nearest = samples.reduce<Sample | undefined>(
      (best, sample) => (best === undefined || Math.abs(sample.timeMs - wantedMs) < Math.abs(best.timeMs - wantedMs) ? sample : best),
      undefined,
    );
    if (nearest === undefined) return;
    const { lines, text } = this.#options;
    const words = lines.map(({ name, value }) => `${name} ${worded(value(nearest), text)}`);
    this.#readout.textContent = `${new Date(nearest.timeMs).toISOString().slice(11, 19)} · ${words.join(' · ')}`;
    this.#plot.querySelector('.cursor')?.remove();
    const x = (width * (nearest.timeMs - fromMs)) / spanMs;
    this.#plot.append(svgElement('path', { class: 'cursor', d: `M${x.toFixed(1)} 0V${height}` }));
  }
}

type Scale = (value: number) => number;

/** A line has a gap where there is no value; a value between gaps is a dot. */
function pathsOf({ look, isFilled = false, value }: Line, samples: readonly Sample[], x: Scale, y: Scale): SVGElement[] {
  const runs: { readonly x: string; readonly y: string }[][] = [[]];
  for (const sample of samples) {
    const at = value(sample);
    if (at === null) runs.push([]);
    else runs.at(-1)?.push({ x: x(sample.timeMs).toFixed(1), y: y(at).toFixed(1) });
  }
  const texts = runs
    .filter((run) => run.length > 0)
    .map((run) => ({ first: run[0]?.x ?? '', last: run.at(-1)?.x ?? '', points: run.map((point) => `${point.x} ${point.y}`) }));
  const area = texts.map(({ first, last, points }) => `M${first} ${height}L${points.join('L')}L${last} ${height}Z`);
  const lines = texts.map(({ points }) => `M${points.join('L')}`);
  const dots = texts.flatMap(({ points }) => (points.length === 1 ? [`M${points.join('')}h0`] : []));
  return [
    ...(isFilled ? [svgElement('path', { class: `area ${look}`, d: area.join('') })] : []),
    svgElement('path', { class: `line ${look}`, d: lines.join('') }),
    svgElement('path', { class: `line dots ${look}`, d: dots.join('') }),
  ];
}

function isOutage({ tokenReady }: Sample): boolean {
  return tokenReady === 0;
}

/** Marks the times at which the token was not connected. */
function outages(samples: readonly Sample[], x: Scale): SVGElement[] {
  return samples.flatMap((sample, index) => {
    if (!isOutage(sample)) return [];
    const { timeMs } = sample;
    const from = x(samples[index - 1]?.timeMs ?? timeMs);
    return [
      svgElement('rect', {
        class: 'outage',
        x: from.toFixed(1),
        y: '0',
        width: Math.max(1, x(timeMs) - from).toFixed(1),
        height: String(height),
      }),
    ];
  });
}

function legendEntry({ name, look, value }: Line, samples: readonly Sample[], text: (value: number) => string): HTMLElement {
  const values = samples.map(value);
  const known = values.filter((one) => one !== null);
  const highest = known.length === 0 ? null : Math.max(...known);
  return element(
    'li',
    {},
    element('span', { class: `key ${look}`, 'aria-hidden': 'true' }),
    element('span', { class: 'name' }, name),
    element('strong', { class: 'figures' }, worded(values.at(-1) ?? null, text)),
    element('span', { class: 'quiet figures' }, `max ${worded(highest, text)}`),
  );
}

function worded(value: number | null, text: (value: number) => string): string {
  return value === null ? '–' : text(value);
}

/** 1, 2 or 5 times a power of ten. */
function roundedUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5, 10].find((step) => step * power >= value * 0.999) ?? 10) * power;
}
