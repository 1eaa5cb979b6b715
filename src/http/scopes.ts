/** Token scopes, with the names that hosts know. */
export const scopes = {
  read: 'core.data.read',
  write: 'core.data.write',
  own: 'core.data.own',
  user: 'core.user_auth',
  readSettings: 'core.setting.read',
} as const;
