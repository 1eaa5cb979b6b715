import { ApiError, request } from '../api.js';
import type { Answer } from '../answers.js';
import { actions, debounced, fill, h, trackNewest } from '../dom.js';
import { checkbox } from '../forms.js';
import { codeEditor } from './code-editor.js';
import { createNotice, panel, type SectionBuilder } from './parts.js';
import { waitForRestart } from './restart.js';
import { adminTexts } from '../admin-texts.js';

/** `line` is counted from 0. */
type Problem = Answer<'POST large_image/config/validate'>[number];

export async function configurationSection({ signal }: Parameters<SectionBuilder>[0]): ReturnType<SectionBuilder> {
  let file = await request('GET', 'large_image/config', { signal });
  const notice = createNotice();
  const fileInfo = createFileInfo();
  const editor = codeEditor({ label: adminTexts.configuration, onInput: () => (notice.clear(), checkSoon()) });
  const problems = problemList(editor);
  const restartBox = checkbox(file.canRestart ? adminTexts.restartAfterwards : adminTexts.cannotRestart, {
    name: 'restart',
    checked: file.canRestart,
    disabled: !file.canRestart,
  });
  const checkSoon = debounced(() => signal.aborted || void checkText().catch(notice.showError));
  const trackCheck = trackNewest();
  editor.setText(file.text);
  fileInfo.show(file);
  await checkText();
  return [
    panel(
      adminTexts.configurationFile,
      fileInfo.path,
      editor.element,
      problems.element,
      notice.element,
      actions(
        notice.createButton(adminTexts.check, checkAndReport),
        notice.createButton(adminTexts.format, format),
        notice.createButton(adminTexts.undoAll, reload),
        notice.createButton(adminTexts.replace, replace, { kind: 'primary' }),
        restartBox.element,
      ),
      fileInfo.backups,
    ),
  ];

  /** Checks the text on the server, and shows its problems. @returns whether the text is valid */
  async function checkText(): Promise<boolean> {
    const isNewest = trackCheck();
    const foundProblems = await request('POST', 'large_image/config/validate', { text: editor.text(), signal });
    if (isNewest()) problems.show(foundProblems);
    return foundProblems.length === 0;
  }

  async function checkAndReport() {
    if (await checkText()) notice.showSuccess(adminTexts.isValid);
  }

  /** @throws if the text is invalid. The server would refuse an invalid text too, but without line numbers */
  async function requireValid() {
    if (!(await checkText())) throw new Error(adminTexts.notValid);
  }

  async function format() {
    await requireValid();
    const formerText = editor.text();
    const formattedText = await request('POST', 'large_image/config/format', { text: formerText });
    editor.setText(formattedText);
    await checkText();
    notice.showSuccess(formattedText === formerText ? adminTexts.formattedAlready : adminTexts.formatted);
  }

  async function reload() {
    await readFile();
    editor.setText(file.text);
    await checkText();
  }

  async function readFile() {
    file = await request('GET', 'large_image/config', { signal });
    fileInfo.show(file);
  }

  async function replace() {
    await requireValid();
    const isRestarting = restartBox.input.checked;
    const previousStart = isRestarting ? (await request('GET', 'system/version')).serverStartDate : '';
    const query = { restart: isRestarting, expected: file.version };
    const previousBackups = file.backups;
    const answer = await request('POST', 'large_image/config/replace', { text: editor.text(), query }).catch(explainConflict);
    if (answer.status === 'no change') return notice.showSuccess(adminTexts.noChange);
    if (answer.restarted) {
      notice.showSuccess(adminTexts.restarting);
      await waitForRestart(previousStart, signal);
    }
    await readFile();
    const newBackup = file.backups.find((name) => !previousBackups.includes(name));
    const backupText = newBackup ? ` ${adminTexts.kept(newBackup)}` : '';
    notice.showSuccess(`${answer.restarted ? adminTexts.restarted : adminTexts.updated}${backupText}`);
  }

  async function explainConflict(error: unknown): Promise<never> {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    const knownVersion = file.version;
    await readFile();
    if (file.version === knownVersion) throw error;
    throw new Error(adminTexts.changedMeanwhile);
  }
}

/** The path of the file, and a list of its backups. */
function createFileInfo() {
  const path = h('p.quiet-text.break');
  const backups = h('div');
  return { path, backups, show };

  function show(file: Answer<'GET large_image/config'>) {
    const names = file.backups.map((name) => h('li', h('code', name)));
    fill(path, h('code', file.path), !file.exists && ` ${adminTexts.doesNotExist}`);
    fill(backups, names.length > 0 && h('details.backups', h('summary', adminTexts.backups), h('ul', ...names)));
  }
}

/** The problems of the text in an editor. A click on a problem goes to its line. */
function problemList(editor: ReturnType<typeof codeEditor>) {
  const element = h('div', { role: 'alert' });
  return { element, show };

  function show(problems: Problem[]) {
    editor.markLines(problems.map(({ line }) => line));
    const row = ({ line, message }: Problem) =>
      h('button.problem.row', { onclick: () => editor.goToLine(line) }, adminTexts.lineSays(line + 1, message));
    fill(element, ...problems.map(row));
  }
}
