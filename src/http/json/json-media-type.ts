const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const quoted = String.raw`"(?:[^"\\]|\\[^\0])*"`;
const essence = new RegExp(`^[ \\t]*(${token}/${token})`);
/** RFC 9110 §5.6.6: one parameter, or none, after a semicolon. */
const parameter = new RegExp(`[ \\t]*;[ \\t]*(?:(${token})=(${token}|${quoted}))?`, 'y');
const utf8: ReadonlySet<string> = new Set(['utf-8', 'utf8']);

/**
 * Returns why a Content-Type is not that of a JSON body; undefined if it is. JSON is UTF-8 (RFC
 * 8259 §8.1): another charset would be another text. Other parameters mean nothing to
 * application/json and are ignored (RFC 2046 §1).
 */
export function jsonMediaTypeFault(contentType: string): string | undefined {
  const [start = '', name = ''] = essence.exec(contentType) ?? [];
  if (name.toLowerCase() !== 'application/json') return 'the Content-Type of the body must be application/json';
  parameter.lastIndex = start.length;
  let end = start.length;
  for (let found = parameter.exec(contentType); found !== null; found = parameter.exec(contentType)) {
    end = parameter.lastIndex;
    const [, attribute, value = ''] = found;
    if (attribute?.toLowerCase() === 'charset' && !utf8.has(unquoted(value).toLowerCase()))
      return 'the charset of a JSON body must be utf-8';
  }
  return contentType.slice(end).trim() === '' ? undefined : 'the Content-Type of the body has parameters that cannot be read';
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : value;
}
