import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { Texts } from '../../../src/viewer/languages/catalog.js';
import type { Client } from '../hosts/reference-host.js';
import { slideFile } from '../images/slide.js';

/** The names that the views show. They are data, so no translation changes them. */
const shortNames = {
  collection: 'Sammlung-1',
  folder: 'Ordner-1',
  slide: 'Bild-1.svs',
  broken: 'Bild-2.tif',
  annotation: 'Annotation-1',
  group: 'Gruppe-1',
};

/** Adds a collection with an image, another file, an annotation, a group and a job. */
export async function addContent(
  admin: Client,
  temporaryFolder: string,
  names: typeof shortNames = shortNames,
): Promise<Record<'collection' | 'folder' | 'slide' | 'broken', string> & { names: typeof shortNames }> {
  const collection = await admin.create('/collection', { name: names.collection, public: true });
  const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: names.folder });
  const add = async (name: string, bytes: Buffer) => {
    const query = { parentType: 'folder', parentId: folder, name, size: bytes.length };
    return String((await admin.ok('POST', '/file', { query, body: bytes })).itemId);
  };
  const slide = await add(names.slide, await readFile(await slideFile(temporaryFolder)));
  const broken = await add(names.broken, Buffer.from('II*\0 and nothing more'));
  const elements = [
    { type: 'rectangle', center: [600, 600, 0], width: 300, height: 200, group: 'g1', label: { value: 'l1' } },
    { type: 'point', center: [900, 900, 0], group: 'g2' },
  ];
  await admin.ok('POST', '/annotation', { query: { itemId: slide }, json: { name: names.annotation, elements } });
  await admin.create('/group', { name: names.group });
  await admin.ok('PUT', '/large_image/thumbnails', { query: { spec: '[{"width":64}]' } });
  await admin.ok('PUT', `/item/${slide}/metadata`, { json: { tags: ['t1', 't2'], k1: 'v1' } });
  return { collection, folder, slide, broken, names };
}

/** An address, and a function that waits for its view or opens its dialog. */
export type Stop = [address: string, ready: (page: Page) => Promise<unknown>];

/** The views and dialogs of the page, which are found by their texts. */
export function mainViews(ids: Awaited<ReturnType<typeof addContent>>, texts: Texts): Stop[] {
  const { names } = ids;
  const { accountTexts, adminTexts, annotationTexts, browseTexts, commonTexts, compareTexts, imageTexts, objectTexts } = texts;
  const named = (role: 'heading' | 'button' | 'checkbox' | 'link', name: string) => (page: Page) =>
    page.getByRole(role, { name, exact: true }).first();
  const heading = (name: string) => (page: Page) => named('heading', name)(page).waitFor();
  const button = (name: string) => (page: Page) => named('button', name)(page).waitFor();
  /** Opens a dialog by the button of this name. */
  const dialog = (name: string) => async (page: Page) => {
    await named('button', name)(page).click();
    await page.getByRole('dialog').waitFor();
  };
  const image = `item/${ids.slide}`;
  const edit = async (page: Page) => {
    await named('button', annotationTexts.editNamed(names.annotation))(page).click();
    await page.getByRole('toolbar', { name: annotationTexts.drawingTools }).waitFor();
  };
  const select = async (page: Page) => page.getByLabel(browseTexts.select(names.slide)).check();
  const selected = (name: string) => async (page: Page) => (await select(page), dialog(name)(page));
  return [
    ['', button(browseTexts.newCollection)],
    ['', dialog(browseTexts.newCollection)],
    ['shared', heading(texts.sharingTexts.withMe)],
    ['trash', heading(browseTexts.trash)],
    [`collection/${ids.collection}`, heading(names.collection)],
    [`folder/${ids.folder}`, (page) => page.getByRole('link', { name: names.slide }).first().waitFor()],
    [`folder/${ids.folder}`, select],
    [`folder/${ids.folder}`, dialog(commonTexts.share)],
    [`folder/${ids.folder}`, dialog(browseTexts.columns)],
    [`folder/${ids.folder}`, selected(browseTexts.moveOrCopy)],
    [`folder/${ids.folder}`, selected(browseTexts.tags)],
    [`item/${ids.broken}`, heading(names.broken)],
    [image, (page) => page.getByRole('checkbox', { name: names.annotation }).waitFor()],
    [image, edit],
    [image, async (page) => (await edit(page), await page.keyboard.press('?'), page.getByRole('dialog').waitFor())],
    [image, dialog(commonTexts.share)],
    [image, dialog(commonTexts.edit)],
    [image, dialog(imageTexts.saveView)],
    [image, dialog(compareTexts.compare)],
    [image, dialog(texts.openInTexts.open)],
    [image, dialog(annotationTexts.downloadNamed(names.annotation))],
    [image, async (page) => named('button', objectTexts.openTable(names.annotation))(page).click()],
    [`search?q=${names.slide}`, (page) => page.getByRole('link', { name: names.slide }).waitFor()],
    ['search?q=nowhere', heading(browseTexts.nothingFound('nowhere'))],
    ['admin', button(adminTexts.clearCaches)],
    ['admin/people', dialog(browseTexts.editNamed('First anna'))],
    ['admin/people', dialog(adminTexts.newUser)],
    ['admin/groups', dialog(adminTexts.membersOf(names.group))],
    ['admin/maintenance', dialog(adminTexts.keptKinds.thumbnails.delete)],
    ['admin/maintenance', button(adminTexts.createImages)],
    ['admin/settings', button(commonTexts.save)],
    ['admin/jobs', (page) => page.getByText(adminTexts.jobStatus[3]!).first().waitFor()],
    ['admin/configuration', heading(adminTexts.configurationFile)],
    ['nothing', heading(accountTexts.cannotBeShown)],
  ];
}
