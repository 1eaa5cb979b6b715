import { plural } from '../../format.js';
import type { Texts } from '../catalog.js';

export const sharingTexts: Texts['sharingTexts'] = {
  about: 'Alle, die den Link haben, können dieses Bild ohne Konto so ansehen, wie Sie es jetzt sehen, und sonst nichts.',
  address: 'Adresse des Links',
  administrators: 'Administratoren dieses Servers',
  annotations: 'Die Annotationen zeigen',
  associated: 'Etikett, Makrobild und andere Begleitbilder zeigen',
  because: 'Grund',
  byFolder: 'Berechtigungen des Ordners',
  byGroup: 'Mitglied der Gruppe',
  byLink: (name, end) => `Link „${name}“, ${end === null ? 'unbefristet' : `bis ${end}`}`,
  byPublic: 'Der Ordner ist öffentlich',
  bySite: 'Uneingeschränkter Zugriff',
  copy: 'Adresse kopieren',
  days: (count) => plural(count, 'Tag', 'Tage'),
  end: 'Der Link gilt',
  ended: 'Dieser Link gilt nicht mehr',
  endedMore:
    'Er ist abgelaufen oder wurde widerrufen, oder wer ihn angelegt hat, darf das Bild nicht mehr sehen. Bitten Sie um einen neuen.',
  everybody: 'Alle',
  folder: (name, others) =>
    others === 0
      ? `Es gelten die Berechtigungen des Ordners „${name}“, der keine anderen Objekte enthält.`
      : `Es gelten die Berechtigungen des Ordners „${name}“. Personen mit Zugriff sehen auch ${plural(others, 'anderes Objekt', 'andere Objekte')}.`,
  holders: 'Alle, die den Link haben',
  linkName: 'Seite des Bildes',
  links: 'Links zur Seite dieses Bildes',
  linkCreated: (date) => `Der Link gilt bis ${date}. Kopieren Sie jetzt seine Adresse: Sie wird nur einmal gezeigt.`,
  make: 'Link anlegen',
  may: 'Berechtigung',
  noLinks: 'Es gibt noch keine Links zu dieser Seite.',
  nothing: 'Noch nichts',
  nothingMore: 'Ordner und Sammlungen, die andere für Sie freigeben, erscheinen hier.',
  onlySome: 'Die übrigen Berechtigungen sehen nur Personen, die den Ordner verwalten dürfen.',
  openFolder: 'Berechtigungen des Ordners',
  title: (name) => `„${name}“ freigeben`,
  who: 'Wer',
  whoMay: 'Wer Zugriff hat',
  withMe: 'Für mich freigegeben',
};

export const stateTexts: Texts['stateTexts'] = {
  any: 'Jeder Status',
  filter: 'Objekte mit diesem Status zeigen',
  none: 'Kein Status',
  save: 'Status speichern',
  saved: 'Status gespeichert.',
  since: (login, date) => `Gesetzt von ${login}, ${date}`,
  state: 'Status',
  stateOfMany: (count) => `Status: ${plural(count, 'Objekt', 'Objekte')}`,
  states: { todo: 'Zu erledigen', review: 'In Prüfung', done: 'Erledigt' },
};
