import { plural } from './format.js';

/** Sharing an image, and the page that a link opens. */
export const sharingTexts = {
  about: 'Anyone who has the link can see this image as you see it now, without an account. They can see nothing else.',
  address: 'Address of the link',
  administrators: 'Administrators of this server',
  annotations: 'Show the annotations',
  associated: 'Show label, macro and other associated images',
  because: 'Reason',
  byFolder: 'Permissions of the folder',
  byGroup: 'Member of the group',
  byLink: (name: string, end: string | null) => `Link “${name}”, ${end === null ? 'never expires' : `until ${end}`}`,
  byPublic: 'The folder is public',
  bySite: 'Full access to everything',
  copy: 'Copy the address',
  days: (count: number) => plural(count, 'day'),
  end: 'The link works for',
  ended: 'This link no longer works',
  endedMore: 'It has expired or was revoked, or its creator can no longer see the image. Ask for a new one.',
  everybody: 'Everybody',
  folder: (name: string, others: number) =>
    others === 0
      ? `This image has the permissions of its folder “${name}”, which contains no other items.`
      : `This image has the permissions of its folder “${name}”. People with access also see ${plural(others, 'other item')}.`,
  holders: 'Anyone with the link',
  linkName: 'Page of the image',
  links: 'Links to the page of this image',
  linkCreated: (date: string) => `The link works until ${date}. Copy its address now: it is shown only once.`,
  make: 'Create a link',
  may: 'Permission',
  noLinks: 'There are no links to this page yet.',
  nothing: 'Nothing yet',
  nothingMore: 'Folders and collections that others share with you appear here.',
  onlySome: 'Only people who can manage the folder see the other permissions.',
  openFolder: 'Permissions of the folder',
  title: (name: string) => `Share “${name}”`,
  who: 'Who',
  whoMay: 'Who has access',
  withMe: 'Shared with me',
};

/** The review states of images. */
export const stateTexts = {
  any: 'Any state',
  filter: 'Show items in this state',
  none: 'No state',
  save: 'Save state',
  saved: 'State saved.',
  since: (login: string, date: string) => `Set by ${login}, ${date}`,
  state: 'State',
  stateOfMany: (count: number) => `State of ${plural(count, 'item')}`,
  states: { todo: 'To do', review: 'In review', done: 'Done' } as Record<string, string>,
};
