import { requestList } from '../api.js';
import { emptyNote } from '../browse/item-list.js';
import { isSame } from '../browse/browse-model.js';
import { readPage } from '../browse/paging.js';
import { createNotice } from '../admin/parts.js';
import { byline, commentText, personName } from '../comments/comment-parts.js';
import { setRead, type InboxComment } from '../comments/comment-requests.js';
import { refreshUnreadCount } from '../comments/unread.js';
import { commentTexts as texts } from '../comment-texts.js';
import { actions, fill, h } from '../dom.js';
import { checkbox } from '../forms.js';
import { goTo, routeHash, type Route, type View, type ViewContext } from '../router.js';
import { currentUser } from '../session.js';

/** Comments that mention the user, and replies to the user's comments. */
export async function inboxView(route: Route, { main, signal, refresh }: ViewContext): Promise<View> {
  const page = readPage(route.query, { size: 50, listName: texts.inbox });
  const isUnreadOnly = route.query.get('unread') === '1';
  const query = { ...page.query, unread: isUnreadOnly || null };
  const requestComments = () => requestList('comment/inbox', { query, signal });
  const results = await requestComments();
  signal.throwIfAborted();
  void refreshUnreadCount();
  const notice = createNotice();
  const unreadBox = checkbox(texts.onlyUnread, { checked: isUnreadOnly });
  unreadBox.input.addEventListener('change', () => goTo(routeHash('inbox', '', { unread: unreadBox.input.checked ? 1 : null })));
  const createReadToggle = (comment: InboxComment) => async () => {
    await setRead({ ids: [comment._id] }, comment.unread);
    await refresh();
  };
  const rows = results.entries.map((comment) => {
    const { item, mentions, author, unread } = comment;
    const isMention = mentions.some(({ id }) => id === currentUser()?._id);
    const reasonText = (isMention ? texts.inboxMentioned : texts.inboxAnswered)(personName(author));
    const link = h('a', { href: routeHash('item', item._id, { comment: comment._id }) }, item.name);
    const label = unread ? texts.markRead : texts.markUnread;
    const row = h(
      'li.comment.surface.column',
      h('p.break', reasonText, link),
      byline(comment),
      commentText(comment),
      actions(notice.createButton(label, createReadToggle(comment))),
    );
    row.classList.toggle('current', unread);
    return row;
  });
  const markAllRead = async () => {
    await setRead({});
    await refresh();
  };
  const emptyInboxNote = isUnreadOnly
    ? emptyNote('inbox', texts.noUnreadComments, false)
    : emptyNote('inbox', texts.inboxIsEmpty, texts.inboxIsEmptyHint);
  fill(
    main,
    h(
      'div.page.column.inbox',
      h(
        'div.page-heading.row.wrap.between',
        h('h1', texts.inbox),
        actions(unreadBox.element, notice.createButton(texts.markAllRead, markAllRead)),
      ),
      notice.element,
      results.total === 0 ? emptyInboxNote : h('ul.column.comment-list', { 'aria-label': texts.inbox }, ...rows),
      page.createLinks(results.total),
    ),
  );
  return { title: texts.inbox, hasChanged: async () => !isSame(results, await requestComments()) };
}
