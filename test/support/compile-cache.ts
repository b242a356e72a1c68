/** For token hosts, which get nothing else of the environment: where they start from the sources, compiling takes half of it. */
export function compileCache(): { readonly NODE_COMPILE_CACHE?: string } {
  const directory = process.env['NODE_COMPILE_CACHE'];
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: directory };
}
