import { request } from '../api.js';
import type { Answer } from '../answers.js';
import { actions, fill, h } from '../dom.js';
import { formatBytes, formatCount, formatDate } from '../format.js';
import { factList } from '../image/facts.js';
import { commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';
import { createNotice, panel, table, type SectionBuilder } from './parts.js';

type CacheReports = Answer<'GET large_image/cache'>;

/** A warning is shown if less than this share of the disk is free. */
const minFreeShare = 0.05;

/** The state of the server, the capacity of its disk, and its caches. */
export async function serverSection({ signal }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  return Promise.all([statePanel(signal), cachePanel(signal)]);
}

async function statePanel(signal: AbortSignal) {
  const [check, stores, uploads] = await Promise.all([
    request('GET', 'system/check', { signal }),
    request('GET', 'assetstore', { signal }),
    request('GET', 'system/uploads', { query: { limit: 1000 }, signal }),
  ]);
  const { serverFacts } = adminTexts;
  const capacity = stores[0]?.capacity;
  const freeShare = capacity ? capacity.free / capacity.total : 1;
  const capacityText =
    capacity && adminTexts.capacity(formatBytes(capacity.free), formatBytes(capacity.total), Math.round(freeShare * 100));
  const facts = factList([
    [serverFacts.state, check.database === 'ok' ? adminTexts.ok : check.database],
    [serverFacts.since, formatDate(check.bootTime)],
    [serverFacts.folder, stores[0]?.root],
    [serverFacts.capacity, capacityText ?? adminTexts.unknown],
    [serverFacts.uploads, formatCount(uploads.length)],
  ]);
  const lowSpaceWarning =
    freeShare < minFreeShare && h('p.notice.notice-warning.surface', { role: 'status' }, adminTexts.capacityLow);
  const notice = createNotice();
  const rescanButton = notice.createButton(adminTexts.rescan, async () => {
    const counts = await request('POST', 'system/rescan');
    notice.showSuccess(adminTexts.rescanned(counts));
  });
  return panel(adminTexts.sections[''] ?? '', facts, lowSpaceWarning, actions(rescanButton), notice.element);
}

async function cachePanel(signal: AbortSignal) {
  const notice = createNotice();
  const output = h('div.stack.column');
  const showReports = async () =>
    fill(output, reportTable(await request('GET', 'large_image/cache', { signal }), adminTexts.caches));
  await showReports();
  const clearCaches = async () => {
    const reports = await request('PUT', 'large_image/cache/clear');
    const moments = ['before', 'after'] as const;
    const titledReport = (moment: (typeof moments)[number]) =>
      h('div', h('h3', adminTexts[moment]), reportTable(reports[moment], adminTexts[moment]));
    fill(output, ...moments.map(titledReport));
    notice.showSuccess(adminTexts.cachesCleared);
  };
  return panel(
    adminTexts.caches,
    output,
    notice.element,
    actions(
      notice.createButton(commonTexts.refresh, showReports, { name: adminTexts.refreshCaches }),
      notice.createButton(adminTexts.clearCaches, clearCaches, { kind: 'danger' }),
    ),
  );
}

function reportTable(reports: CacheReports, label: string) {
  const rows = Object.entries(reports).map(([name, report]) => [
    adminTexts.cacheNames[name] ?? name,
    formatAmount(name, report.used),
    formatAmount(name, report.maxsize),
    report.items === undefined ? '' : formatCount(report.items),
    report.processes === undefined ? '' : formatCount(report.processes),
    stateText(report),
  ]);
  return table(adminTexts.cacheColumns, rows, label);
}

/** Amounts of the `tileCache` are bytes; amounts of other caches are numbers of files. */
function formatAmount(name: string, value: number) {
  return name === 'tileCache' ? formatBytes(value) : formatCount(value);
}

function stateText({ available, errors = 0, error }: CacheReports[string]) {
  if (available === false) return `${adminTexts.notReachable}${error ? `: ${error}` : ''}`;
  return errors === 0 ? adminTexts.ok : adminTexts.cacheErrors(errors);
}
