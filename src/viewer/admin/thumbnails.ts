import { request } from '../api.js';
import { askToRemove } from '../browse/dialog-parts.js';
import { thumbnailSize } from '../browse/item-card.js';
import { actions, button, fill, h } from '../dom.js';
import { checkbox, choice, field, form } from '../forms.js';
import { formatCount } from '../format.js';
import { commonTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';
import { isFinished, jobPanel, type Job } from './job-panel.js';
import { createNotice, panel, table, type SectionBuilder } from './parts.js';

/** Maximum width and height of thumbnails in pixels. */
const maxSide = 10_000;

const formats = { JPEG: 'JPEG', PNG: 'PNG', WEBP: 'WebP' };

/** Kinds of cached files, by the last part of the route that counts and removes them. */
const cachedFileKinds = ['thumbnails', 'associated_images', 'histograms'] as const;

/** Panels for the thumbnails of all large images: jobs that create them, and the cached files, which can be counted and removed. */
export async function thumbnailsSection({ signal }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  const types = '["large_image_create_thumbnails"]';
  const jobs: Job[] = await request('GET', 'job/all', { query: { types, limit: 5, sort: 'created', sortdir: -1 }, signal });
  const list = h('div.stack.column', { 'data-testid': 'thumbnail-jobs' }, ...jobs.map((job) => jobPanel(job, { signal })));
  const noJobsNote = jobs.length === 0 && h('p.quiet-text', adminTexts.noJobs);
  const onStarted = (job: Job) => {
    if (noJobsNote) noJobsNote.remove();
    const onStatus = (status: number) => void (isFinished(status) && cachedFiles.showCounts().catch(() => undefined));
    fill(list, jobPanel(job, { signal, onStatus }), ...list.children);
  };
  const cachedFiles = await cachedFilesPanel(signal);
  return [thumbnailCreationPanel(onStarted), panel(adminTexts.thumbnailJobs, list, noJobsNote), cachedFiles.element];
}

function thumbnailCreationPanel(onStarted: (job: Job) => void) {
  const boxes = Object.entries(adminTexts.pictureKinds).map(([name, words]) => checkbox(words, { name, checked: true }));
  const sizesInput = h('input', { value: '160 × 100, 440 × 440', autocomplete: 'off' });
  const formatSelect = choice(formats);
  const pictures = h('fieldset.checks', h('legend', adminTexts.pictures), ...boxes.map(({ element }) => element));
  const columns = h(
    'div.columns',
    field(adminTexts.sizes, sizesInput, adminTexts.sizesHint),
    field(adminTexts.format, formatSelect),
  );
  const creationForm = form({
    content: [pictures, columns],
    action: adminTexts.createThumbnails,
    async send() {
      const checkedBoxes = boxes.filter(({ input }) => input.checked);
      if (checkedBoxes.length === 0) throw new Error(adminTexts.atLeastOne);
      const encoding = formatSelect.value === 'JPEG' ? {} : { encoding: formatSelect.value };
      const spec = readSizes(sizesInput.value).flatMap((size) =>
        checkedBoxes.map(({ input: { name } }) => ({
          ...size,
          ...encoding,
          ...(name === '' ? compositeOption(size) : { imageKey: name }),
        })),
      );
      onStarted(await request('PUT', 'large_image/thumbnails', { form: { spec: JSON.stringify(spec) } }));
    },
  });
  return panel(adminTexts.createThumbnails, creationForm);
}

/** The lists of items request thumbnails of one size with the option `composite`, so thumbnails of this size are created with the option too. */
function compositeOption({ width, height }: { width: number; height: number }) {
  return width === thumbnailSize && height === thumbnailSize ? { composite: true } : {};
}

/** @throws if the text is not a list of sizes */
function readSizes(text: string) {
  return text.split(/[,;]/).map((part) => {
    const [width = 0, height = 0] = (/^\s*(\d+)\s*[x×*]\s*(\d+)\s*$/i.exec(part) ?? []).slice(1).map(Number);
    if (width < 1 || height < 1 || Math.max(width, height) > maxSide) throw new Error(adminTexts.noSizes);
    return { width, height };
  });
}

async function cachedFilesPanel(signal: AbortSignal) {
  const notice = createNotice();
  const countElements = cachedFileKinds.map((path) => h('span', { 'data-testid': `count-${path}` }));
  const showCounts = async () => {
    const fileCounts = await Promise.all(cachedFileKinds.map((path) => request('GET', `large_image/${path}`, { signal })));
    for (const [index, count] of fileCounts.entries()) fill(countElements[index] as HTMLElement, formatCount(count));
  };
  await showCounts();
  const rows = cachedFileKinds.map((path, index) => {
    const texts = adminTexts.keptKinds[path];
    const onclick = () =>
      askToRemove({
        title: texts.deleteAll,
        text: adminTexts.deleteAllText,
        async remove() {
          const message = texts.removed(await request('DELETE', `large_image/${path}`));
          await showCounts();
          notice.showSuccess(message);
          return message;
        },
      });
    return [texts.title, countElements[index], button(commonTexts.delete, onclick, { name: texts.delete })];
  });
  const element = panel(
    adminTexts.keptFiles,
    h('p.quiet-text', adminTexts.keptHint),
    table(adminTexts.keptColumns, rows, adminTexts.keptFiles),
    notice.element,
    actions(notice.createButton(commonTexts.refresh, showCounts, { name: adminTexts.refreshCounts })),
  );
  return { element, showCounts };
}
