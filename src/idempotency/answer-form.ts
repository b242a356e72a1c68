import { LongAnswer } from '../documents/long-answer.ts';

/**
 * Minimum length, in characters, of texts that are stored beside the JSON: the JSON stays small,
 * and a text that occurs twice is kept once.
 */
const longCharacters = 1024;

type Path = (string | number)[];

/** An answer as it is kept: JSON, and its long texts. Text that is sent as bytes stays bytes. */
export interface AnswerForm {
  /** A list with the answer, with null in place of long texts. */
  readonly value: unknown;
  readonly places: { readonly path: Path; readonly text: number }[];
  readonly texts: readonly (string | LongAnswer)[];
}

export function formOf(answer: unknown): AnswerForm {
  const texts = new Map<string | Uint8Array, { readonly index: number; readonly text: string | LongAnswer }>();
  const places: { path: Path; text: number }[] = [];
  const apart = (value: unknown, path: Path): unknown => {
    if (value instanceof LongAnswer || (typeof value === 'string' && value.length >= longCharacters)) {
      const key = typeof value === 'string' ? value : value.bytes;
      const known = texts.get(key) ?? { index: texts.size, text: value };
      texts.set(key, known);
      places.push({ path, text: known.index });
      return null;
    }
    if (Array.isArray(value)) return value.map((element, index) => apart(element, [...path, index]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, apart(member, [...path, name])]));
  };
  // In a list, so that an answer that is a single text has a place too.
  const value = apart([answer], []);
  return { value, places, texts: [...texts.values()].map(({ text }) => text) };
}

/** Returns the answer from its form. */
export function answerOf({ value, places, texts }: AnswerForm): unknown {
  for (const { path, text } of places) {
    let holder = value;
    for (const step of path.slice(0, -1)) holder = typeof holder === 'object' && holder !== null ? Reflect.get(holder, step) : undefined;
    const last = path.at(-1);
    if (typeof holder !== 'object' || holder === null || last === undefined) throw new Error('the place of a long text does not exist');
    Reflect.set(holder, last, texts[text]);
  }
  return Array.isArray(value) ? (value[0] as unknown) : undefined;
}

/** Checks whether two answers are equal. Bytes are equal if they are the same memory. */
export function areSame(one: AnswerForm, other: AnswerForm): boolean {
  const textOf = ({ value, places }: AnswerForm): string => JSON.stringify([value, places]);
  return (
    one.texts.length === other.texts.length &&
    one.texts.every((text, index) => {
      const [a, b] = [text, other.texts[index]];
      return a === b || (a instanceof LongAnswer && b instanceof LongAnswer && a.bytes === b.bytes);
    }) &&
    textOf(one) === textOf(other)
  );
}
