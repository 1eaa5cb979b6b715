import { ApiError, request } from '../api.js';
import { fill, h } from '../dom.js';
import { codeEditor } from './code-editor.js';
import { actionButton, outcome, panel } from './parts.js';
import { untilRestarted, type ServerVersion } from './restart.js';
import { adminTexts } from '../texts.js';
import type { Section } from './section.js';

interface Replaced {
  status: string;
  restarted?: boolean;
  [more: string]: unknown;
}

interface ConfigurationFile {
  path: string;
  exists: boolean;
  text: string;
  version: string;
  backups: string[];
  canRestart: boolean;
}

/** lines count from 0 */
type Problem = { line: number; message: string };

/** How long after the last key the text is checked, in milliseconds. */
const checkDelayMs = 500;

/** The configuration file of the server. */
export async function configurationSection({ signal }: Parameters<Section>[0]): ReturnType<Section> {
  let file: ConfigurationFile = await request('GET', 'large_image/config', { signal });
  const said = outcome();
  const problems = h('div', { role: 'alert' });
  const backups = h('div');
  const editor = codeEditor({ label: adminTexts.configuration, onInput: edited });
  const restart = h('input', { type: 'checkbox', name: 'restart', checked: file.canRestart, disabled: !file.canRestart });
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Which check is the latest: the answer to an earlier one says nothing about the text that stands. */
  let latest = 0;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  editor.setText(file.text);
  showBackups();
  await check();
  return [
    panel(
      adminTexts.configurationFile,
      h('p.quiet-text', h('code', file.path), file.exists ? '' : adminTexts.doesNotExist),
      editor.element,
      problems,
      said.element,
      h(
        'div.actions.wrap',
        actionButton({ label: adminTexts.check, run: checkAloud, failed: said.bad }),
        actionButton({ label: adminTexts.format, run: format, failed: said.bad }),
        actionButton({ label: adminTexts.undoAll, run: load, failed: said.bad }),
        actionButton({ label: adminTexts.replace, kind: 'primary', run: replace, failed: said.bad }),
        h('label.row', restart, file.canRestart ? adminTexts.restartAfterwards : adminTexts.cannotRestart),
      ),
      backups,
    ),
  ];

  function edited() {
    said.clear();
    clearTimeout(timer);
    timer = setTimeout(() => void check().catch(said.bad), checkDelayMs);
  }

  /** @returns whether the text is valid */
  async function check(): Promise<boolean> {
    clearTimeout(timer);
    latest += 1;
    const mine = latest;
    const found: Problem[] = await request('POST', 'large_image/config/validate', { text: editor.text(), signal });
    if (mine === latest) showProblems(found);
    return found.length === 0;
  }

  async function checkAloud() {
    said.clear();
    if (await check()) said.good(adminTexts.isValid);
  }

  function showProblems(found: Problem[]) {
    editor.mark(found.map(({ line }) => line));
    fill(
      problems,
      ...found.map(({ line, message }) =>
        h('button.problem.row', { onclick: () => editor.goTo(line) }, adminTexts.lineSays(line + 1, message)),
      ),
    );
  }

  async function format() {
    said.clear();
    if (!(await check())) throw new Error(adminTexts.notValid);
    const before = editor.text();
    const formatted = await request<string>('POST', 'large_image/config/format', { text: before });
    editor.setText(formatted);
    await check();
    said.good(formatted === before ? adminTexts.formattedAlready : adminTexts.formatted);
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
    const started = restart.checked ? (await request<ServerVersion>('GET', 'system/version')).serverStartDate : '';
    const query = { restart: restart.checked, expected: file.version };
    const former = file.backups;
    const answer = await request<Replaced>('POST', 'large_image/config/replace', { text: editor.text(), query }).catch(explain);
    if (answer.status === 'no change') {
      said.good(adminTexts.noChange);
      return;
    }
    if (answer.restarted) {
      said.good(adminTexts.restarting);
      await untilRestarted(started, signal);
    }
    file = await request('GET', 'large_image/config', { signal });
    showBackups();
    const fresh = file.backups.find((name) => !former.includes(name));
    const kept = fresh ? adminTexts.kept(fresh) : '';
    said.good(`${answer.restarted ? adminTexts.restarted : adminTexts.updated}${kept}`);
  }

  async function explain(error: unknown): Promise<never> {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    const read = file.version;
    file = await request('GET', 'large_image/config', { signal });
    showBackups();
    if (file.version === read) throw error;
    throw new Error(adminTexts.changedMeanwhile);
  }

  function showBackups() {
    fill(
      backups,
      file.backups.length > 0 &&
        h('details.backups', h('summary', adminTexts.backups), h('ul', ...file.backups.map((name) => h('li', h('code', name))))),
    );
  }
}
