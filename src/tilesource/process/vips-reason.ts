/**
 * What libvips says of a failure, in one line. It keeps the reason for the whole process, not for each picture, so that another failure at
 * the same time may take it away.
 */
export function vipsReason(error: unknown): string {
  const [first = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
  const reason = first.trim();
  return reason === '' || reason === 'Unknown error' ? 'libvips gives no reason; the data may be damaged or cut off' : reason;
}
