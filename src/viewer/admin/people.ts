import { requestList, request } from '../api.js';
import { askToRemove, removeDocument } from '../browse/dialog-parts.js';
import { findByName } from '../browse/person-search.js';
import { readPage } from '../browse/paging.js';
import { actions, button, debounced, fill, h, linkButton } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { currentUser, nameOf, type User } from '../session.js';
import { accountTexts, browseTexts, commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';
import { registerFields } from '../views/account.js';
import { createNotice, panel, table, type SectionBuilder } from './parts.js';

/** The users. Administrators create, change, enable and disable accounts here, and set passwords. */
export async function peopleSection({ signal, route }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  const page = readPage(route.query, { size: 50, listName: 'people' });
  const notice = createNotice();
  const userList = h('div.stack.column');
  const searchInput = h('input', {
    type: 'search',
    'aria-label': adminTexts.findPeople,
    placeholder: commonTexts.search,
    oninput: debounced(() => void showUsers().catch(notice.showError)),
  });
  await showUsers();
  const createButton = button(adminTexts.newUser, createUser, { icon: 'plus', kind: 'primary' });
  return [panel(adminTexts.people, actions(h('div.field.column', searchInput), createButton), notice.element, userList)];

  async function showUsers() {
    const words = searchInput.value.trim();
    const { entries, total } =
      words === ''
        ? await requestList('user', { query: { ...page.query, sort: 'lastName' }, signal })
        : { entries: (await findByName(words, ['user'])).user, total: 0 };
    if (searchInput.value.trim() !== words) return;
    const columns = [commonTexts.name, commonTexts.login, commonTexts.email, adminTexts.state, commonTexts.edit];
    fill(userList, table(columns, entries.map(userRow), adminTexts.people), words === '' && page.createLinks(total));
  }

  function userRow(user: User) {
    const name = nameOf(user);
    const state = [user.admin && adminTexts.administrator, adminTexts.states[user.status ?? 'enabled']]
      .filter(Boolean)
      .join(', ');
    const editButton = linkButton(commonTexts.edit, () => editUser(user), browseTexts.editNamed(name));
    return [name, user.login, user.email, state, editButton];
  }

  async function showResult(text: string) {
    notice.showSuccess(text);
    await showUsers();
    return text;
  }

  function createUser() {
    showFormDialog({
      title: adminTexts.newUser,
      action: accountTexts.createAccount,
      fields: [...registerFields().map((field) => ({ ...field, autocomplete: 'off' })), adminField(false)],
      async send(values) {
        // `register` would sign the new user in instead of the administrator.
        await request('POST', 'user', { form: values });
        await showResult(adminTexts.accountCreated(values.login ?? ''));
      },
    });
  }

  function editUser(user: User) {
    const name = nameOf(user);
    const followUpButton = (label: string, followUp: () => void) => button(label, () => (dialog.close(), followUp()));
    const isSelf = user._id === currentUser()?._id;
    const dialog = showFormDialog({
      title: browseTexts.editNamed(name),
      action: commonTexts.save,
      fields: [...personFields(user), ...(isSelf ? [] : rightsFields(user))],
      otherButtons: [
        followUpButton(adminTexts.resetPassword, () => resetPassword(user)),
        ...(isSelf ? [] : [followUpButton(commonTexts.delete, () => removeUser(user))]),
      ],
      async send(form) {
        await request('PUT', `user/${user._id}`, { form });
        await showResult(commonTexts.saved);
      },
    });
  }

  function resetPassword(user: User) {
    const password = { name: 'password', label: accountTexts.newPassword, minlength: 6, required: true };
    showFormDialog({
      title: adminTexts.passwordOf(nameOf(user)),
      text: adminTexts.passwordHint,
      action: adminTexts.resetPassword,
      fields: [password],
      async send(form) {
        await request('PUT', `user/${user._id}/password`, { form });
        await showResult(adminTexts.passwordSet(nameOf(user)));
      },
    });
  }

  function removeUser(user: User) {
    askToRemove({
      title: browseTexts.deleteNamed(nameOf(user)),
      text: adminTexts.deleteUserText,
      remove: async () => showResult(await removeDocument(`user/${user._id}`)),
    });
  }
}

function personFields({ firstName, lastName, email }: User) {
  return [
    { name: 'firstName', label: commonTexts.firstName, value: firstName, required: true },
    { name: 'lastName', label: commonTexts.lastName, value: lastName, required: true },
    { name: 'email', label: commonTexts.email, type: 'email', value: email, required: true },
  ];
}

/** These fields are not offered for the administrator's own account, because administrators could not restore rights that they take from themselves. */
function rightsFields({ status, admin }: User) {
  return [
    { name: 'status', label: adminTexts.accountStatus, options: adminTexts.statusChoices, value: status },
    adminField(admin),
  ];
}

function adminField(value: boolean) {
  return { name: 'admin', label: adminTexts.isAdministrator, type: 'checkbox', value };
}
