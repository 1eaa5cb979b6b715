/** Whether the code of an error means that the disk is full, or that the user's quota is used up. */
export function isFullDiskCode(code: unknown): boolean {
  return code === 'ENOSPC' || code === 'EDQUOT';
}
