import { request } from '../api.js';
import { createNotice } from '../admin/parts.js';
import { actions, h } from '../dom.js';
import { accountTexts } from '../texts.js';

/** Invitations to groups, which the user can accept or decline. */
export async function invitationNotices(invites: { groupId: string }[], refresh: () => Promise<void>) {
  return Promise.all(invites.map(({ groupId }) => invitationNotice(groupId, refresh)));
}

async function invitationNotice(id: string, refresh: () => Promise<void>) {
  const group = await request('GET', `group/${id}`).catch(() => null);
  // The group has been removed.
  if (group === null) return null;
  const notice = createNotice();
  const answer = (label: string, method: 'POST' | 'DELETE') =>
    notice.button(label, async () => {
      await request(method, `group/${id}/member`);
      await refresh();
    });
  const buttons = actions(answer(accountTexts.join, 'POST'), answer(accountTexts.decline, 'DELETE'));
  return h('div.notice.stack.column.surface', h('p', accountTexts.invitedTo(group.name)), notice.element, buttons);
}
