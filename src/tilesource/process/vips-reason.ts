/**
 * The reason of a libvips failure, in one line. libvips keeps one error text for the whole process, so a simultaneous failure may
 * have overwritten the text of this failure.
 */
export function vipsReason(error: unknown): string {
  const [firstLine = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  // Prefixes that name a part of libvips or the kind of input are removed, because they help no user.
  const reason = firstLine
    .trim()
    .replace(/^Input (?:buffer|file) has corrupt header: /, '')
    .replace(/^\w+: /, '');
  return reason === '' || reason === 'Unknown error' ? 'libvips gives no reason; the data may be damaged or truncated' : reason;
}
