import { plural } from './format.js';

/** Sharing an image, and the page that a link opens. */
export const sharingTexts = {
  about: 'Anybody who has the link can look at this image as you see it now, without an account, and at nothing else.',
  address: 'Address of the link',
  administrators: 'Administrators of this server',
  annotations: 'Show the annotations',
  associated: 'Show label, macro and other associated images',
  because: 'Because',
  byFolder: 'Permissions of the folder',
  byGroup: 'Member of the group',
  byLink: (name: string, end: string | null) => `Link “${name}”, ${end === null ? 'without an end' : `until ${end}`}`,
  byPublic: 'The folder is public',
  bySite: 'They can do everything',
  copy: 'Copy the address',
  days: (count: number) => plural(count, 'day'),
  end: 'The link works for',
  ended: 'This link no longer works',
  endedMore: 'It has ended, or its maker has revoked it or can no longer see the image. Ask for a new one.',
  everybody: 'Everybody',
  folder: (name: string, others: number) =>
    others === 0
      ? `Permissions are those of the folder “${name}”, which has no other items.`
      : `Permissions are those of the folder “${name}”. People who get them also see ${plural(others, 'other item')}.`,
  holders: 'Anybody with the link',
  linkName: 'Page of the image',
  links: 'Links to the page of this image',
  made: (date: string) => `The link works until ${date}. Copy its address now: it is shown only once.`,
  make: 'Make a link',
  may: 'May',
  noLinks: 'There are no links to this page yet.',
  nothing: 'Nothing yet',
  nothingMore: 'Folders and collections that others share with you appear here.',
  onlySome: 'The other permissions are shown to those who can manage the folder.',
  openFolder: 'Permissions of the folder',
  title: (name: string) => `Share “${name}”`,
  who: 'Who',
  whoMay: 'Who may see this',
  withMe: 'Shared with me',
};

/** How far work on images is. */
export const stateTexts = {
  any: 'Any state',
  filter: 'Show items in the state',
  none: 'No state',
  save: 'Save state',
  saved: 'State saved.',
  since: (login: string, date: string) => `Set by ${login}, ${date}`,
  state: 'State',
  stateOfMany: (count: number) => `State of ${plural(count, 'item')}`,
  states: { todo: 'To do', review: 'In review', done: 'Done' } as Record<string, string>,
};
