import { request } from '../api.js';
import { actionButton, outcome } from '../admin/parts.js';
import { h } from '../dom.js';
import { accountTexts } from '../texts.js';

/** Invitations to groups, which the user can accept or decline. */
export async function invitations(groupIds: string[], refresh: () => Promise<void>) {
  return Promise.all(groupIds.map((id) => invitation(id, refresh)));
}

async function invitation(id: string, refresh: () => Promise<void>) {
  const group = await request<{ name: string }>('GET', `group/${id}`).catch(() => null);
  // The group was removed meanwhile.
  if (group === null) return null;
  const said = outcome();
  const answer = (label: string, method: 'POST' | 'DELETE') =>
    actionButton({
      label,
      failed: said.bad,
      async run() {
        await request(method, `group/${id}/member`);
        await refresh();
      },
    });
  const buttons = [answer(accountTexts.join, 'POST'), answer(accountTexts.decline, 'DELETE')];
  const text = h('p', accountTexts.invitedTo(group.name));
  return h('div.notice.stack.column.surface', text, said.element, h('div.actions.wrap', ...buttons));
}
