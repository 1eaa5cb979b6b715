import { requestList } from '../api.js';
import { actions, fill, h } from '../dom.js';
import { creationTime, isFinished, jobPanel, showStatus, statusTag, type Job } from './job-panel.js';
import { createNotice, panel, type SectionBuilder } from './parts.js';
import { commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';

const pageSize = 25;

/** Interval in milliseconds at which the status of unfinished jobs is requested. */
const refreshIntervalMs = 3000;

type JobRow = { id: string; element: HTMLElement; status: number; show: (status: number) => void };

/** All jobs, newest first, with their current status. An opened job shows its log as it grows, and can be canceled. */
export async function jobsSection({ signal }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  const notice = createNotice();
  const jobList = h('ul.job-list', { 'aria-label': adminTexts.jobs });
  let rows: JobRow[] = [];
  const moreButton = notice.createButton(adminTexts.olderJobs, () => load(jobList.children.length));
  await load(0);
  const timer = setInterval(() => void updateStatuses().catch(notice.showError), refreshIntervalMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  const refreshButton = notice.createButton(commonTexts.refresh, () => load(0), { name: adminTexts.refreshJobs });
  return [panel(adminTexts.jobs, notice.element, jobList, actions(refreshButton, moreButton))];

  async function load(offset: number) {
    const jobs = await requestNewest(pageSize, offset);
    moreButton.hidden = jobs.length < pageSize;
    const loadedRows = jobs.map((job) => createJobRow(job, signal));
    const elements = loadedRows.map(({ element }) => element);
    if (offset === 0) fill(jobList, ...elements, loadedRows.length === 0 && h('li.quiet-text', adminTexts.noJobsAtAll));
    else jobList.append(...elements);
    rows = offset === 0 ? loadedRows : [...rows, ...loadedRows];
  }

  /** Updates the status of unfinished jobs. */
  async function updateStatuses() {
    const lastUnfinishedIndex = rows.findLastIndex(({ status }) => !isFinished(status));
    if (lastUnfinishedIndex < 0 || document.hidden) return;
    const statusById = new Map((await requestNewest(lastUnfinishedIndex + 1 + pageSize, 0)).map((job) => [job._id, job.status]));
    for (const row of rows) row.show(statusById.get(row.id) ?? row.status);
  }

  async function requestNewest(limit: number, offset: number): Promise<Job[]> {
    const query = { limit, offset, sort: 'created', sortdir: -1 };
    return (await requestList('job/all', { query, signal })).entries;
  }
}

function createJobRow(job: Job, signal: AbortSignal): JobRow {
  const tag = statusTag(job.status);
  const summary = h('summary.row.wrap', h('span.job-title.strong.break', job.title), tag, creationTime(job));
  const details = h('details.job-row', { ontoggle: followWhileOpen }, summary);
  let followController: AbortController | null = null;
  signal.addEventListener('abort', () => followController?.abort(), { once: true });
  const jobRow: JobRow = { id: job._id, element: h('li', details), status: job.status, show };
  return jobRow;

  function show(status: number) {
    jobRow.status = status;
    showStatus(tag, status);
  }

  // A job is followed only while its row is open, because browsers allow few connections.
  function followWhileOpen() {
    followController?.abort();
    followController = null;
    details.querySelector('.job')?.remove();
    if (!details.open || signal.aborted) return;
    followController = new AbortController();
    details.append(
      jobPanel({ ...job, status: jobRow.status as Job['status'] }, { signal: followController.signal, onStatus: show }),
    );
  }
}
