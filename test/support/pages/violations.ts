import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** The widths and color schemes in which pages are checked. */
const looks = [
  [1200, 'light'],
  [1200, 'dark'],
  [390, 'light'],
] as const;

interface ViolationOptions {
  /** the selector of the checked element; by default the whole page */
  within?: string;
  /** the rules, by their tags; by default all */
  kinds?: readonly string[];
}

/** The problems that axe finds on a page, one per line. */
export async function violationsOf(page: Page, { within, kinds }: ViolationOptions = {}): Promise<string[]> {
  if (!(await page.evaluate<boolean>(`'axe' in window`))) await page.evaluate(axe.source);
  const target = within === undefined ? 'document' : `document.querySelector(${JSON.stringify(within)})`;
  const options = JSON.stringify({ resultTypes: ['violations'], ...(kinds && { runOnly: kinds }) });
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(${target}, ${options})`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`.slice(0, 300));
}

/** The problems that axe finds in light and dark at 1200 pixels, and at 390. */
export async function violationsInLooks(page: Page, options: ViolationOptions = {}): Promise<string[]> {
  const violations: string[] = [];
  for (const [width, colorScheme] of looks) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    const wrong = await violationsOf(page, options);
    violations.push(...wrong.map((line) => `${width} ${colorScheme} ${line}`));
  }
  return violations;
}
