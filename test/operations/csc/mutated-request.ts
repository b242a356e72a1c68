import * as fc from 'fast-check';

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

const values: fc.Arbitrary<Json> = fc.oneof(
  fc.constantFrom<Json>('', 'A', 'AAAA', '\ud800', '1.2.3', '1.2.840.10045.4.3.2', 0, -1, 1.5, 1e21, true, null, [], {}, ['x'], {
    id: 'PIN',
  }),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
);
const names = fc.oneof(
  fc.constantFrom('__proto__', 'constructor', 'toString', 'SAD', 'hash', 'hashes', 'PIN', 'OTP', 'credentialID', 'length', '0'),
  fc.string(),
);
const change = fc.record({ place: fc.nat(), kind: fc.constantFrom('replace', 'delete', 'add', 'repeat'), name: names, value: values });

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** How a request is changed: at one to three places, each time whatever is there. */
export const changes = fc.array(change, { minLength: 1, maxLength: 3 });

/** Returns the text of a request that was changed. */
export function mutated(request: object, asked: readonly Change[]): string {
  const body: unknown = JSON.parse(JSON.stringify(request));
  for (const { place, kind, name, value } of asked) {
    const places = placesIn(body);
    const [holder, at] = places[place % places.length] ?? [];
    if (holder === undefined || at === undefined) continue;
    if (kind === 'delete' && !Array.isArray(holder)) Reflect.deleteProperty(holder, at);
    else if (kind === 'replace') set(holder, at, value);
    else if (kind === 'add') set(holder, Array.isArray(holder) ? String(holder.length) : name, value);
    else set(holder, at, [Reflect.get(holder, at), Reflect.get(holder, at)]);
  }
  return JSON.stringify(body);
}

/** As JSON.parse does: a member named `__proto__` is one like any other. */
function set(holder: object, name: string, given: unknown): void {
  // Values are shared by all requests.
  const value: unknown = given === undefined ? undefined : JSON.parse(JSON.stringify(given));
  Object.defineProperty(holder, name, { value, enumerable: true, configurable: true, writable: true });
}

function placesIn(value: unknown): [holder: object, name: string][] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Object.keys(value).map((name): [object, string] => [value, name]);
  return [...own, ...Object.keys(value).flatMap((name) => placesIn(Reflect.get(value, name)))];
}
