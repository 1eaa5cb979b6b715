/**
 * The reason of a libvips failure, in one line. libvips has one text of errors for the process, not one for each picture, so
 * another simultaneous failure may have taken it.
 */
export function vipsReason(error: unknown): string {
  const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  // The prefixes, which name a part of libvips and the kind of input, are removed, because they help no user.
  const reason = first
    .trim()
    .replace(/^Input (?:buffer|file) has corrupt header: /, '')
    .replace(/^\w+: /, '');
  return reason === '' || reason === 'Unknown error' ? 'libvips gives no reason; the data may be damaged or truncated' : reason;
}
