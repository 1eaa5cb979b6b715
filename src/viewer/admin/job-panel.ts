import { apiUrl, request } from '../api.js';
import type { Documents } from '../answers.js';
import { h } from '../dom.js';
import { formatDate } from '../format.js';
import { adminTexts } from '../admin-texts.js';
import { createNotice } from './parts.js';

/** The fields of a job that the page shows. */
export type Job = Pick<Documents['Job'], '_id' | 'title' | 'type' | 'status' | 'created' | 'progress'>;

/** The status of a job that is being canceled. */
const cancelingStatus = 824;

/** Whether a job with this status has succeeded, failed or was canceled. */
export function isFinished(status: number) {
  return status === 3 || status === 4 || status === 5;
}

export function statusTag(status: number) {
  const tag = h('span.tag.status');
  showStatus(tag, status);
  return tag;
}

export function showStatus(tag: HTMLElement, status: number) {
  tag.textContent = adminTexts.jobStatus[status] ?? adminTexts.jobStatusOther(status);
  tag.dataset.status = status === 3 ? 'good' : status === 4 ? 'bad' : isFinished(status) ? 'ended' : 'active';
}

export function creationTime({ created }: Job) {
  return h('time.quiet-text', { datetime: created }, formatDate(created));
}

/** Maximum length of a log on the page, in characters. Older lines are dropped. */
const maxLogLength = 200_000;

/** A job with its status, progress and log, which the event stream of the job updates. */
export function jobPanel(job: Job, { signal, onStatus }: { signal: AbortSignal; onStatus?: (status: number) => void }) {
  const statusElement = statusTag(job.status);
  const progressBar = h('progress.job-progress', { 'aria-label': adminTexts.jobProgress, max: 1 });
  const message = h('span.quiet-text', { 'data-testid': 'job-message' });
  const log = h('pre.job-log.break', { tabindex: 0, role: 'group', 'aria-label': adminTexts.jobLog, 'data-testid': 'job-log' });
  const notice = createNotice();
  const cancelJob = async () => showJob(await request('PUT', `job/${job._id}/cancel`));
  const cancelButton = notice.createButton(adminTexts.cancelJob, cancelJob, { icon: 'close' });
  const heading = h('header.job-heading.row.wrap', h('h3', job.title), statusElement, creationTime(job), cancelButton);
  const progressRow = h('div.job-state.row', progressBar, message);
  const element = h('article.job.column', { 'data-job': job._id }, heading, progressRow, notice.element, log);
  showJob(job);
  followEvents();
  return element;

  function showJob(newJob: Job) {
    showStatus(statusElement, newJob.status);
    cancelButton.hidden = isFinished(newJob.status) || newJob.status === cancelingStatus;
    if (newJob.progress) showProgress(newJob.progress);
    progressBar.hidden = isFinished(newJob.status) || !newJob.progress;
    onStatus?.(newJob.status);
  }

  function showProgress({ total, current, message: text }: NonNullable<Job['progress']>) {
    progressBar.hidden = false;
    if (typeof total === 'number' && total > 0) {
      progressBar.max = total;
      progressBar.value = Math.min(current ?? 0, total);
    } else progressBar.removeAttribute('value');
    message.textContent = text ?? '';
  }

  function addLog(text: string, overwrite: boolean) {
    const isAtEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
    const logText = overwrite ? text : (log.textContent ?? '') + text;
    log.textContent = logText.length > maxLogLength ? `…${logText.slice(-maxLogLength)}` : logText;
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }

  function followEvents() {
    const events = new EventSource(apiUrl(`job/${job._id}/events`), { withCredentials: true });
    signal.addEventListener('abort', () => events.close(), { once: true });
    if (signal.aborted) events.close();
    // The browser restores a lost connection, but not a refused connection.
    events.addEventListener('error', () => {
      if (events.readyState === EventSource.CLOSED && !signal.aborted) notice.showError(adminTexts.jobEventsLost);
    });
    events.addEventListener('message', ({ data: text }) => {
      const { type, data } = JSON.parse(text);
      if (type === 'job_log') addLog(data.text, data.overwrite === true);
      else if (type === 'progress') showProgress(data);
      else if (type === 'job_removed') {
        events.close();
        cancelButton.hidden = true;
        notice.showSuccess(adminTexts.jobRemoved);
      } else if (type === 'job_status') {
        showJob(data);
        if (isFinished(data.status)) events.close();
      }
    });
  }
}
