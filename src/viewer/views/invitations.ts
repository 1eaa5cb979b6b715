import { request } from '../api.js';
import { createNotice } from '../admin/parts.js';
import { actions, h } from '../dom.js';
import { accountTexts } from '../texts.js';

/** A notice for each invitation to a group, with buttons to accept and decline it. */
export async function invitationNotices(invites: { groupId: string }[], refresh: () => Promise<void>) {
  return Promise.all(invites.map(({ groupId }) => invitationNotice(groupId, refresh)));
}

async function invitationNotice(groupId: string, refresh: () => Promise<void>) {
  const group = await request('GET', `group/${groupId}`).catch(() => null);
  // The group may have been removed.
  if (group === null) return null;
  const notice = createNotice();
  const answerButton = (label: string, method: 'POST' | 'DELETE') =>
    notice.createButton(label, async () => {
      await request(method, `group/${groupId}/member`);
      await refresh();
    });
  const buttons = actions(answerButton(accountTexts.join, 'POST'), answerButton(accountTexts.decline, 'DELETE'));
  return h('div.notice.stack.column.surface', h('p', accountTexts.invitedTo(group.name)), notice.element, buttons);
}
