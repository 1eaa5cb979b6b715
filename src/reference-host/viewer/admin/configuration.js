// @ts-check
import { ApiError, request } from '../api.js';
import { fill, h } from '../dom.js';
import { codeEditor } from './code-editor.js';
import { actionButton, outcome, panel } from './parts.js';
import { untilRestarted } from './restart.js';

/**
 * @typedef {object} ConfigurationFile
 * @property {string} path
 * @property {boolean} exists
 * @property {string} text
 * @property {string} version
 * @property {string[]} backups
 * @property {boolean} canRestart
 */

/** @typedef {{ line: number, message: string }} Problem lines count from 0 */

/** How long after the last key the text is checked, in milliseconds. */
const checkDelayMs = 500;

/**
 * The configuration file of the server.
 *
 * @type {import('./admin-view.js').Section}
 */
export async function configurationSection({ signal }) {
  /** @type {ConfigurationFile} */
  let file = await request('GET', 'large_image/config', { signal });
  const said = outcome();
  const problems = h('div', { role: 'alert' });
  const backups = h('div', {});
  const editor = codeEditor({ label: 'Configuration', onInput: edited });
  const restart = h('input', { type: 'checkbox', name: 'restart', checked: file.canRestart, disabled: !file.canRestart });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  /** Which check is the latest: the answer to an earlier one says nothing about the text that stands. */
  let latest = 0;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  editor.setText(file.text);
  showBackups();
  await check();
  return [
    panel(
      'Configuration file',
      h('p', { class: 'quiet-text' }, h('code', {}, file.path), file.exists ? '' : ' (does not exist yet)'),
      editor.element,
      problems,
      said.element,
      h(
        'div',
        { class: 'actions' },
        actionButton({ label: 'Check', run: checkAloud, failed: said.bad }),
        actionButton({ label: 'Format', run: format, failed: said.bad }),
        actionButton({ label: 'Undo all changes', run: load, failed: said.bad }),
        actionButton({ label: 'Replace', kind: 'primary', run: replace, failed: said.bad }),
        h(
          'label',
          { class: 'check' },
          restart,
          file.canRestart
            ? ' Restart the server afterwards'
            : ' This server cannot restart itself; changes take effect when it is restarted',
        ),
      ),
      backups,
    ),
  ];

  function edited() {
    said.clear();
    clearTimeout(timer);
    timer = setTimeout(() => void check().catch(said.bad), checkDelayMs);
  }

  /** @returns {Promise<boolean>} whether the text is valid */
  async function check() {
    clearTimeout(timer);
    latest += 1;
    const mine = latest;
    /** @type {Problem[]} */
    const found = await request('POST', 'large_image/config/validate', { text: editor.text(), signal });
    if (mine === latest) showProblems(found);
    return found.length === 0;
  }

  async function checkAloud() {
    said.clear();
    if (await check()) said.good('The configuration is valid.');
  }

  /** @param {Problem[]} found */
  function showProblems(found) {
    editor.mark(found.map(({ line }) => line));
    fill(
      problems,
      ...found.map(({ line, message }) =>
        h('button', { class: 'problem', type: 'button', onclick: () => editor.goTo(line) }, `Line ${line + 1}: ${message}`),
      ),
    );
  }

  async function format() {
    said.clear();
    if (!(await check())) throw new Error('What is not valid cannot be formatted.');
    const before = editor.text();
    const formatted = await request('POST', 'large_image/config/format', { text: before });
    editor.setText(formatted);
    await check();
    said.good(formatted === before ? 'The text is in its normal form already.' : 'Formatted. Nothing is stored yet.');
  }

  async function load() {
    said.clear();
    file = await request('GET', 'large_image/config', { signal });
    editor.setText(file.text);
    showBackups();
    await check();
  }

  async function replace() {
    said.clear();
    const started = restart.checked ? (await request('GET', 'system/version')).serverStartDate : null;
    const query = { restart: restart.checked, expected: file.version };
    const former = file.backups;
    const answer = await request('POST', 'large_image/config/replace', { text: editor.text(), query }).catch(explain);
    if (answer.status === 'no change') {
      said.good('No change: the file holds this text already.');
      return;
    }
    if (answer.restarted) {
      said.good('Updated. The server is restarting…');
      await untilRestarted(started, signal);
    }
    file = await request('GET', 'large_image/config', { signal });
    showBackups();
    const fresh = file.backups.find((name) => !former.includes(name));
    const kept = fresh ? ` The former file is kept as ${fresh}.` : '';
    said.good(`${answer.restarted ? 'Updated, and the server has restarted.' : 'Updated.'}${kept}`);
  }

  /** @param {unknown} error @returns {Promise<never>} */
  async function explain(error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    const read = file.version;
    file = await request('GET', 'large_image/config', { signal });
    showBackups();
    if (file.version === read) throw error;
    throw new Error(
      'Somebody else has changed the file since you opened it, and nothing was stored. “Undo all changes” shows their text; ' +
        '“Replace” puts yours in its place and keeps theirs beside it.',
    );
  }

  function showBackups() {
    fill(
      backups,
      file.backups.length > 0 &&
        h(
          'details',
          { class: 'backups' },
          h('summary', {}, 'Former files beside it'),
          h('ul', {}, ...file.backups.map((name) => h('li', {}, h('code', {}, name)))),
        ),
    );
  }
}
