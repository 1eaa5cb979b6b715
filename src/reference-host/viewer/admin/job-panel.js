// @ts-check
import { apiUrl, request } from '../api.js';
import { h, icon } from '../dom.js';
import { formatDate } from '../format.js';
import { outcome } from './parts.js';

/**
 * @typedef {object} Job
 * @property {string} _id
 * @property {string} title
 * @property {string} type
 * @property {number} status
 * @property {string} created
 * @property {{ total: number | null, current: number | null, message: string | null } | null} [progress]
 */

/** @type {Record<number, string>} */
const statusNames = {
  0: 'Inactive',
  1: 'Queued',
  2: 'Running',
  3: 'Success',
  4: 'Error',
  5: 'Canceled',
  820: 'Fetching input',
  821: 'Converting input',
  822: 'Converting output',
  823: 'Pushing output',
  824: 'Canceling',
};

/** @param {number} status */
function statusName(status) {
  return statusNames[status] ?? `Status ${status}`;
}

/** @param {number} status */
export function isFinished(status) {
  return status === 3 || status === 4 || status === 5;
}

/** @param {number} status */
export function statusTag(status) {
  const tag = h('span', { class: 'tag status' });
  showStatus(tag, status);
  return tag;
}

/** @param {HTMLElement} tag @param {number} status */
export function showStatus(tag, status) {
  tag.textContent = statusName(status);
  tag.dataset.status = status === 3 ? 'good' : status === 4 ? 'bad' : isFinished(status) ? 'ended' : 'active';
}

/** Longest log that is kept on the page, in characters. */
const maxLog = 200_000;

/**
 * A job as it goes on: status, progress and log come by the event stream of the job, without asking again.
 *
 * @param {Job} job
 * @param {{ signal: AbortSignal, onStatus?: (status: number) => void }} options
 */
export function jobPanel(job, { signal, onStatus }) {
  const status = statusTag(job.status);
  const bar = h('progress', { class: 'job-progress', 'aria-label': 'Progress', max: 1 });
  const message = h('span', { class: 'quiet-text', 'data-testid': 'job-message' });
  const log = h('pre', { class: 'job-log', tabindex: 0, 'aria-label': 'Log', 'data-testid': 'job-log' });
  const said = outcome();
  const cancel = h('button', { class: 'button', type: 'button', onclick: cancelJob }, icon('close'), 'Cancel job');
  const element = h(
    'article',
    { class: 'job', 'data-job': job._id },
    h(
      'header',
      { class: 'job-heading' },
      h('h3', {}, job.title),
      status,
      h('time', { class: 'quiet-text', datetime: job.created }, formatDate(job.created)),
      cancel,
    ),
    h('div', { class: 'job-state' }, bar, message),
    said.element,
    log,
  );
  take(job);
  follow();
  return element;

  /** @param {Job} document */
  function take(document) {
    showStatus(status, document.status);
    cancel.hidden = isFinished(document.status) || document.status === 824;
    if (document.progress) showProgress(document.progress);
    bar.hidden = isFinished(document.status) || !document.progress;
    onStatus?.(document.status);
  }

  /** @param {{ total?: number | null, current?: number | null, message?: string | null }} progress */
  function showProgress({ total, current, message: text }) {
    bar.hidden = false;
    if (typeof total === 'number' && total > 0) {
      bar.max = total;
      bar.value = Math.min(current ?? 0, total);
    } else bar.removeAttribute('value');
    message.textContent = text ?? '';
  }

  /** @param {string} text @param {boolean} overwrite */
  function addLog(text, overwrite) {
    const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    const full = overwrite ? text : (log.textContent ?? '') + text;
    log.textContent = full.length > maxLog ? `…${full.slice(-maxLog)}` : full;
    if (atEnd) log.scrollTop = log.scrollHeight;
  }

  function follow() {
    const events = new EventSource(apiUrl(`job/${job._id}/events`), { withCredentials: true });
    signal.addEventListener('abort', () => events.close(), { once: true });
    if (signal.aborted) events.close();
    // A connection that was lost is taken up again by the browser; one that was refused is not.
    events.addEventListener('error', () => {
      if (events.readyState === EventSource.CLOSED && !signal.aborted) said.bad('The events of this job can no longer be read.');
    });
    events.addEventListener('message', ({ data: text }) => {
      const { type, data } = JSON.parse(text);
      if (type === 'job_log') addLog(data.text, data.overwrite === true);
      else if (type === 'progress') showProgress(data);
      else if (type === 'job_removed') {
        events.close();
        cancel.hidden = true;
        said.good('This job has been removed.');
      } else if (type === 'job_status') {
        take(data);
        if (isFinished(data.status)) events.close();
      }
    });
  }

  async function cancelJob() {
    cancel.disabled = true;
    try {
      take(await request('PUT', `job/${job._id}/cancel`));
    } catch (error) {
      said.bad(error);
    } finally {
      cancel.disabled = false;
    }
  }
}
