import { request } from '../api.js';
import { tell } from '../dom.js';
import { ask } from '../forms.js';
import { currentUser, signIn } from '../session.js';
import { accountTexts } from '../texts.js';
import { newPassword } from './account.js';

/** Changes one's own password; this page stays signed in. */
export function passwordDialog() {
  ask({
    title: accountTexts.changePassword,
    action: accountTexts.changePassword,
    fields: [
      { name: 'old', label: accountTexts.formerPassword, type: 'password', autocomplete: 'current-password', required: true },
      { name: 'new', label: accountTexts.newPassword, ...newPassword },
    ],
    async send(form) {
      await request('PUT', 'user/password', { form });
      // The server has ended all tokens of the user.
      await signIn(currentUser()?.login ?? '', form.new ?? '');
      tell(accountTexts.passwordChanged);
    },
  });
}
