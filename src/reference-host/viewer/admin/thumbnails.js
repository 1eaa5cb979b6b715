// @ts-check
import { request } from '../api.js';
import { fill, h } from '../dom.js';
import { jobPanel } from './job-panel.js';
import { field, outcome, panel } from './parts.js';

/** Pictures that thumbnails are made of, by the name of the parameter. */
const pictures = { '': 'The image', macro: 'The macro image, where there is one', label: 'The label, where there is one' };

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
  const [width, height] = /** @type {const} */ (['width', 'height']).map((side) =>
    h('input', { id: `thumbnail-${side}`, type: 'number', min: 1, step: 1, value: side === 'width' ? 160 : 100, required: true }),
  );
  const boxes = Object.entries(pictures).map(([key, words]) => ({
    key,
    words,
    box: h('input', { type: 'checkbox', checked: true }),
  }));
  const interval = h('input', { id: 'thumbnail-interval', type: 'number', min: 0, step: 'any', value: 10 });
  const concurrent = h('input', { id: 'thumbnail-concurrent', type: 'number', step: 1, placeholder: 'number of CPUs' });
  const start = h('button', { class: 'button primary', type: 'submit' }, 'Create thumbnails');
  const form = h(
    'form',
    { class: 'stack', onsubmit: submit, novalidate: true },
    h(
      'fieldset',
      { class: 'checks' },
      h('legend', {}, 'Pictures'),
      ...boxes.map(({ box, words }) => h('label', { class: 'check' }, box, ` ${words}`)),
    ),
    h(
      'div',
      { class: 'columns' },
      width && field('Width in pixels, at most', width),
      height && field('Height in pixels, at most', height),
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
      const chosen = boxes.filter(({ box }) => box.checked);
      if (chosen.length === 0) throw new Error('Choose at least one picture.');
      const size = { width: width?.valueAsNumber, height: height?.valueAsNumber };
      const spec = JSON.stringify(chosen.map(({ key }) => ({ ...size, ...(key !== '' && { imageKey: key }) })));
      const query = { spec, logInterval: interval.value || null, concurrent: concurrent.value || null };
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
