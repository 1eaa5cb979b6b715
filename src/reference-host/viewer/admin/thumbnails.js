// @ts-check
import { request } from '../api.js';
import { fill, h } from '../dom.js';
import { jobPanel } from './job-panel.js';
import { field, outcome, panel } from './parts.js';

/** What the lists and pages here show. */
const usualSpec =
  '[\n  {"width": 160, "height": 100},\n  {"width": 160, "height": 100, "imageKey": "macro"},\n  {"width": 160, "height": 100, "imageKey": "label"}\n]';

/**
 * The job that makes thumbnails of all large images.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function thumbnailsSection({ signal }) {
  /** @type {import('./job-panel.js').Job[]} */
  const jobs = await request('GET', 'job/all', {
    query: { types: '["large_image_create_thumbnails"]', limit: 5, sort: 'created', sortdir: -1 },
    signal,
  });
  const said = outcome();
  const list = h('div', { class: 'stack', 'data-testid': 'thumbnail-jobs' }, ...jobs.map((job) => jobPanel(job, { signal })));
  const spec = h('textarea', { id: 'thumbnail-spec', class: 'code', rows: 6, spellcheck: 'false' });
  spec.value = usualSpec;
  const interval = h('input', { id: 'thumbnail-interval', type: 'number', min: 0, step: 'any', value: 10 });
  const concurrent = h('input', { id: 'thumbnail-concurrent', type: 'number', step: 1, placeholder: 'number of CPUs' });
  const start = h('button', { class: 'button primary', type: 'submit' }, 'Create thumbnails');
  const form = h(
    'form',
    { class: 'stack', onsubmit: submit, novalidate: true },
    field(
      'Specifications',
      spec,
      'A JSON list of parameter sets, such as width, height and encoding. With an imageKey, the associated image of that name.',
    ),
    h(
      'div',
      { class: 'columns' },
      field('Log interval in seconds', interval, '0 logs after each thumbnail.'),
      field('Made at once', concurrent),
    ),
    said.element,
    h('div', { class: 'actions' }, start),
  );
  return [
    panel('Create thumbnails', form),
    panel('Thumbnail jobs', list, jobs.length === 0 && h('p', { class: 'quiet-text', id: 'no-thumbnail-jobs' }, 'None so far.')),
  ];

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    said.clear();
    start.disabled = true;
    try {
      const query = { spec: spec.value, logInterval: interval.value || null, concurrent: concurrent.value || null };
      const job = await request('PUT', 'large_image/thumbnails', { form: query });
      document.getElementById('no-thumbnail-jobs')?.remove();
      fill(list, jobPanel(job, { signal }), ...list.children);
    } catch (error) {
      said.bad(error);
    } finally {
      start.disabled = false;
    }
  }
}
