// @ts-check
import { list } from '../api.js';
import { fill, h } from '../dom.js';
import { formatDate } from '../format.js';
import { isFinished, jobPanel, showStatus, statusTag } from './job-panel.js';
import { actionButton, outcome, panel } from './parts.js';

const pageSize = 25;
/** How often the status of unfinished jobs is asked for, in milliseconds. */
const refreshMs = 3000;

/** @typedef {{ id: string, element: HTMLElement, status: number, show: (status: number) => void }} Row */

/**
 * All jobs, newest first, each with its status as it changes; one that is opened shows its log as it grows, and can be cancelled.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function jobsSection({ signal }) {
  const said = outcome();
  const entries = h('ul', { class: 'job-list', 'aria-label': 'Jobs' });
  /** @type {Row[]} */
  let rows = [];
  const more = actionButton({ label: 'Older jobs', run: () => load(entries.children.length), failed: said.bad });
  await load(0);
  const timer = setInterval(() => void refresh().catch(said.bad), refreshMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  return [
    panel(
      'Jobs',
      said.element,
      entries,
      h(
        'div',
        { class: 'actions' },
        actionButton({ label: 'Refresh', name: 'Refresh jobs', run: () => load(0), failed: said.bad }),
        more,
      ),
    ),
  ];

  /** @param {number} offset */
  async function load(offset) {
    const jobs = await newest(pageSize, offset);
    more.hidden = jobs.length < pageSize;
    const loaded = jobs.map((job) => row(job, signal));
    const elements = loaded.map(({ element }) => element);
    if (offset === 0) fill(entries, ...elements, loaded.length === 0 && h('li', { class: 'quiet-text' }, 'There are no jobs.'));
    else entries.append(...elements);
    rows = offset === 0 ? loaded : [...rows, ...loaded];
  }

  /** What has become of the jobs that have not ended, wherever they were changed. */
  async function refresh() {
    const last = rows.findLastIndex(({ status }) => !isFinished(status));
    if (last < 0 || document.hidden) return;
    const now = new Map((await newest(last + 1 + pageSize, 0)).map((job) => [job._id, job.status]));
    for (const each of rows) each.show(now.get(each.id) ?? each.status);
  }

  /** @param {number} limit @param {number} offset @returns {Promise<import('./job-panel.js').Job[]>} */
  async function newest(limit, offset) {
    const query = { limit, offset, sort: 'created', sortdir: -1 };
    return (await list('job/all', { query, signal })).entries;
  }
}

/** @param {import('./job-panel.js').Job} job @param {AbortSignal} signal @returns {Row} */
function row(job, signal) {
  const tag = statusTag(job.status);
  const details = h(
    'details',
    { class: 'job-row', ontoggle: toggled },
    h(
      'summary',
      {},
      h('span', { class: 'job-title' }, job.title),
      tag,
      h('time', { class: 'quiet-text', datetime: job.created }, formatDate(job.created)),
    ),
  );
  /** @type {AbortController | null} */
  let leaving = null;
  signal.addEventListener('abort', () => leaving?.abort(), { once: true });
  /** @type {Row} */
  const made = { id: job._id, element: h('li', {}, details), status: job.status, show };
  return made;

  /** @param {number} status */
  function show(status) {
    made.status = status;
    showStatus(tag, status);
  }

  // The events of a job are followed only while it is open: browsers allow few connections.
  function toggled() {
    leaving?.abort();
    leaving = null;
    details.querySelector('.job')?.remove();
    if (!details.open || signal.aborted) return;
    leaving = new AbortController();
    details.append(jobPanel({ ...job, status: made.status }, { signal: leaving.signal, onStatus: show }));
  }
}
