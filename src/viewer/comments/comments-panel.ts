import { ApiError, apiUrl, isGoneOrForbidden, pause, request, saveFile } from '../api.js';
import { isSame, type ImageItem } from '../browse/browse-model.js';
import { commentTexts as texts } from '../comment-texts.js';
import { actions, button, errorNotice, fill, h, linkButton, messageOf, showPlainDialog } from '../dom.js';
import { checkbox, choice } from '../forms.js';
import { newCommentForm, type CommentTargets } from './new-comment.js';
import {
  entriesPerRequest,
  listMarks,
  listThreads,
  loadThread,
  type Comment,
  type CommentMark,
  type ShownState,
} from './comment-requests.js';
import { threadRow, type ThreadRow } from './thread-row.js';

/** Interval in milliseconds at which the page looks for changes by others. */
const followIntervalMs = 15_000;
/** Interval in milliseconds at which the page looks for changes while there are no comments. */
const emptyFollowIntervalMs = 60_000;

export interface PanelOptions {
  item: ImageItem;
  targets: CommentTargets;
  /** resolves with whether the user may write comments on the item */
  writePermission: Promise<boolean>;
  /** whether the user may delete comments of others */
  mayManage: boolean;
  onMarks: (marks: readonly CommentMark[]) => void;
  /** shows or hides the marks */
  onShowMarks: (areShown: boolean) => void;
  /** called with the id of a thread when it is opened, and with `null` when it is closed */
  onOpenChange: (id: string | null) => void;
  /** moves the view to the place of a comment */
  goTo: (thread: Comment) => void;
  signal: AbortSignal;
}

/** Maximum number of threads that the server sends in one response. */
const maxThreadsPerRequest = 100;

/** The comments on an image, in a section next to it. */
export class CommentsPanel {
  readonly #title = h('summary.small.strong', texts.comments);
  readonly #content = h('div.section-content.small.column.comments');
  readonly element = h('details.section', this.#title, this.#content);
  readonly #list = h('ul.column.comment-list', { 'aria-label': texts.comments });
  readonly #message = h('div.form-error', { role: 'alert' });
  readonly #marksNote = h('p.quiet-text.small', { hidden: true });
  readonly #newCommentArea = h('div');
  readonly #tools = h('div.column');
  #shownState: ShownState = 'open';
  #threads: Comment[] = [];
  #total = 0;
  #marks: CommentMark[] = [];
  #rows: Map<string, ThreadRow> = new Map();
  #openId: string | null = null;
  #mayWrite = false;
  #form: ReturnType<typeof newCommentForm> | null = null;

  constructor(private readonly options: PanelOptions) {
    fill(this.#content, this.#tools, this.#newCommentArea, this.#message, this.#list, this.#marksNote);
  }

  /** Loads the comments, and opens one. Must be called only once. */
  async start(openId: string | null) {
    const { signal } = this.options;
    try {
      this.#mayWrite = await this.options.writePermission;
      this.#showTools();
      await this.#load();
      if (this.#total > 0) this.element.open = true;
      if (openId !== null) await this.openThreadOf(openId);
    } catch (error) {
      if (!signal.aborted) fill(this.#content, errorNotice(error));
      return;
    }
    await this.#followChanges();
  }

  /** The id of the open thread. */
  get openId() {
    return this.#openId;
  }

  /** The first comment of a thread, by its id; `null` if the thread is not in the list. */
  findThread(id: string) {
    return this.#threads.find(({ _id }) => _id === id) ?? null;
  }

  /** Opens the thread of a comment and, if `movesView`, moves the view to the place of the thread. `null` closes the open thread. */
  async openThreadOf(id: string | null, { movesView = true } = {}) {
    if (id === null) return this.#setOpenThread(null);
    try {
      const listedThread = this.findThread(id);
      const thread = listedThread ?? (await loadThread(id, this.options.signal));
      if (!listedThread && !this.findThread(thread._id)) this.#threads = [thread, ...this.#threads];
      this.element.open = true;
      this.#setOpenThread(thread._id);
      this.#rows.get(thread._id)?.element.scrollIntoView({ block: 'nearest' });
      if (movesView) this.options.goTo(thread);
    } catch (error) {
      if (this.options.signal.aborted) return;
      this.element.open = true;
      this.#showMessage(isGoneOrForbidden(error) ? texts.gone : messageOf(error));
    }
  }

  /** Must be called when the user has clicked on the image. @param stagePoint in pixels of the stage */
  onStageClick(stagePoint: { x: number; y: number }) {
    this.#form?.onStageClick(stagePoint);
  }

  /** Tells the user how many of the marks are visible, unless all marks are. */
  showMarkCounts(shownCount: number, totalCount: number) {
    this.#marksNote.hidden = shownCount === totalCount;
    this.#marksNote.textContent = shownCount === totalCount ? '' : texts.someMarks(shownCount, totalCount);
  }

  #showMessage(message: string) {
    this.#message.textContent = message;
    if (message !== '') this.#message.scrollIntoView({ block: 'nearest' });
  }

  #setOpenThread(id: string | null) {
    this.#openId = id;
    // This writes the id into the address of the page. The row of the open thread can copy this address only if it contains the id.
    this.options.onOpenChange(id);
    this.#showList();
  }

  async #requestThreads(limit: number) {
    const { item, signal } = this.options;
    const { entries, total } = await listThreads(item._id, this.#shownState, 0, signal, limit);
    const marks = total === 0 ? [] : await listMarks(item._id, this.#shownState, signal);
    return { entries, total, marks };
  }

  #showThreads({ entries, total, marks }: { entries: Comment[]; total: number; marks: CommentMark[] }) {
    // An open thread stays in the list, even if it has another state or would be on another page.
    const openThread = this.#openId === null ? null : this.findThread(this.#openId);
    const isListed = openThread === null || entries.some(({ _id }) => _id === openThread._id);
    this.#threads = isListed ? entries : [openThread, ...entries];
    this.#total = total;
    this.#marks = marks;
    this.#title.textContent = total === 0 ? texts.comments : texts.commentsOf(total);
    this.options.onMarks(marks);
    this.#showList();
  }

  async #load() {
    this.#showThreads(await this.#requestThreads(entriesPerRequest));
  }

  /** Loads the shown part of the list again after a change. */
  #reload = async () => {
    this.#showThreads(await this.#requestThreads(this.#limitForReload()));
  };

  #limitForReload() {
    const pageCount = Math.ceil(this.#threads.length / entriesPerRequest);
    return Math.min(Math.max(pageCount, 1) * entriesPerRequest, maxThreadsPerRequest);
  }

  /** Shows changes of others, unless the user is writing. */
  async #followChanges() {
    const { signal } = this.options;
    while (!signal.aborted) {
      await pause(this.#total === 0 ? emptyFollowIntervalMs : followIntervalMs, signal);
      if (signal.aborted) return;
      if (document.hidden || this.#isWriting()) continue;
      try {
        const newContents = await this.#requestThreads(this.#limitForReload());
        const shownContents = { entries: this.#threads, total: this.#total, marks: this.#marks };
        if (!this.#isWriting() && !isSame(newContents, shownContents)) this.#showThreads(newContents);
      } catch (error) {
        if (isGoneOrForbidden(error) || (error instanceof ApiError && error.status === 401)) return;
      }
    }
  }

  #isWriting() {
    return [...this.#content.querySelectorAll('textarea')].some(({ value }) => value !== '');
  }

  #showList() {
    const { signal, mayManage, goTo } = this.options;
    const rows: Map<string, ThreadRow> = new Map();
    for (const thread of this.#threads) {
      const previousRow = this.#rows.get(thread._id);
      const isOpen = thread._id === this.#openId;
      const row =
        previousRow && previousRow.isOpen === isOpen && isSame(previousRow.thread, thread)
          ? previousRow
          : threadRow({
              thread,
              isOpen,
              mayWrite: this.#mayWrite,
              mayManage,
              onToggle: () => this.#setOpenThread(isOpen ? null : thread._id),
              goTo: () => goTo(thread),
              onChanged: this.#onThreadChanged,
              onGone: () => (this.#openId === thread._id && this.#setOpenThread(null), this.#reload()),
              showMessage: (message) => this.#showMessage(message),
              signal,
            });
      rows.set(thread._id, row);
    }
    const focusedId = [...this.#rows].find(([, { element }]) => element.contains(activeElementOfRoot(element)))?.[0];
    this.#rows = rows;
    const remainingCount = this.#total - this.#threads.length;
    const moreRow =
      remainingCount > 0 &&
      h(
        'li',
        linkButton(texts.more(remainingCount), () => void this.#loadMore()),
      );
    const emptyRow = rows.size === 0 && h('li.quiet-text', texts.none[this.#shownState]);
    const elements = [...rows.values()].map(({ element }) => element);
    const isUnchanged = elements.every((element, index) => this.#list.children[index] === element);
    if (!isUnchanged || this.#list.children.length !== elements.length || moreRow || emptyRow)
      fill(this.#list, ...elements, moreRow, emptyRow);
    if (focusedId !== undefined && activeElementOfRoot(this.#list) === document.body)
      rows.get(focusedId)?.toggle.focus({ preventScroll: true });
  }

  /** Shows a changed thread immediately, and then all other changes. */
  #onThreadChanged = async (thread: Comment) => {
    this.#showMessage('');
    this.#threads = this.#threads.map((listedThread) => (listedThread._id === thread._id ? thread : listedThread));
    this.#showList();
    await this.#reload();
  };

  async #loadMore() {
    const { item, signal } = this.options;
    try {
      const listedCount = this.#threads.length;
      const { entries, total } = await listThreads(item._id, this.#shownState, listedCount, signal);
      const ids = new Set(this.#threads.map(({ _id }) => _id));
      this.#threads = [...this.#threads, ...entries.filter(({ _id }) => !ids.has(_id))];
      this.#total = entries.length === 0 ? this.#threads.length : total;
      this.#showList();
    } catch (error) {
      if (!signal.aborted) this.#showMessage(messageOf(error));
    }
  }

  #showTools() {
    const addButton = button(texts.add, () => this.#openNewForm(), { icon: 'comment' });
    const stateSelect = choice(texts.states, this.#shownState, { 'aria-label': texts.state });
    stateSelect.addEventListener('change', () => {
      this.#shownState = stateSelect.value as ShownState;
      this.#openId = null;
      this.options.onOpenChange(null);
      this.#load().catch((error: unknown) => this.options.signal.aborted || this.#showMessage(messageOf(error)));
    });
    const marksBox = checkbox(texts.showMarks, { checked: true });
    marksBox.input.addEventListener('change', () => this.options.onShowMarks(marksBox.input.checked));
    const downloadButton = button('', () => showExportDialog(this.options.item), { icon: 'download', name: texts.download });
    fill(
      this.#tools,
      actions(this.#mayWrite && addButton, downloadButton),
      h('div.row.wrap.comment-filter', stateSelect, marksBox.element),
    );
  }

  #openNewForm() {
    const { item, targets, signal } = this.options;
    this.#form?.close();
    const close = () => {
      this.#form = null;
      targets.markPlace(null);
      fill(this.#newCommentArea);
    };
    const onSent = async (comment: Comment) => {
      close();
      this.#threads = [comment, ...this.#threads];
      await this.#reload();
      await this.openThreadOf(comment._id, { movesView: false });
    };
    this.#form = newCommentForm({
      targets,
      close,
      send: async (json) => {
        const comment = await request('POST', `item/${item._id}/comment`, { json });
        if (!signal.aborted) await onSent(comment);
      },
    });
    fill(this.#newCommentArea, this.#form.element);
    this.#form.focus();
  }
}

/** The focused element in the document or shadow tree that contains `element`. */
function activeElementOfRoot(element: HTMLElement) {
  return (element.getRootNode() as Document | ShadowRoot).activeElement;
}

/** A dialog that offers all comments on an item as a file. */
function showExportDialog({ _id: id, name }: ImageItem) {
  const notice = h('div');
  const baseName = name.replace(/\.[^.]*$/, '');
  const download = (format: string) => () =>
    void saveFile(apiUrl(`item/${id}/comment/export`, { format }), [baseName, 'comments', format].join('.')).catch(
      (error: unknown) => fill(notice, errorNotice(error)),
    );
  const buttons = Object.entries(texts.formats).map(([format, label]) => button(label, download(format)));
  showPlainDialog(texts.download, h('p', texts.downloadText), actions(buttons), notice);
}
