import { isGoneOrForbidden, request, readToken } from '../api.js';
import { askToRemove } from '../browse/dialog-parts.js';
import { copyText } from '../clipboard.js';
import { commentTexts as texts } from '../comment-texts.js';
import { errorNotice, fill, h, linkButton, messageOf } from '../dom.js';
import { form } from '../forms.js';
import { formatDate } from '../format.js';
import { commonTexts } from '../texts.js';
import { byline, commentText, personName } from './comment-parts.js';
import { listReplies, setRead, type Comment } from './comment-requests.js';
import { commentField } from './comment-field.js';

export interface RowOptions {
  thread: Comment;
  isOpen: boolean;
  mayWrite: boolean;
  mayManage: boolean;
  onToggle: () => void;
  goTo: () => void;
  /** called with the new version of the thread after a change */
  onChanged: (thread: Comment) => Promise<void>;
  /** called when the thread was deleted */
  onGone: () => Promise<void>;
  showMessage: (message: string) => void;
  signal: AbortSignal;
}

export type ThreadRow = ReturnType<typeof threadRow>;

/** A thread in the list: its first comment and, if it is open, its replies and actions. */
export function threadRow(options: RowOptions) {
  const { thread, isOpen, mayWrite, onToggle, goTo, onChanged, onGone, showMessage, signal } = options;
  const { replies, resolved: resolution, shape, place } = thread;
  const canOpen = replies > 0 || mayWrite;
  const isResolved = thread.state === 'resolved';
  const label = isOpen
    ? replies > 0
      ? texts.hideReplies
      : commonTexts.close
    : replies > 0
      ? texts.replies(replies)
      : texts.reply;
  const toggle = linkButton(label, onToggle, isOpen || replies > 0 ? undefined : texts.replyTo(personName(thread.author)));
  toggle.ariaExpanded = String(isOpen);
  const commentOptions = { ...options, comment: thread, onChanged, onGone };
  const element = h(
    'li.comment.column',
    byline(thread),
    editableText(commentOptions),
    resolution && h('p.quiet-text', texts.resolvedBy(personName(resolution.by), formatDate(resolution.at))),
    shape && !shape.available && h('p.amber', texts.shapeGone),
    h(
      'div.row.wrap.comment-actions',
      place && linkButton(texts.showPlace, goTo),
      (canOpen || isOpen) && toggle,
      mayWrite && linkButton(isResolved ? texts.reopen : texts.resolve, toggleResolved),
    ),
    isOpen && openContent(),
  );
  element.classList.toggle('current', isOpen);
  return { element, toggle, thread, isOpen };

  function toggleResolved() {
    const state = isResolved ? 'open' : 'resolved';
    attempt(async () => onChanged(await request('PUT', `comment/${thread._id}/state`, { json: { state } })));
  }

  function openContent() {
    const threadActions = h(
      'div.row.wrap.comment-actions',
      location.hash.includes(thread._id) && linkButton(texts.copyLink, copyLink),
      deleteButton({ ...options, comment: thread, onChanged, onGone }),
    );
    return h('div.column', threadActions, replyList(options, reloadThread), mayWrite && replyForm());
  }

  function attempt(change: () => Promise<void>) {
    showMessage('');
    change().catch((error: unknown) => signal.aborted || showMessage(messageOf(error)));
  }

  /** Loads the thread after its replies have changed. The thread may be gone: if its first comment was deleted before, the server removes the thread with the last reply. */
  async function reloadThread() {
    const newThread = await request('GET', `comment/${thread._id}`, { signal }).catch((error: unknown) => {
      if (isGoneOrForbidden(error)) return null;
      throw error;
    });
    await (newThread === null ? onGone() : onChanged(newThread));
  }

  function replyForm() {
    const { element: textField, input } = commentField(texts.reply);
    return form({
      content: [textField],
      action: texts.send,
      async send() {
        await request('POST', `comment/${thread._id}/reply`, { json: { text: input.value } });
        input.value = '';
        await reloadThread();
      },
    });
  }
}

/** The replies to a thread, a page at a time. Shown replies are marked as read. */
function replyList(options: RowOptions, reloadThread: () => Promise<void>) {
  const { thread, signal } = options;
  const element = h('ul.column.comment-replies', { 'aria-label': texts.replies(thread.replies) });
  let loadedCount = 0;
  void load();
  return element;

  async function load() {
    try {
      const { entries, total } = await listReplies(thread._id, loadedCount, signal);
      // The last row is the button that loads more replies.
      if (loadedCount > 0) element.lastElementChild?.remove();
      loadedCount += entries.length;
      const remainingCount = entries.length === 0 ? 0 : total - loadedCount;
      element.append(...entries.map(replyRow));
      if (remainingCount > 0)
        element.append(
          h(
            'li',
            linkButton(texts.moreReplies(remainingCount), () => void load()),
          ),
        );
      const isUnread = thread.unread || entries.some(({ unread }) => unread);
      if (readToken() !== null && isUnread) await setRead({ threadId: thread._id });
    } catch (error) {
      if (!signal.aborted) element.append(h('li', errorNotice(error)));
    }
  }

  function replyRow(reply: Comment): HTMLElement {
    const onChanged = async (newReply: Comment): Promise<void> => listItem.replaceWith(replyRow(newReply));
    const commentOptions = { ...options, comment: reply, onChanged, onGone: reloadThread };
    const listItem: HTMLElement = h(
      'li.column',
      byline(reply),
      editableText(commentOptions),
      h('div.row.wrap.comment-actions', deleteButton(commentOptions)),
    );
    return listItem;
  }
}

type CommentOptions = Pick<RowOptions, 'mayWrite' | 'mayManage' | 'showMessage' | 'signal'> & {
  comment: Comment;
  onChanged: (comment: Comment) => Promise<void>;
  onGone: () => Promise<void>;
};

/** The text of a comment, which its author can change. */
function editableText({ comment, mayWrite, onChanged }: CommentOptions) {
  const element = h('div.column');
  showText();
  return element;

  function showText() {
    const editButton = comment.own && mayWrite && !comment.deleted && linkButton(texts.edit, showForm);
    fill(element, commentText(comment), editButton && h('div.row.comment-actions', editButton));
  }

  function showForm() {
    const { element: textField, input } = commentField(texts.text, comment.text);
    const send = async () => {
      const json = { text: input.value, version: comment.version };
      await onChanged(await request('PUT', `comment/${comment._id}`, { json }));
    };
    const cancelButton = h('button.button', { onclick: showText }, commonTexts.cancel);
    fill(element, form({ content: [textField], action: texts.save, otherButtons: [cancelButton], send }));
    input.focus();
  }
}

/** A button that deletes a comment; `null` if the user may not delete the comment. */
function deleteButton({ comment, mayWrite, mayManage, onGone }: CommentOptions) {
  if (comment.deleted || !((comment.own && mayWrite) || mayManage)) return null;
  const askToDelete = () =>
    askToRemove({
      title: texts.deleteTitle,
      text: comment.threadId === null ? texts.deleteText : texts.deleteReplyText,
      remove: async () => {
        await request('DELETE', `comment/${comment._id}`);
        await onGone();
        return texts.deleted;
      },
    });
  return linkButton(commonTexts.delete, askToDelete);
}

/** Copies the address, which names the open thread. */
function copyLink() {
  const { href } = location;
  void copyText(href, texts.copied, () => prompt(texts.copyLink, href));
}
