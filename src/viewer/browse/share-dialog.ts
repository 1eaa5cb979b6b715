import { requestList as listOf, request } from '../api.js';
import type { Documents } from '../answers.js';
import { button, fill, h, icon, messageOf, showMessage } from '../dom.js';
import { showFormDialog, choice } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';
import { personSearch } from './person-search.js';
import type { PlaceEntry } from './edit-dialog.js';

type Grant = Documents['AccessList']['users'][number];

/** Flag that lets users with read access to a folder annotate its items. */
const annotateFlag = 'large_image_create_annotations';

const levels: Record<string, number> = { see: 0, annotate: 0, change: 1, administer: 2 };

export function levelOf({ level, flags }: Grant) {
  if (level === 0) return flags.includes(annotateFlag) ? 'annotate' : 'see';
  return level === 1 ? 'change' : 'administer';
}

/** A dialog for the access list of a collection or folder. */
export function share({ type, doc }: PlaceEntry, onSaved: () => Promise<void>) {
  shareDialog({ path: `${type}/${doc._id}`, name: doc.name, isPublic: doc.public, onSaved });
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
 * @param options `path`: its path in the API
 */
export function shareDialog(options: ShareOptions) {
  void open(options).catch((error: unknown) => showMessage(messageOf(error)));
}

/** The number of folders or annotations inside, and how many of them are private; `null` if there are too many to count. */
type Inside = { total: number; private: number | null; isComplete: boolean };

const none: Inside = { total: 0, private: 0, isComplete: true };

/** Maximum number of folders or annotations whose permissions are counted. */
const maxCounted = 500;

/** Maximum number of folders of a collection whose annotations are counted. */
const maxRoots = 20;

/** The contents of a folder or collection that the user can share. `roots` are the folders with these annotations. */
async function insideOf(path: string) {
  const [parentType = '', parentId = ''] = path.split('/');
  const query = { limit: maxCounted };
  const folders = await listOf('folder', { query: { ...query, parentType, parentId } });
  const roots = parentType === 'folder' ? [parentId] : folders.entries.map(({ _id }) => _id);
  const countedRoots = roots.slice(0, maxRoots);
  const lists = await Promise.all(
    countedRoots.map((root) => listOf(`annotation/folder/${root}`, { query: { ...query, recurse: true } })),
  );
  const entries = lists.flatMap((list) => list.entries);
  const total = lists.reduce((sum, list) => sum + list.total, 0);
  return {
    folders: countPrivate(folders.entries, folders.total, true),
    annotations: countPrivate(entries, total, roots.length === countedRoots.length),
    roots,
  };
}

function countPrivate(entries: { public?: boolean }[], total: number, isComplete: boolean): Inside {
  const hidden = entries.filter((entry) => entry.public !== true).length;
  return { total, private: entries.length < total ? null : hidden, isComplete };
}

async function open({ path, name, isPublic, onSaved }: ShareOptions) {
  const isTree = !path.startsWith('annotation/');
  const [{ users, groups }, inside] = await Promise.all([
    request('GET', `${path}/access`),
    isTree ? insideOf(path) : { folders: none, annotations: none, roots: [] },
  ]);
  const { folders, annotations } = inside;
  let grants: { kind: 'users' | 'groups'; grant: Grant }[] = [
    ...users.map((grant) => ({ kind: 'users' as const, grant })),
    ...groups.map((grant) => ({ kind: 'groups' as const, grant })),
  ];
  const list = h('ul.grants.column');
  const search = personSearch(({ kind, id, name: label, login }) => {
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
      search,
    ],
    fields: [
      { name: 'public', label: browseTexts.everybody, type: 'checkbox', value: isPublic },
      ...(folders.total > 0 ? [{ name: 'recurse', label: browseTexts.alsoSubfolders(folders.total), type: 'checkbox' }] : []),
      ...(annotations.total > 0 ? [{ name: 'annotations', label: browseTexts.alsoAnnotations, type: 'checkbox' }] : []),
    ],
    async send({ annotations: withAnnotations, ...values }) {
      const form = { ...values, access: JSON.stringify({ users: granted('users'), groups: granted('groups') }) };
      await request('PUT', `${path}/access`, { form });
      if (withAnnotations === 'true')
        for (const root of inside.roots)
          await request('PUT', `annotation/folder/${root}/access`, { form: { ...form, keepCreators: true } });
      const hidden = {
        folders: values.recurse === 'true' ? 0 : (folders.private ?? 0),
        annotations: withAnnotations === 'true' ? 0 : (annotations.private ?? 0),
      };
      showMessage(values.public === 'true' ? browseTexts.sharedBut(hidden) : browseTexts.shared);
      await onSaved();
    },
  });
  dialog.classList.add('wide');

  function granted(listName: 'users' | 'groups') {
    return grants.filter(({ kind }) => kind === listName).map(({ grant: { id, level, flags } }) => ({ id, level, flags }));
  }

  function show() {
    fill(list, ...grants.map(row), grants.length === 0 && h('li.quiet-text', browseTexts.nobodyElse));
  }

  function row({ kind, grant }: (typeof grants)[number]) {
    const grantee = grant.name ?? grant.id;
    const { see, change, administer } = browseTexts.levels;
    const names = isTree ? browseTexts.levels : { see, change, administer };
    const select = choice(names, levelOf(grant), { 'aria-label': browseTexts.level(grantee), onchange: set });
    const drop = () => {
      grants = grants.filter((other) => other.grant !== grant);
      show();
    };
    const remove = button('', drop, { picture: 'close', name: browseTexts.removeNamed(grantee) });
    const who = grant.login ? `${grantee} (${grant.login})` : grantee;
    function set() {
      grant.level = levels[select.value] ?? 0;
      // A higher level does not change the flags.
      if (grant.level > 0) return;
      const others = grant.flags.filter((flag) => flag !== annotateFlag);
      grant.flags = select.value === 'annotate' ? [...others, annotateFlag] : others;
    }
    return h('li.row.wrap', icon(kind === 'users' ? 'person' : 'people'), h('span.break', who), select, remove);
  }
}
