interface UriReference {
  readonly scheme: string | undefined;
  readonly authority: string | undefined;
  readonly path: string;
  readonly query: string | undefined;
}

/**
 * Returns the combination of two values of xml:base by "join-URI-References" of Canonical XML 1.1,
 * 2.4: RFC 3986, 5.2, for a base that may lack a scheme, without the fragment of the reference.
 */
export function joinUriReferences(base: string, reference: string): string {
  const outer = parse(base);
  const inner = parse(reference);
  if (inner.scheme !== undefined) return compose({ ...inner, path: removeDotSegments(inner.path) });
  if (inner.authority !== undefined) return compose({ ...inner, scheme: outer.scheme, path: removeDotSegments(inner.path) });
  if (inner.path === '') return compose({ ...outer, query: inner.query ?? outer.query });
  const path = removeDotSegments(inner.path.startsWith('/') ? inner.path : merge(outer, inner.path));
  return compose({ ...outer, path, query: inner.query });
}

/** RFC 3986, appendix B. The last segment `..` of a path has a `/` added. */
function parse(reference: string): UriReference {
  const parts = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?/s.exec(reference);
  const path = parts?.[3] ?? '';
  return { scheme: parts?.[1], authority: parts?.[2], path: /(?:^|\/)\.\.$/.test(path) ? `${path}/` : path, query: parts?.[4] };
}

/** RFC 3986, 5.3. */
function compose({ scheme, authority, path, query }: UriReference): string {
  return [
    scheme === undefined ? '' : `${scheme}:`,
    authority === undefined ? '' : `//${authority}`,
    path,
    query === undefined ? '' : `?${query}`,
  ].join('');
}

/** RFC 3986, 5.2.3. */
function merge(base: UriReference, path: string): string {
  if (base.authority !== undefined && base.path === '') return `/${path}`;
  return base.path.slice(0, base.path.lastIndexOf('/') + 1) + path;
}

/**
 * RFC 3986, 5.2.4 as Canonical XML 1.1 modifies it: `../` at the start of a relative path remains,
 * several `/` become one, and `..` at the end becomes `../`.
 */
export function removeDotSegments(path: string): string {
  const isAbsolute = path.startsWith('/');
  const kept: string[] = [];
  const segments = path.split('/');
  segments.forEach((segment, index) => {
    const isLast = index === segments.length - 1;
    if (segment === '..') {
      if (kept.length > 0 && kept.at(-1) !== '../') kept.pop();
      else if (!isAbsolute) kept.push('../');
    } else if (segment !== '' && segment !== '.') {
      kept.push(isLast ? segment : `${segment}/`);
    }
  });
  return (isAbsolute ? '/' : '') + kept.join('');
}
