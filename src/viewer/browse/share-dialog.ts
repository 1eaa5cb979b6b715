import { requestList, request } from '../api.js';
import type { Documents } from '../answers.js';
import { button, fill, h, icon, messageOf, showMessage } from '../dom.js';
import { showFormDialog, choice } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';
import { personSearch } from './person-search.js';
import type { PlaceEntry } from './edit-dialog.js';

type Grant = Documents['AccessList']['users'][number];

/** Flag that lets users with read access to a folder annotate its items. */
const annotateFlag = 'large_image_create_annotations';

/** The access level of each choice in the dialog: 0 read, 1 write, 2 administer. */
const levelByChoice: Record<string, number> = { see: 0, annotate: 0, change: 1, administer: 2 };

/** The choice in the dialog that stands for the level and the flags of a grant. */
export function levelChoiceOf({ level, flags }: Grant) {
  if (level === 0) return flags.includes(annotateFlag) ? 'annotate' : 'see';
  return level === 1 ? 'change' : 'administer';
}

/** A dialog for the access list of a collection or folder. */
export function sharePlace({ type, doc }: PlaceEntry, onSaved: () => Promise<void>) {
  showShareDialog({ path: `${type}/${doc._id}`, name: doc.name, isPublic: doc.public, onSaved });
}

type ShareOptions = {
  path: `${'annotation' | 'collection' | 'folder'}/${string}`;
  name: string;
  isPublic: boolean;
  onSaved: () => Promise<void>;
};

/**
 * A dialog for the access list of a collection, a folder or an annotation.
 *
 * @param options `path`: the path of the shared document in the API
 */
export function showShareDialog(options: ShareOptions) {
  void loadAndShowDialog(options).catch((error: unknown) => showMessage(messageOf(error)));
}

/**
 * The number of folders or annotations in a place. `private`: how many of them are private; `null` if there are too many to count.
 * `isComplete`: whether all folders of the place were counted.
 */
type ContentCount = { total: number; private: number | null; isComplete: boolean };

const noContents: ContentCount = { total: 0, private: 0, isComplete: true };

/** Maximum number of folders or annotations whose permissions are counted. */
const maxCounted = 500;

/** Maximum number of folders of a collection whose annotations are counted. */
const maxCountedFolders = 20;

/** Counts the folders and annotations in a folder or collection. `rootFolderIds` are the ids of the folders that contain these annotations. */
async function countContents(path: string) {
  const [parentType = '', parentId = ''] = path.split('/');
  const query = { limit: maxCounted };
  const folders = await requestList('folder', { query: { ...query, parentType, parentId } });
  const rootFolderIds = parentType === 'folder' ? [parentId] : folders.entries.map(({ _id }) => _id);
  const countedFolderIds = rootFolderIds.slice(0, maxCountedFolders);
  const lists = await Promise.all(
    countedFolderIds.map((folderId) => requestList(`annotation/folder/${folderId}`, { query: { ...query, recurse: true } })),
  );
  const entries = lists.flatMap((list) => list.entries);
  const total = lists.reduce((sum, list) => sum + list.total, 0);
  return {
    folders: countPrivate(folders.entries, folders.total, true),
    annotations: countPrivate(entries, total, rootFolderIds.length === countedFolderIds.length),
    rootFolderIds,
  };
}

function countPrivate(entries: { public?: boolean }[], total: number, isComplete: boolean): ContentCount {
  const privateCount = entries.filter((entry) => entry.public !== true).length;
  return { total, private: entries.length < total ? null : privateCount, isComplete };
}

async function loadAndShowDialog({ path, name, isPublic, onSaved }: ShareOptions) {
  const isFolderOrCollection = !path.startsWith('annotation/');
  const [{ users, groups }, contents] = await Promise.all([
    request('GET', `${path}/access`),
    isFolderOrCollection ? countContents(path) : { folders: noContents, annotations: noContents, rootFolderIds: [] },
  ]);
  const { folders, annotations } = contents;
  let grants: { kind: 'users' | 'groups'; grant: Grant }[] = [
    ...users.map((grant) => ({ kind: 'users' as const, grant })),
    ...groups.map((grant) => ({ kind: 'groups' as const, grant })),
  ];
  const list = h('ul.grants.column');
  const searchField = personSearch(({ kind, id, name: label, login }) => {
    if (!grants.some(({ grant }) => grant.id === id))
      grants.push({ kind, grant: { id, name: label, level: 0, flags: [], ...(login && { login }) } });
    show();
  });
  show();
  const dialog = showFormDialog({
    title: browseTexts.permissionsOf(name),
    action: commonTexts.save,
    content: [
      folders.total + annotations.total > 0 && h('p.quiet-text.small', browseTexts.inside(folders, annotations)),
      list,
      searchField,
    ],
    fields: [
      { name: 'public', label: browseTexts.everybody, type: 'checkbox', value: isPublic },
      ...(folders.total > 0 ? [{ name: 'recurse', label: browseTexts.alsoSubfolders(folders.total), type: 'checkbox' }] : []),
      ...(annotations.total > 0 ? [{ name: 'annotations', label: browseTexts.alsoAnnotations, type: 'checkbox' }] : []),
    ],
    async send({ annotations: withAnnotations, ...values }) {
      const form = { ...values, access: JSON.stringify({ users: grantsToSend('users'), groups: grantsToSend('groups') }) };
      await request('PUT', `${path}/access`, { form });
      if (withAnnotations === 'true')
        for (const folderId of contents.rootFolderIds)
          await request('PUT', `annotation/folder/${folderId}/access`, { form: { ...form, keepCreators: true } });
      const hiddenCounts = {
        folders: values.recurse === 'true' ? 0 : (folders.private ?? 0),
        annotations: withAnnotations === 'true' ? 0 : (annotations.private ?? 0),
      };
      showMessage(values.public === 'true' ? browseTexts.sharedBut(hiddenCounts) : browseTexts.shared);
      await onSaved();
    },
  });
  dialog.classList.add('wide');

  function grantsToSend(listName: 'users' | 'groups') {
    return grants.filter(({ kind }) => kind === listName).map(({ grant: { id, level, flags } }) => ({ id, level, flags }));
  }

  function show() {
    fill(list, ...grants.map(grantRow), grants.length === 0 && h('li.quiet-text', browseTexts.nobodyElse));
  }

  function grantRow({ kind, grant }: (typeof grants)[number]) {
    const grantee = grant.name ?? grant.id;
    const { see, change, administer } = browseTexts.levels;
    const levelNames = isFolderOrCollection ? browseTexts.levels : { see, change, administer };
    const select = choice(levelNames, levelChoiceOf(grant), { 'aria-label': browseTexts.level(grantee), onchange: setLevel });
    const removeGrant = () => {
      grants = grants.filter((listedGrant) => listedGrant.grant !== grant);
      show();
    };
    const removeButton = button('', removeGrant, { icon: 'close', name: browseTexts.removeNamed(grantee) });
    const granteeName = grant.login ? `${grantee} (${grant.login})` : grantee;
    function setLevel() {
      grant.level = levelByChoice[select.value] ?? 0;
      // Higher levels do not need the flag, so it is not changed.
      if (grant.level > 0) return;
      const otherFlags = grant.flags.filter((flag) => flag !== annotateFlag);
      grant.flags = select.value === 'annotate' ? [...otherFlags, annotateFlag] : otherFlags;
    }
    return h('li.row.wrap', icon(kind === 'users' ? 'person' : 'people'), h('span.break', granteeName), select, removeButton);
  }
}
