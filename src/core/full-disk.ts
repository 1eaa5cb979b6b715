/** Whether the code of an error says that the disk is full, or the quota of the user is used up. */
export function isFullDisk(code: unknown): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT';
}
