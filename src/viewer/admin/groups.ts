import { requestList, request } from '../api.js';
import type { Documents } from '../answers.js';
import { askToRemove, nameFields, removeDocument } from '../browse/dialog-parts.js';
import { personSearch, type PersonOrGroup } from '../browse/person-search.js';
import { readPage } from '../browse/paging.js';
import { actions, button, errorNotice, fill, h, icon, linkButton, showPlainDialog } from '../dom.js';
import { showFormDialog, checkbox } from '../forms.js';
import { nameOf } from '../session.js';
import { browseTexts, commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';
import { createNotice, panel, table, type SectionBuilder } from './parts.js';

type Group = Documents['Group'];

export async function groupsSection({ signal, route }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  const page = readPage(route.query, { size: 50, listName: 'groups' });
  const notice = createNotice();
  const groupList = h('div.stack.column');
  await showGroups();
  const createButton = button(commonTexts.newGroup, () => editGroup(null), { icon: 'plus', kind: 'primary' });
  return [panel(commonTexts.groups, actions(createButton), notice.element, groupList)];

  async function showGroups() {
    const { entries, total } = await requestList('group', { query: { ...page.query, sort: 'lowerName' }, signal });
    const columns = [commonTexts.name, commonTexts.description, commonTexts.edit];
    if (total === 0) fill(groupList, h('p.quiet-text', commonTexts.none));
    else fill(groupList, table(columns, entries.map(groupRow), commonTexts.groups), page.createLinks(total));
  }

  function groupRow(group: Group) {
    return [
      group.name,
      group.description,
      h(
        'span.row',
        linkButton(adminTexts.members, () => showMembersDialog(group), adminTexts.membersOf(group.name)),
        linkButton(commonTexts.edit, () => editGroup(group), browseTexts.editNamed(group.name)),
      ),
    ];
  }

  async function showResult(text: string) {
    notice.showSuccess(text);
    await showGroups();
    return text;
  }

  function editGroup(group: Group | null) {
    const remove = () => (dialog.close(), removeGroup(group as Group));
    const dialog = showFormDialog({
      title: group ? browseTexts.editNamed(group.name) : commonTexts.newGroup,
      action: group ? commonTexts.save : adminTexts.createGroup,
      fields: [
        ...nameFields(group ?? {}),
        { name: 'public', label: adminTexts.publicGroup, type: 'checkbox', value: group?.public ?? false },
      ],
      otherButtons: group ? [button(commonTexts.delete, remove)] : [],
      async send(form) {
        if (group) await request('PUT', `group/${group._id}`, { form });
        else await request('POST', 'group', { form });
        await showResult(commonTexts.saved);
      },
    });
  }

  function removeGroup({ _id, name }: Group) {
    askToRemove({
      title: browseTexts.deleteNamed(name),
      text: adminTexts.deleteGroupText,
      remove: async () => showResult(await removeDocument(`group/${_id}`)),
    });
  }
}

/** The members of a group, invited users, and users who ask to become members. */
function showMembersDialog({ _id: id, name }: Group) {
  const people = h('ul.grants.column');
  const notice = h('div');
  const inviteOnlyBox = checkbox(adminTexts.inviteOnly);
  const searchField = personSearch((person) => void changeAndShow(() => inviteOrAdd(person)), ['user']);
  showPlainDialog(adminTexts.membersOf(name), searchField, inviteOnlyBox.element, notice, people);
  void changeAndShow(async () => {});

  async function changeAndShow(change: () => Promise<unknown>) {
    fill(notice);
    try {
      await change();
      const query = { limit: 0 };
      const [members, invitations, { requests }] = await Promise.all([
        requestList(`group/${id}/member`, { query }),
        requestList(`group/${id}/invitation`, { query }),
        request('GET', `group/${id}/access`),
      ]);
      fill(
        people,
        ...requests.map((applicant) => memberRow(applicant.id, applicant.name, adminTexts.asks)),
        ...invitations.entries.map((user) => memberRow(user._id, nameOf(user), adminTexts.invited)),
        ...members.entries.map((user) => memberRow(user._id, nameOf(user), '')),
      );
    } catch (error) {
      fill(notice, errorNotice(error));
    }
  }

  function inviteOrAdd({ id: userId }: Pick<PersonOrGroup, 'id'>, force = !inviteOnlyBox.input.checked) {
    return request('POST', `group/${id}/invitation`, { query: { userId, force } });
  }

  function memberRow(userId: string, label: string, note: string) {
    const removeMember = () => void changeAndShow(() => request('DELETE', `group/${id}/member`, { query: { userId } }));
    const admit = () => void changeAndShow(() => inviteOrAdd({ id: userId }, true));
    return h(
      'li.row.wrap',
      icon('person'),
      h('span', label, note && h('em.quiet-text', ` ${note}`)),
      note !== '' && button(adminTexts.admit, admit, { name: adminTexts.admitNamed(label) }),
      button('', removeMember, { icon: 'close', name: browseTexts.removeNamed(label) }),
    );
  }
}
