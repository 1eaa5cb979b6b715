// @ts-check
import { list } from '../api.js';
import { fill, h } from '../dom.js';
import { formatDate } from '../format.js';
import { jobPanel, showStatus, statusTag } from './job-panel.js';
import { actionButton, outcome, panel } from './parts.js';

const pageSize = 25;

/**
 * All jobs, newest first; one that is opened shows its log as it grows, and can be cancelled.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function jobsSection({ signal }) {
  const said = outcome();
  const entries = h('ul', { class: 'job-list', 'aria-label': 'Jobs' });
  const more = actionButton({ label: 'Older jobs', run: () => load(entries.children.length), failed: said.bad });
  await load(0);
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
    const query = { limit: pageSize, offset, sort: 'created', sortdir: -1 };
    /** @type {{ entries: import('./job-panel.js').Job[] }} */
    const page = await list('job/all', { query, signal });
    more.hidden = page.entries.length < pageSize;
    const rows = page.entries.map((job) => row(job, signal));
    if (offset === 0) fill(entries, ...rows, rows.length === 0 && h('li', { class: 'quiet-text' }, 'There are no jobs.'));
    else entries.append(...rows);
  }
}

/** @param {import('./job-panel.js').Job} job @param {AbortSignal} signal */
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
  return h('li', {}, details);

  // The events of a job are followed only while it is open: browsers allow few connections.
  function toggled() {
    leaving?.abort();
    leaving = null;
    details.querySelector('.job')?.remove();
    if (!details.open || signal.aborted) return;
    leaving = new AbortController();
    const onStatus = (/** @type {number} */ status) => showStatus(tag, status);
    details.append(jobPanel(job, { signal: leaving.signal, onStatus }));
  }
}
