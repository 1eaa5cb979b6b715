/** Scopes that tokens need, as the host names them. */
export const scopes = {
  read: 'core.data.read',
  write: 'core.data.write',
  own: 'core.data.own',
  user: 'core.user_auth',
  readSettings: 'core.setting.read',
} as const;
