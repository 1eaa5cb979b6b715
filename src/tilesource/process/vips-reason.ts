/**
 * What libvips says of a failure, in one line. It keeps the reason for the whole process, not for each picture, so that another failure at
 * the same time may take it away.
 */
export function vipsReason(error: unknown): string {
  const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  // Which of its parts says so, and how it was given the file, tells nobody anything.
  const reason = first
    .trim()
    .replace(/^Input (?:buffer|file) has corrupt header: /, '')
    .replace(/^\w+: /, '');
  return reason === '' || reason === 'Unknown error' ? 'libvips gives no reason; the data may be damaged or cut off' : reason;
}
